//! Samples gauges of the host, its disks, and each VM's CPU time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bystanders::{DiskCounters, HostCounters, ProcessCounters};
use capture::{RunningVm, running_vms};
use run_store::gauge::{Folded, GaugeName};
use units::Nanos;

use watch::Slice;

/// Scope of the gauges of this host.
const HOST: &str = "host";
/// Number of samples between two searches for VMs, because a search reads the command line of every
/// process.
const SEARCH_EVERY: u32 = 6;

/// Samples counters and adds the changes to slices. The first sample adds nothing.
#[derive(Debug, Default)]
pub struct Probes {
    before: Option<HostCounters>,
    vms: BTreeMap<u32, Vm>,
    /// Number of samples since the last search for VMs.
    samples: u32,
}

#[derive(Debug)]
struct Vm {
    name: Arc<str>,
    uuid: Option<String>,
    before: Option<ProcessCounters>,
}

impl Probes {
    /// Adds the changes since the last sample to a slice. `disks` are the watched disks.
    pub fn sample(&mut self, disks: &[String], slice: &mut Slice) {
        let now = HostCounters::read();
        if let Some(before) = &self.before {
            let width = now.at.saturating_sub(before.at);
            add_host(before, &now, width, slice);
            for name in disks {
                if let (Some(before), Some(now)) = (before.disks.get(name), now.disks.get(name)) {
                    add_disk(name, (before, now), width, slice);
                }
            }
            let cores = now.cores.max(1);
            self.vms.retain(|pid, vm| vm.sample(*pid, (width, cores), slice));
        }
        self.before = Some(now);
        if self.samples.is_multiple_of(SEARCH_EVERY) {
            self.find_vms();
        }
        self.samples = self.samples.wrapping_add(1);
    }

    fn find_vms(&mut self) {
        for RunningVm { pid, name, uuid } in running_vms() {
            self.vms.entry(pid).or_insert_with(|| {
                let before = ProcessCounters::read(pid);
                Vm { name: name.into(), uuid, before }
            });
        }
    }

    /// Returns the running VMs, with their UUIDs if QEMU has one.
    pub fn vms(&self) -> Vec<(String, Option<String>)> {
        self.vms.values().map(|vm| (vm.name.to_string(), vm.uuid.clone())).collect()
    }
}

impl Vm {
    /// Adds the changes since the last sample; returns false if the process has ended.
    fn sample(&mut self, pid: u32, (width, cores): (Nanos, u32), slice: &mut Slice) -> bool {
        let Some(now) = ProcessCounters::read(pid) else { return false };
        let Some(before) = self.before.replace(now.clone()) else { return true };
        if before.started != now.started {
            return false;
        }
        let all = width.as_secs_f64().max(f64::MIN_POSITIVE) * f64::from(cores);
        let mut add = |name, time: Nanos| {
            let share = (time.as_secs_f64() / all).min(1.0);
            slice.read(name, &self.name, Folded::of(width, share));
        };
        add(GaugeName::VmCpu, now.cpu.saturating_sub(before.cpu));
        // Threads that ended took their waiting with them, so the sum may fall.
        if let (Some(now), Some(before)) = (now.ready, before.ready) {
            add(GaugeName::VmReady, now.saturating_sub(before));
        }
        true
    }
}

fn add_host(before: &HostCounters, now: &HostCounters, width: Nanos, slice: &mut Slice) {
    let host: Arc<str> = HOST.into();
    let seconds = width.as_secs_f64().max(f64::MIN_POSITIVE);
    let share = |now: Nanos, before: Nanos| {
        (now.saturating_sub(before).as_secs_f64() / seconds).clamp(0.0, 1.0)
    };
    let mut add = |name, value: Option<f64>| {
        if let Some(value) = value {
            slice.read(name, &host, Folded::of(width, value));
        }
    };
    let cores = f64::from(now.cores.max(1));
    let own = now.own.saturating_sub(before.own).as_secs_f64() / seconds / cores;
    let busy = now
        .busy
        .zip(before.busy)
        .map(|(now, before)| now.saturating_sub(before).as_secs_f64() / seconds / cores);
    let steal = now
        .steal
        .zip(before.steal)
        .map(|(now, before)| now.saturating_sub(before).as_secs_f64() / seconds / cores);
    add(GaugeName::CpuOwn, Some(own.min(1.0)));
    // Stolen time is in the busy time, and no process of this host used it.
    let others = busy.map(|busy| (busy - own - steal.unwrap_or(0.0)).clamp(0.0, 1.0));
    add(GaugeName::CpuOthers, others);
    add(GaugeName::CpuSteal, steal.map(|steal| steal.clamp(0.0, 1.0)));
    let pressure = |now: Option<Nanos>, before: Option<Nanos>| {
        now.zip(before).map(|(now, before)| share(now, before))
    };
    add(GaugeName::PressureMemory, pressure(now.memory_pressure, before.memory_pressure));
    add(GaugeName::PressureIo, pressure(now.io_pressure, before.io_pressure));
}

#[expect(clippy::cast_precision_loss, reason = "a rate is read to a few digits")]
fn add_disk(
    name: &str,
    (before, now): (&DiskCounters, &DiskCounters),
    width: Nanos,
    slice: &mut Slice,
) {
    let disk: Arc<str> = name.into();
    let seconds = width.as_secs_f64().max(f64::MIN_POSITIVE);
    let per_second = |now: Nanos, before: Nanos| now.saturating_sub(before).as_secs_f64() / seconds;
    let mut add = |name, value| slice.read(name, &disk, Folded::of(width, value));
    add(GaugeName::DeviceBusy, per_second(now.busy, before.busy).min(1.0));
    add(GaugeName::DeviceQueue, per_second(now.queued, before.queued));
    add(GaugeName::DeviceBytes, now.bytes.saturating_sub(before.bytes) as f64 / seconds);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_changes_nothing_and_the_second_has_the_host() {
        let (mut probes, mut slice) = (Probes::default(), Slice::new(0, 10));
        probes.sample(&[], &mut slice);
        assert!(slice.gauges.is_empty());
        std::thread::sleep(std::time::Duration::from_millis(20));
        probes.sample(&[], &mut slice);
        let others = slice.gauges.get(&(GaugeName::CpuOthers, HOST.into())).expect("read");
        assert!((0.0..=1.0).contains(&others.value) && others.time > Nanos::ZERO);
    }

    #[test]
    fn disk_that_answers_one_at_a_time_is_busy_for_that_time() {
        let at = |ms| DiskCounters {
            busy: Nanos::from_millis(ms),
            queued: Nanos::from_millis(3 * ms),
            bytes: ms * 4096,
        };
        let mut slice = Slice::new(0, 10);
        add_disk("sda", (&at(1000), &at(3500)), Nanos::from_secs(10), &mut slice);
        let value = |name| slice.gauges[&(name, "sda".into())].value;
        assert_eq!(value(GaugeName::DeviceBusy), 0.25);
        assert_eq!(value(GaugeName::DeviceQueue), 0.75);
        assert_eq!(value(GaugeName::DeviceBytes), 1_024_000.0);
    }
}
