use hardware::{Array, Volume};
use sim::{Options, SimInstance, Simulation};
use units::{Bytes, Nanos};

use super::disk::DiskModel;
use super::loops::Span;
use super::matrix::Point;
use super::measure::{Answers, Collector};

/// Length of a simulated loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    /// Number of completions that is sufficient.
    pub answers: f64,
    /// Minimum duration in seconds.
    pub shortest: f64,
}

/// Total size of completed I/Os that is sufficient, in bytes. Our choice: for large blocks a flash
/// model needs an event for each page, and their latencies vary less.
const BYTES: f64 = 256e6;

impl Length {
    /// Returns the duration of a loop with this IOPS, in seconds, and the number of completions
    /// after which it may end earlier. That number is the wanted one, or the number in the wanted
    /// seconds, but at most twice the wanted one.
    fn bounds(self, block: Bytes, iops: f64) -> (f64, u64) {
        let enough = self.answers.min((BYTES / block.as_f64()).max(100.0));
        let most = 2.0 * enough;
        let seconds = (enough / iops).max(self.shortest.min(most / iops));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "casts saturate"
        )]
        let most = most as u64;
        (seconds, most)
    }
}

/// Number of slices of a loop. The first ones are left out.
const SLICES: u64 = 20;
const WARM_UP: u64 = 4;

/// Simulates a loop of about this IOPS on a modelled disk and returns the latencies. `None` if the
/// model cannot be built or virtual time does not advance.
pub fn answers(
    model: &DiskModel,
    (point, span, round): (&Point, Span, u64),
    (length, iops): (Length, f64),
) -> Option<Answers> {
    let (seconds, most) = length.bounds(point.block, iops.max(1.0));
    let mut array = Array::new();
    let entry = model.add(&mut array, span.seed ^ round).ok()?;
    let machine = span.machine(point, round).ok()?;
    let size = machine.instance.disks.first().map_or(Bytes::ZERO, |disk| disk.size);
    array.add_instance(&[Volume { entry, base: 0, size }]);
    let instance = SimInstance { machine: machine.machine, shape: machine.instance.shape };
    let slice = Nanos::from_secs_f64(seconds / (SLICES - WARM_UP) as f64).max(Nanos(1));
    let options = Options {
        until: Nanos(slice.0.saturating_mul(SLICES)),
        slice,
        events_per_instant_max: 1_000_000,
    };
    let mut simulation = Simulation::new(vec![instance], array, options);
    let mut collector = Collector::default();
    while let Some(found) = simulation.next_slice().ok()? {
        if found.start.0 >= slice.0 * WARM_UP {
            collector.add(&found);
            if collector.count() >= most {
                break;
            }
        }
    }
    Some(collector.answers())
}
