//! The text formats of SSD and disk simulators: MQSim, SSDsim and DiskSim.

use super::super::fields::{Words, decimal_moment, moment, sectors};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use super::super::table::{Row, SECTORS, Table, UNITS_MAX, all, rises};
use crate::Operation;

/// Maximum mean step of MQSim's clock. With a larger step the file cannot be DiskSim's either,
/// because it would mean a second between I/Os.
const STEP_MAX: f64 = 1_000.0;

pub(super) static MQSIM: Kind = Kind::text::<Mqsim>(
    "mqsim",
    &["ssdsim"],
    "MQSim or SSDsim text: ns, device, sector, sectors, 1 for a read",
);
pub(super) static DISKSIM: Kind = Kind::text::<Disksim>(
    "disksim",
    &["disksim-ascii"],
    "DiskSim text: ms, device, sector, sectors, flags (1: read)",
);

/// Lines `time device block sectors operation` with the time in nanoseconds; 1 is a read, 0 a
/// write.
#[derive(Default)]
struct Mqsim;

/// Lines in the form of MQSim, but with the time in milliseconds and decimals, and flags whose
/// lowest bit is "read".
#[derive(Default)]
struct Disksim;

impl Line for Mqsim {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let moment = moment(words.number(0, "time")?, 1, "time")?;
        let operation = match words.number(4, "operation")? {
            0 => Operation::Write,
            1 => Operation::Read,
            _ => return Err(Bad::new("operation", "is neither 0 nor 1")),
        };
        request(&words, moment, operation, sink)
    }

    fn is_plausible(lines: &[&[u8]]) -> bool {
        Table::BLANKS.rows(lines).is_some_and(|rows| is_request(&rows))
    }
}

impl Line for Disksim {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1_000);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let moment = decimal_moment(words.text(0, "time")?, 1_000_000, "time")?;
        let flags = words.number(4, "flags")?;
        let operation = if flags & 1 == 1 { Operation::Read } else { Operation::Write };
        request(&words, moment, operation, sink)
    }

    fn is_plausible(lines: &[&[u8]]) -> bool {
        let has_points = lines.iter().any(|line| line.contains(&b'.'));
        let rows = Table::BLANKS.rows(lines);
        rows.is_some_and(|rows| is_request(&rows) && (has_points || step(&rows) < STEP_MAX))
    }
}

fn request(
    words: &Words<'_>,
    moment: Moment,
    operation: Operation,
    sink: &mut Sink,
) -> Result<(), Bad> {
    if words.all().len() > 5 {
        return Err(Bad::new("line", "has more than five words"));
    }
    words.number(1, "device")?;
    let mut record = sectors(operation, words.number(2, "block")?, words.number(3, "sectors")?)?;
    record.device = sink.device(words.text(1, "device")?);
    sink.push(moment, record);
    Ok(())
}

/// Returns true for rows of a simulator: time, unit, sector, sectors, flags.
fn is_request(rows: &[Row]) -> bool {
    all(rows, 1, (0.0, UNITS_MAX)) && all(rows, 3, SECTORS) && rises(rows, 0)
}

/// Returns the mean step of the clock in the first column.
fn step(rows: &[Row]) -> f64 {
    match rows {
        #[expect(clippy::cast_precision_loss, reason = "a few dozen rows")]
        [first, .., last] => (last[0] - first[0]) / (rows.len() - 1) as f64,
        _ => 0.0,
    }
}
