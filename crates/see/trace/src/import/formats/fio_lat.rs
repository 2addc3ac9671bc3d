//! fio's latency logs (`write_lat_log`).

use super::super::fields::{Fields, hex, io, moment, number};
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{IoRecord, Operation};
use units::Nanos;

const MILLISECOND_NS: u64 = 1_000_000;

/// `time, value, direction, bytes[, offset][, priority[, issue]]`: milliseconds at the end of the
/// I/O, nanoseconds of latency (fio 3; microseconds before), and nanoseconds at its issue.
///
/// Five columns end in the priority, not in the offset: fio 3 leaves the offset out unless
/// `log_offset=1`. Without it every I/O is at 0, and the device's name says so.
#[derive(Default)]
pub(in super::super) struct FioLat {
    columns: Option<usize>,
}

impl Line for FioLat {
    fn begin(&mut self, sink: &mut Sink) {
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
}

impl FioLat {
    /// What the first good line tells of all.
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
        _ => return Err(Bad::new("direction", "is none of 0 to 3")),
    };
    if bytes == 0 {
        return Err(Bad::new("block size", "is 0: an average (log_avg_msec), no I/O"));
    }
    io(operation, offset, bytes)
}

/// When an I/O began that ended at `end` milliseconds, `latency` nanoseconds later.
fn started(end: u64, latency: u64) -> Result<Moment, Bad> {
    let end = moment(end, MILLISECOND_NS, "time")?;
    let latency = i64::try_from(latency).map_err(|_| Bad::new("value", "is too large"))?;
    Ok(Moment(end.0.saturating_sub(latency)))
}
