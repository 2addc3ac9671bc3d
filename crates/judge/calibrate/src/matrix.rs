use serde::Serialize;
use state_machine::{Purpose, Stream};
use units::Bytes;

/// Mix of reads and writes in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// 70 % reads.
    Mixed,
}

impl Mix {
    /// All mixes of reads and writes.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Mixed];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Mixed => "70/30",
        }
    }

    /// Returns the share of reads, 0 to 1.
    pub const fn reads(self) -> f64 {
        match self {
            Self::Read => 1.0,
            Self::Write => 0.0,
            Self::Mixed => 0.7,
        }
    }
}

/// Closed loop with this many users without think time, uniformly random over the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Size of each I/O.
    pub block: Bytes,
    /// Number of outstanding I/Os at all times.
    pub depth: u32,
    /// Mix of reads and writes.
    pub mix: Mix,
    /// True if the fit may use it. The other half of the points validates the fit.
    pub is_training: bool,
}

const BLOCKS: [u64; 5] = [4, 16, 64, 256, 1024];
const DEPTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const QUICK_DEPTHS: [u32; 4] = [1, 4, 16, 64];

/// Returns the loops to measure, ordered by size and depth. Training and validation points
/// alternate like the colours of a chessboard. So the smallest size at depth 1 is a training point,
/// and every validation point is between training points.
pub fn matrix(quick: bool, read_only: bool) -> Vec<Point> {
    let depths: &[u32] = if quick { &QUICK_DEPTHS } else { &DEPTHS };
    let mixes = if read_only { &Mix::ALL[..1] } else { &Mix::ALL[..] };
    let mut points = Vec::new();
    for mix in mixes {
        for (row, kib) in BLOCKS.iter().enumerate() {
            for (column, depth) in depths.iter().enumerate() {
                points.push(Point {
                    block: Bytes::new(kib << 10),
                    depth: *depth,
                    mix: *mix,
                    is_training: (row + column) % 2 == 0,
                });
            }
        }
    }
    points
}

/// Returns a random order of this many items (Fisher and Yates), so that a drift of the computer
/// does not look like an effect of size or depth.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut stream = Stream::derive(seed, &[], Purpose::Bootstrap);
    let mut order: Vec<usize> = (0..count).collect();
    for place in (1..count).rev() {
        let other = usize::try_from(stream.below(place as u64 + 1)).unwrap_or(0);
        order.swap(place, other);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_each_mix_trains_and_the_smallest_loop_is_in_it() {
        for quick in [true, false] {
            let points = matrix(quick, false);
            for mix in Mix::ALL {
                let of_mix: Vec<_> = points.iter().filter(|point| point.mix == mix).collect();
                let training = of_mix.iter().filter(|point| point.is_training).count();
                assert!(training.abs_diff(of_mix.len() - training) <= 1);
                assert!(of_mix[0].is_training && of_mix[0].depth == 1);
            }
        }
        assert!(matrix(false, true).iter().all(|point| point.mix == Mix::Read));
    }

    #[test]
    fn an_order_holds_everything_once_and_depends_on_the_seed() {
        let mut order = shuffled(50, 1);
        assert_ne!(order, shuffled(50, 2));
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }
}
