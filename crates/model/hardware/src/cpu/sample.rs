use std::iter::Sum;
use std::ops::{Add, Sub};

use units::Nanos;

/// Time of the virtual CPUs of one virtual machine in a span, by state. The parts add up to the
/// span times the number of virtual CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuSample {
    /// Time on a core, or on a thread of one.
    pub used: Nanos,
    /// Time ready to run while no core was free: "ready" time.
    pub ready: Nanos,
    /// Time with work while a sibling had to catch up; zero without
    /// [`CpuParameters::thread_queues`](super::CpuParameters::thread_queues). Hypervisors count it
    /// apart from ready time (%CSTP in esxtop).
    pub co_stop: Nanos,
    /// Time without work: idle, or waiting for an I/O.
    pub wait: Nanos,
}

impl Add for CpuSample {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            used: self.used + other.used,
            ready: self.ready + other.ready,
            co_stop: self.co_stop + other.co_stop,
            wait: self.wait + other.wait,
        }
    }
}

impl Sum for CpuSample {
    fn sum<I: Iterator<Item = Self>>(samples: I) -> Self {
        samples.fold(Self::default(), Add::add)
    }
}

/// Sums samples of a second over 20 seconds, as vCenter's real-time view does. An incomplete last
/// sum is left out. A comparison with the samples shows the variation that these sums hide.
pub fn sums_of_20(seconds: &[CpuSample]) -> Vec<CpuSample> {
    seconds.chunks_exact(20).map(|chunk| chunk.iter().copied().sum()).collect()
}

/// Counters of a whole host since its start. The difference of two values gives the counters of the
/// span between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostSample {
    /// Work done, as time of cores. Divided by the span and the number of cores, it is the share of
    /// all that the processors can do, which levels off at `capacity`. A core with one busy thread
    /// counts as `1 / threads` of a core, because a second thread could still add work. Tools that
    /// count busy cores instead show up to `threads` times as much at low load.
    pub used: Nanos,
    /// Work done in cycles, as time of cores at their nominal frequency: hypervisors call this
    /// usage. More than `used` with turbo, less in a lower state, and equal with a single
    /// frequency.
    pub cycles: Nanos,
    /// Part of `used` that the hypervisor spent on I/Os.
    pub system: Nanos,
    /// Time that virtual CPUs were ready but had no core, summed over virtual machines.
    pub ready: Nanos,
}

impl Sub for HostSample {
    type Output = Self;
    fn sub(self, earlier: Self) -> Self {
        Self {
            used: self.used - earlier.used,
            cycles: self.cycles - earlier.cycles,
            system: self.system - earlier.system,
            ready: self.ready - earlier.ready,
        }
    }
}
