//! The CSV of MSR Cambridge's traces (SNIA IOTTA 388).

use super::super::fields::{Fields, duration, io, read_or_write};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::{DeviceIndex, VmIndex};

pub(super) static FORMAT: Kind = Kind::text::<Msr>(
    "msr",
    &["msr-cambridge", "cambridge"],
    "MSR Cambridge CSV: Windows file time, host, disk, Read or Write, bytes, response",
);

/// Step of a Windows file time, in nanoseconds.
const STEP_NS: u64 = 100;
/// Steps of file time from 1601 to 1970.
const UNIX_EPOCH_STEPS: i64 = 116_444_736_000_000_000;

/// Lines `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: file time of the issue,
/// bytes, and steps of 100 ns. Disk numbers repeat across hosts, so a device is identified by host
/// and number.
#[derive(Default)]
struct Msr {
    /// Host of each device.
    hosts: Vec<VmIndex>,
}

impl Line for Msr {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
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
        let names = fields.rest();
        let host = fields.text("Hostname")?;
        fields.text("DiskNumber")?;
        let names = &names[..names.len().saturating_sub(fields.rest().len() + 1)];
        let operation = read_or_write(fields.text("Type")?)?;
        let offset = fields.number("Offset")?;
        let mut record = io(operation, offset, fields.number("Size")?)?;
        let response = duration(fields.number("ResponseTime")?, STEP_NS, "ResponseTime")?;
        fields.end()?;
        record.device_time = Some(response);
        (record.device, record.vm) = self.device(names, host, sink);
        sink.push(moment, record);
        Ok(())
    }
}

impl Msr {
    /// Returns the device of `host,disk`, and its host.
    #[inline]
    fn device(&mut self, names: &[u8], host: &[u8], sink: &mut Sink) -> (DeviceIndex, VmIndex) {
        let device = sink.device_as(names, |names| names.replace(',', "_"));
        if let Some(vm) = self.hosts.get(usize::from(device.0)) {
            return (device, *vm);
        }
        let vm = sink.vm(host);
        self.hosts.push(vm);
        (device, vm)
    }
}

/// Converts a file time. Nanoseconds since 1601 would not fit into 64 bits.
fn unix(file_time: u64) -> Result<Moment, Bad> {
    i64::try_from(file_time)
        .ok()
        .and_then(|steps| steps.checked_sub(UNIX_EPOCH_STEPS))
        .and_then(|steps| steps.checked_mul(100))
        .map(Moment)
        .ok_or(Bad::new("Timestamp", "is not a file time of recent centuries"))
}
