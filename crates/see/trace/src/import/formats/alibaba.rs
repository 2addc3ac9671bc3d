//! Alibaba Cloud's block traces of 2020.

use super::super::fields::{Fields, io, moment, read_or_write};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use super::super::table::{UNIX_SECONDS, column, goes_up};

pub(super) static FORMAT: Kind = Kind::text::<Alibaba>(
    "alibaba",
    &["ali", "alibaba-block"],
    "Alibaba Cloud CSV: device_id,opcode,offset,length,timestamp (us)",
);

/// Lines `device_id,opcode,offset,length,timestamp`: bytes, and microseconds since 1970.
#[derive(Default)]
struct Alibaba;

impl Line for Alibaba {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
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

    /// Accepts lines whose times are microseconds since 1970, or increase.
    fn is_plausible(lines: &[&[u8]]) -> bool {
        let times = column(lines, 4);
        let is_unix = |us: &f64| (UNIX_SECONDS.0 * 1e6..=UNIX_SECONDS.1 * 1e6).contains(us);
        times.iter().all(is_unix) || goes_up(&times)
    }
}
