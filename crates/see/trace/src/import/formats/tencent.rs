//! Tencent Cloud's block traces of 2018 (SNIA IOTTA).

use super::super::fields::{Fields, moment, sectors};
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use crate::Operation;

/// `Timestamp,Offset,Size,IOType,VolumeID`: whole seconds since 1970, sectors of 512 bytes, 0 a
/// read and 1 a write.
pub(in super::super) struct Tencent;

impl Line for Tencent {
    fn begin(&mut self, sink: &mut Sink) {
        sink.unix_times(1_000_000_000);
        sink.nobody();
    }

    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.starts_with(b"Timestamp,") {
            sink.skip();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        let moment = moment(fields.number("Timestamp")?, 1_000_000_000, "Timestamp")?;
        let (offset, size) = (fields.number("Offset")?, fields.number("Size")?);
        let operation = match fields.number("IOType")? {
            0 => Operation::Read,
            1 => Operation::Write,
            _ => return Err(Bad::new("IOType", "is neither 0 nor 1")),
        };
        let volume = fields.text("VolumeID")?;
        fields.end()?;
        let mut record = sectors(operation, offset, size)?;
        record.device = sink.device(volume);
        sink.push(moment, record);
        Ok(())
    }
}
