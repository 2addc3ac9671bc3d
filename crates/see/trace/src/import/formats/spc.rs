//! The Storage Performance Council's trace format (specification 1.0.1), as UMass publishes it.

use super::super::fields::{Fields, decimal_moment, io, read_or_write, times};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use super::super::table::{UNITS_MAX, column, goes_up};

pub(super) static FORMAT: Kind = Kind::text::<Spc>(
    "spc",
    &["umass", "spc1"],
    "SPC (UMass) text: ASU,LBA (512 B),bytes,opcode,seconds",
);

/// Lines `ASU,LBA,Size,Opcode,Timestamp[,more]`: blocks of 512 bytes, bytes, seconds. Further
/// fields are free for the writer's use and are ignored.
#[derive(Default)]
struct Spc {
    name: Vec<u8>,
}

impl Line for Spc {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.nobody();
    }

    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut fields = Fields::commas(line);
        let unit = fields.text("ASU")?;
        if unit.is_empty() || !unit.iter().all(u8::is_ascii_digit) {
            return Err(Bad::new("ASU", "is not a whole number"));
        }
        let offset = times(fields.number("LBA")?, 512, "LBA")?;
        let size = fields.number("Size")?;
        let operation = read_or_write(fields.text("Opcode")?)?;
        let moment = decimal_moment(fields.text("Timestamp")?, 1_000_000_000, "Timestamp")?;
        let mut record = io(operation, offset, size)?;
        self.name.clear();
        self.name.extend_from_slice(b"asu ");
        self.name.extend_from_slice(unit);
        record.device = sink.device(&self.name);
        sink.push(moment, record);
        Ok(())
    }

    fn is_plausible(lines: &[&[u8]]) -> bool {
        column(lines, 0).iter().all(|unit| *unit <= UNITS_MAX) && goes_up(&column(lines, 4))
    }
}
