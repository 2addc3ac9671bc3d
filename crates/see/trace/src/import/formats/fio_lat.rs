//! fio's latency logs (`write_lat_log`).

use super::super::fields::{Fields, hex, io, moment, number};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use super::super::table::{Row, Table, rises};
use crate::{IoRecord, Operation};
use units::Nanos;

pub(super) static FORMAT: Kind = Kind::text::<FioLat>(
    "fio-lat",
    &["fio-latency", "fio-clat"],
    "fio's write_lat_log: ms at the end, ns of latency, direction, bytes, offset if logged",
);

const MILLISECOND_NS: u64 = 1_000_000;
/// Plausible lengths of I/Os, in bytes.
const BYTES: (f64, f64) = (512.0, (1_u64 << 30) as f64);
/// Plausible latencies, in nanoseconds.
const LATENCY_NS: (f64, f64) = (100.0, 1e12);
/// Tolerance of the check that no I/O waited longer than its job ran. Times may be cut to 10 ms.
const SLACK_MS: f64 = 1_000.0;
/// Milliseconds from 1970 to 2001. Times above this count from 1970 (`log_unix_epoch`).
const EPOCH_MS: f64 = 1e12;

/// Lines `time, value, direction, bytes[, offset][, priority[, issue]]`: milliseconds at the
/// completion of the I/O, nanoseconds of latency (fio 3; microseconds before), and nanoseconds at
/// the issue.
///
/// With five columns, the last is the priority, not the offset: fio 3 leaves the offset out unless
/// `log_offset=1`. Without the offset, every I/O is at 0, and the device's name says so.
#[derive(Default)]
struct FioLat {
    columns: Option<usize>,
}

impl Line for FioLat {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(MILLISECOND_NS);
        sink.info.has_latency = true;
        sink.one_disk();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut fields = Fields::commas(line);
        let end = fields.number("time")?;
        let latency = fields.number("value")?;
        let direction = fields.number("direction")?;
        let bytes = fields.number("block size")?;
        let mut more = [0_u64; 3];
        let mut count = 0;
        while let Some(field) = fields.next() {
            let place = more.get_mut(count).ok_or(Bad::new("line", "has more than 7 columns"))?;
            // Newer versions print the priority in base 16.
            *place = number(field, "column").or_else(|_| hex(field, "column"))?;
            count += 1;
        }
        let (offset, issue) = match count {
            0 | 1 => (None, 0),
            _ => (Some(more[0]), more[2]),
        };
        let mut record = record(direction, offset.unwrap_or(0), bytes)?;
        record.device_time = Some(Nanos(latency));
        let moment =
            if issue > 0 { moment(issue, 1, "issue time") } else { started(end, latency) }?;
        self.first(4 + count, issue > 0, sink);
        sink.push(moment, record);
        Ok(())
    }

    fn is_plausible(lines: &[&[u8]]) -> bool {
        // Newer versions print the priority in base 16.
        let table = Table { hex: Some(5), ..Table::COMMAS };
        let is_sync = |row: &Row| row[2] == 3.0;
        let is_io = |row: &Row| is_sync(row) || (BYTES.0..=BYTES.1).contains(&row[3]);
        let is_time = |row: &Row| {
            (LATENCY_NS.0..=LATENCY_NS.1).contains(&row[1])
                && (row[0] >= EPOCH_MS || row[1] <= (row[0] + SLACK_MS) * 1e6)
        };
        table.rows(lines).is_some_and(|rows| {
            rows.iter().all(|row| is_io(row) && is_time(row)) && rises(&rows, 0)
        })
    }
}

impl FioLat {
    /// Sets properties of the trace from the first good line.
    fn first(&mut self, columns: usize, has_issue: bool, sink: &mut Sink) {
        if self.columns.replace(columns).is_some() {
            return;
        }
        if has_issue {
            sink.real_times(1);
        }
        if columns < 6
            && let Some(device) = sink.info.devices.first_mut()
        {
            device.name.push_str(" (offsets not logged)");
        }
    }
}

fn record(direction: u64, offset: u64, bytes: u64) -> Result<IoRecord, Bad> {
    let operation = match direction {
        0 => Operation::Read,
        1 => Operation::Write,
        2 => Operation::Discard,
        3 => return Ok(IoRecord::new(Nanos::ZERO, Operation::Flush, 0, 0)),
        _ => return Err(Bad::new("direction", "is not from 0 to 3")),
    };
    if bytes == 0 {
        return Err(Bad::new("block size", "is 0: an average (log_avg_msec), not an I/O"));
    }
    io(operation, offset, bytes)
}

/// Returns the begin of an I/O that completed at `end` milliseconds, after `latency` nanoseconds.
fn started(end: u64, latency: u64) -> Result<Moment, Bad> {
    let end = moment(end, MILLISECOND_NS, "time")?;
    let latency = i64::try_from(latency).map_err(|_| Bad::new("value", "is too large"))?;
    Ok(Moment(end.0.saturating_sub(latency)))
}
