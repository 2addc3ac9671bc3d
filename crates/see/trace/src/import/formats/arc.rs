//! References of the ARC paper's traces (Megiddo and Modha, FAST 2003).

use super::super::fields::{Words, sectors};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Sink};
use super::super::table::{SECTORS, Table, all, rises};
use crate::Operation;

pub(super) static FORMAT: Kind = Kind::text::<Arc>(
    "arc",
    &["lis"],
    "references of the ARC paper (.lis): block, blocks, 0, number; no times",
);

/// Lines `start_block blocks 0 request_number`: blocks of 512 bytes, no times, no operations.
#[derive(Default)]
struct Arc;

impl Line for Arc {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.one_disk();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        if words.all().len() != 4 || words.number(2, "third word")? != 0 {
            return Err(Bad::new("line", "is not \"block blocks 0 number\""));
        }
        words.number(3, "request number")?;
        let (first, count) = (words.number(0, "block")?, words.number(1, "blocks")?);
        sink.push_next(sectors(Operation::Read, first, count)?);
        Ok(())
    }

    /// Accepts several rows with the same number, because a request of several blocks may be
    /// written so.
    fn is_plausible(lines: &[&[u8]]) -> bool {
        let rows = Table::BLANKS.rows(lines);
        rows.is_some_and(|rows| all(&rows, 1, SECTORS) && rises(&rows, 3))
    }
}
