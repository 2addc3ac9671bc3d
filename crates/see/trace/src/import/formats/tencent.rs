//! Tencent Cloud's block traces of 2018 (SNIA IOTTA).

use super::super::fields::{Fields, moment, sectors};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use super::super::table::{Row, SECTORS, Table, UNIX_SECONDS, all, rises};
use crate::Operation;

pub(super) static FORMAT: Kind = Kind::text::<Tencent>(
    "tencent",
    &["tencent-block", "cbs"],
    "Tencent Cloud CSV: seconds,offset,size (sectors),type,volume; whole seconds only",
);

/// Lines `Timestamp,Offset,Size,IOType,VolumeID`: whole seconds since 1970, sectors of 512 bytes, 0
/// is a read and 1 a write.
#[derive(Default)]
struct Tencent;

impl Line for Tencent {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
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

    fn is_plausible(lines: &[&[u8]]) -> bool {
        let table = Table { heads: &[b"Timestamp,"], ..Table::COMMAS };
        table.rows(lines).is_some_and(|rows| {
            all(&rows, 0, UNIX_SECONDS)
                && all(&rows, 2, SECTORS)
                && rises(&rows, 0)
                && are_pages(&rows, 2)
        })
    }
}

/// Returns true if at least half of the numbers in a column of sectors are whole pages of 4 KiB, as
/// sizes of a guest's I/Os are. Of arbitrary numbers, an eighth would be.
fn are_pages(rows: &[Row], column: usize) -> bool {
    let pages = rows.iter().filter(|row| row.get(column).is_some_and(|value| value % 8.0 == 0.0));
    pages.count() * 2 >= rows.len()
}
