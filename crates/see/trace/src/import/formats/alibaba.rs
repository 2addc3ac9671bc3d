//! Alibaba Cloud's block traces of 2020.

use super::super::fields::{Fields, io, moment, read_or_write};
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};

/// `device_id,opcode,offset,length,timestamp`: bytes, and microseconds since 1970.
pub(in super::super) struct Alibaba;

impl Line for Alibaba {
    fn begin(&mut self, sink: &mut Sink) {
        sink.unix_times(1_000);
        sink.nobody();
    }

    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.starts_with(b"device_id,") {
            sink.skip();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        let device = fields.text("device_id")?;
        let operation = read_or_write(fields.text("opcode")?)?;
        let offset = fields.number("offset")?;
        let mut record = io(operation, offset, fields.number("length")?)?;
        let moment = moment(fields.number("timestamp")?, 1_000, "timestamp")?;
        fields.end()?;
        record.device = sink.device(device);
        sink.push(moment, record);
        Ok(())
    }
}
