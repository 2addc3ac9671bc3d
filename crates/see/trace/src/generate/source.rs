use std::cmp::Reverse;
use std::collections::BinaryHeap;

use units::{Bytes, Nanos};

use super::vm::{DISK, Vm};
use crate::derive::Derive;
use crate::{
    BATCH, Clock, Device, DeviceIndex, IoRecord, Losses, Source, TraceError, TraceInfo, VmIndex,
};

/// Properties of a generated trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipe {
    /// Number of I/Os.
    pub records: u64,
    /// Seed of the random numbers. The same seed and recipe give the same trace, in every version
    /// with the same [`Generator::VERSION`].
    pub seed: u64,
    /// Number of VMs, each with a disk of its own, 1 to 65,535. Their kinds alternate: database,
    /// log, backup, desktop.
    pub vms: u16,
    /// Mean I/Os per second of each VM, at least 1. At 5,000, I/Os queue at the disks only in
    /// bursts.
    pub iops: u32,
}

impl Default for Recipe {
    fn default() -> Self {
        Self { records: 1_000_000, seed: 1, vms: 8, iops: 5000 }
    }
}

/// Trace of a recipe, generated while it is read.
///
/// Every VM sends in bursts (one second of six times the rate, then nine quiet ones), with the
/// sizes, directions and addresses of its kind. The VM's disk serves four I/Os at a time in order
/// of arrival, so queue time, device time and outstanding I/Os match each other.
#[derive(Debug)]
pub struct Generator {
    info: TraceInfo,
    vms: Vec<Vm>,
    /// Time of each VM's next I/O, the earliest first.
    next: BinaryHeap<Reverse<(u64, u16)>>,
    derive: Derive,
    left: u64,
}

impl Generator {
    /// Version of the rules. A change that alters the trace of a seed raises the version.
    pub const VERSION: u32 = 1;

    /// Begins a new trace.
    pub fn new(recipe: &Recipe) -> Self {
        let count = recipe.vms.max(1);
        let mut vms: Vec<Vm> =
            (0..count).map(|index| Vm::new(recipe.seed, index, recipe.iops.max(1))).collect();
        let next = (0..count).zip(&mut vms).map(|(index, vm)| Reverse((vm.arrival(), index)));
        let next = next.collect();
        let names = |prefix: &str| (0..count).map(|vm| format!("{prefix}-{vm:02}")).collect();
        let disks: Vec<String> = names("disk");
        let devices = disks.into_iter().map(|name| Device { name, size: Some(Bytes::new(DISK)) });
        let info = TraceInfo {
            format: "generated",
            clock: Clock::Real { resolution: Nanos(1) },
            started_unix_ns: None,
            has_latency: true,
            vms: (0..count).zip(&vms).map(|(n, vm)| format!("{}-{n:02}", vm.kind())).collect(),
            devices: devices.collect(),
            losses: Losses::default(),
        };
        Self { derive: Derive::new(&info), info, vms, next, left: recipe.records }
    }

    fn one(&mut self) -> Option<IoRecord> {
        let mut soonest = self.next.peek_mut()?;
        let Reverse((at, index)) = *soonest;
        let vm = &mut self.vms[usize::from(index)];
        let mut record = vm.io(Nanos(at));
        record.vm = VmIndex(index);
        record.device = DeviceIndex(index);
        *soonest = Reverse((vm.arrival(), index));
        Some(record)
    }
}

impl Source for Generator {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        batch.clear();
        let count = usize::try_from(self.left).unwrap_or(BATCH).min(BATCH);
        while batch.len() < count {
            let Some(record) = self.one() else { break };
            batch.push(record);
        }
        self.left -= batch.len() as u64;
        self.derive.apply(batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Flags, Operation};

    fn all(recipe: &Recipe) -> Vec<IoRecord> {
        let mut generator = Generator::new(recipe);
        let (mut all, mut batch) = (Vec::new(), Vec::new());
        loop {
            generator.read(&mut batch).expect("nothing can fail");
            if batch.is_empty() {
                return all;
            }
            all.extend_from_slice(&batch);
        }
    }

    const RECIPE: Recipe = Recipe { records: 100_000, seed: 7, vms: 5, iops: 5000 };

    #[test]
    fn a_seed_gives_one_trace_and_another_gives_another() {
        let first = all(&RECIPE);
        assert!(first == all(&RECIPE), "the same seed gave two traces");
        assert!(first != all(&Recipe { seed: 8, ..RECIPE }), "two seeds gave one trace");
    }

    #[test]
    fn a_trace_has_what_analysis_must_find() {
        let records = all(&RECIPE);
        assert_eq!(records.len(), 100_000);
        assert!(records.is_sorted_by_key(|record| record.issue), "not in order of issue");
        let vms: BTreeSet<u16> = records.iter().map(|record| record.vm.0).collect();
        assert_eq!(vms.len(), 5);
        let sizes: BTreeSet<u32> = records.iter().map(|record| record.length).collect();
        assert!(sizes.len() >= 6, "only sizes {sizes:?}");
        for operation in [Operation::Read, Operation::Write, Operation::Flush, Operation::Discard] {
            assert!(records.iter().any(|it| it.operation == operation), "no {}", operation.name());
        }
        let flags = [Flags::SEQUENTIAL, Flags::FUA, Flags::SYNC];
        assert!(flags.iter().all(|flag| records.iter().any(|it| it.flags.has(*flag))));
        assert!(records.iter().any(|record| record.offset % 4096 != 0), "nothing is misaligned");
        assert!(records.iter().all(|record| record.end_offset() <= DISK), "beyond the disk");
    }

    #[test]
    fn four_are_served_at_a_time_so_waiting_and_outstanding_agree() {
        let records = all(&RECIPE);
        assert!(records.iter().any(|record| record.queue > Some(Nanos(0))), "nothing ever waits");
        for record in &records {
            let waits = record.queue > Some(Nanos(0));
            let outstanding = record.outstanding.expect("there are latencies");
            assert_eq!(waits, outstanding >= 4, "{record:?}");
        }
    }

    #[test]
    fn bursts_are_six_times_the_quiet_rate() {
        let records = all(&Recipe { vms: 1, ..RECIPE });
        let seconds = records.last().expect("there are some").issue.0 / 1_000_000_000;
        let mut counts = vec![0_u32; usize::try_from(seconds).expect("a few") + 1];
        for record in &records {
            counts[usize::try_from(record.issue.0 / 1_000_000_000).expect("a few")] += 1;
        }
        let (least, most) = (counts[..counts.len() - 1].iter().min(), counts.iter().max());
        let ratio = f64::from(*most.expect("some")) / f64::from(*least.expect("some"));
        assert!((5.0..7.5).contains(&ratio), "a burst is {ratio} times the quiet");
    }
}
