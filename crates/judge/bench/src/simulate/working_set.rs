use cache::PageId;
use cache::mrc::{MissRatioCurve, Shards};
use sim::{Completion, Device, SimInstance};
use state_machine::{IoRequest, Operation};
use units::{Bytes, Nanos};

use super::Stage;
use crate::error::BenchError;
use crate::fleet::{DiskNeed, Driven, StepOrder, driven, round};

/// Page size of the curve, equal to the page size of the acceleration tiers in the studies.
pub const WORKING_SET_PAGE: Bytes = Bytes::new(64 << 10);

/// Latency of every I/O while requests are collected, between the latencies of flash and disks. The
/// mix of closed loops and paced work, and so the curve, depends slightly on it.
const LATENCY: Nanos = Nanos::from_millis(1);

/// Virtual time of the collected load. It is long enough that hot pages are accessed many times.
const TIME: Nanos = Nanos::from_secs(3600);

/// Maximum number of pages in the sample: four times the number that the paper finds sufficient for
/// errors near 0.01.
const SAMPLE: usize = 32_768;

impl Stage {
    /// Computes the LRU miss-ratio curve of one tile's reads and writes over pages of
    /// [`WORKING_SET_PAGE`]. It uses an hour of virtual time on storage that completes every I/O
    /// after 1 ms, and SHARDS with a fixed number of pages. It does not depend on an array.
    /// Operations are left out, because they belong to no tile.
    ///
    /// # Errors
    ///
    /// The tile cannot be built, or virtual time does not advance.
    pub fn miss_ratio_curve(&self, seed: u64) -> Result<MissRatioCurve, BenchError> {
        let mut plan = self.plan.clone();
        plan.seed = seed;
        plan.tile_set.operations.clear();
        let driven = driven(&plan, &StepOrder::whole(&plan, 1, round(1, 0)))?;
        let mut device = Collector { shards: Shards::fixed_size(SAMPLE), bases: Vec::new() };
        let mut next = 0;
        for Driven { instance, .. } in &driven {
            let base = |disk: &DiskNeed| {
                let base = next;
                next += disk.size.get().div_ceil(WORKING_SET_PAGE.get());
                base
            };
            device.bases.push(instance.disks.iter().map(base).collect());
        }
        let mut instances: Vec<_> = driven
            .into_iter()
            .map(|one| SimInstance { machine: one.machine, shape: one.instance.shape })
            .collect();
        let options = sim::Options { until: TIME, slice: TIME, ..sim::Options::default() };
        sim::run(&mut instances, &mut device, &options, &mut |_| {})?;
        Ok(device.shards.curve())
    }
}

/// Device that completes after a constant time and collects the accessed pages.
struct Collector {
    shards: Shards,
    /// Number of the first page of every disk of every instance.
    bases: Vec<Vec<u64>>,
}

impl Device for Collector {
    fn submit(&mut self, now: Nanos, instance: usize, request: &IoRequest) -> Completion {
        if request.operation != Operation::Flush && request.length > 0 {
            let base = self.bases[instance][usize::from(request.disk.0)];
            let first = request.offset / WORKING_SET_PAGE.get();
            let end = request.offset + u64::from(request.length) - 1;
            for page in first..=end / WORKING_SET_PAGE.get() {
                self.shards.reference(PageId(base + page));
            }
        }
        Completion { at: now.saturating_add(LATENCY), result: Ok(()) }
    }
}
