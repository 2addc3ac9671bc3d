//! The traces of virtual desktops of SYSTOR 2017 (SNIA IOTTA 4928).

use super::super::fields::{Fields, decimal, decimal_moment, io, read_or_write};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use units::Nanos;

pub(super) static FORMAT: Kind = Kind::text::<Systor>(
    "systor",
    &["systor17", "systor-17", "lun"],
    "SYSTOR '17 CSV: Timestamp,Response,IOType,LUN,Offset,Size",
);

const SECOND_NS: u64 = 1_000_000_000;

/// Lines `Timestamp,Response,IOType,LUN,Offset,Size`: seconds since 1970 at the issue, with nine
/// digits of which six are significant; seconds; bytes. Rows without an IOType got no response (the
/// data set's README.txt).
#[derive(Default)]
struct Systor;

impl Line for Systor {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.unix_times(1_000);
        sink.info.has_latency = true;
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        if line.starts_with(b"Timestamp,") {
            sink.skip();
            return Ok(());
        }
        let mut fields = Fields::commas(line);
        let moment = decimal_moment(fields.text("Timestamp")?, SECOND_NS, "Timestamp")?;
        let response = fields.text("Response")?;
        let operation = fields.text("IOType")?;
        let lun = fields.text("LUN")?;
        let (offset, size) = (fields.text("Offset")?, fields.text("Size")?);
        fields.end()?;
        if operation.is_empty() {
            sink.skip();
            return Ok(());
        }
        let (mut offset, mut size) = (Fields::commas(offset), Fields::commas(size));
        let operation = read_or_write(operation)?;
        let mut record = io(operation, offset.number("Offset")?, size.number("Size")?)?;
        // The README says that lost packets made some response times wrong.
        if !response.is_empty() && !response.starts_with(b"-") {
            record.device_time = Some(Nanos(decimal(response, SECOND_NS, "Response")?));
        }
        record.device = sink.device(lun);
        sink.push(moment, record);
        Ok(())
    }
}
