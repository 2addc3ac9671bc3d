//! The CSV of MSR Cambridge's traces (SNIA IOTTA 388).

use super::super::fields::{Fields, duration, length, range, read_or_write};
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::IoRecord;
use units::Nanos;

/// Nanoseconds of a Windows file-time step.
const STEP_NS: u64 = 100;
/// File-time steps from 1601 to 1970.
const UNIX_EPOCH_STEPS: i64 = 116_444_736_000_000_000;

/// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: file time of the issue, bytes,
/// and steps of 100 ns. Disk numbers repeat across hosts, so a device is host and number.
#[derive(Default)]
pub(in super::super) struct Msr {
    key: Vec<u8>,
}

impl Line for Msr {
    fn begin(&mut self, sink: &mut Sink) {
        sink.unix_times(STEP_NS);
        sink.info.has_latency = true;
    }

    #[inline]
    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let mut fields = Fields::commas(line);
        if line.starts_with(b"Timestamp,") {
            sink.skip();
            return Ok(());
        }
        let moment = unix(fields.number("Timestamp")?)?;
        let host = fields.text("Hostname")?;
        let disk = fields.text("DiskNumber")?;
        let operation = read_or_write(fields.text("Type")?)?;
        let offset = fields.number("Offset")?;
        let length = length(fields.number("Size")?)?;
        let response = duration(fields.number("ResponseTime")?, STEP_NS, "ResponseTime")?;
        range(offset, length)?;
        let mut record = IoRecord::new(Nanos::ZERO, operation, offset, length);
        record.device_time = Some(response);
        record.vm = sink.vm(host);
        self.key.clear();
        self.key.extend_from_slice(host);
        self.key.push(b'_');
        self.key.extend_from_slice(disk);
        record.device = sink.device(&self.key);
        sink.push(moment, record);
        Ok(())
    }
}

/// The moment of a file time. In nanoseconds since 1601 it would not fit 64 bits.
fn unix(file_time: u64) -> Result<Moment, Bad> {
    i64::try_from(file_time)
        .ok()
        .and_then(|steps| steps.checked_sub(UNIX_EPOCH_STEPS))
        .and_then(|steps| steps.checked_mul(100))
        .map(Moment)
        .ok_or(Bad::new("Timestamp", "is no file time of these centuries"))
}
