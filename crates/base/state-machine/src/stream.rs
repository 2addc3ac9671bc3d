use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Name and version of the random generator. They are stored with every result, so that a library
/// update cannot silently change the meaning of a seed.
pub const GENERATOR: &str = "xoshiro256++/splitmix64/1";

/// Purpose of a stream. It is part of the derivation, so that streams for different purposes are
/// independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Actions, think times, addresses and sizes of one user or group.
    User = 1,
    /// Arrival times of an open group.
    Arrivals = 2,
    /// Addresses shared by a workload (stream starts, drifting sets).
    Addresses = 3,
    /// Payload seeds.
    Payload = 4,
    /// Resampling for statistics.
    Bootstrap = 5,
    /// Service times and placement inside a modelled device.
    Device = 6,
    /// Service times of a modelled service.
    Service = 7,
    /// Values in the request text of a call.
    Request = 8,
}

/// Applies the mixing step of SplitMix64 (Steele, Lea and Flood 2014, figure 17), which is
/// bijective.
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Increment of SplitMix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Endless SplitMix64 generator that starts at a seed. It is for a few numbers, for which a
/// [`Stream`] is too much.
#[derive(Debug, Clone)]
pub struct SplitMix(pub u64);

impl Iterator for SplitMix {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        Some(number)
    }
}

/// Stream of random numbers, derived from the run's seed and a path of ids. A new tile 5 leaves the
/// numbers of tiles 1 to 4 unchanged.
///
/// The generator is xoshiro256++ (Blackman and Vigna 2021). Logarithms come from `libm`, so that
/// the same seed gives the same numbers on every computer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Derives the stream for a purpose at a path such as `[tile, workload, instance, user]`.
    pub fn derive(seed: u64, path: &[u64], purpose: Purpose) -> Self {
        let hash = path.iter().fold(mix(seed), |hash, part| mix(hash ^ mix(*part)));
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(hash ^ purpose as u64)))
    }

    /// Returns 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a whole number from 0 to `bound - 1`; `bound` must not be zero.
    ///
    /// It uses Lemire's multiply-shift without the rejection step: the bias is below `bound /
    /// 2^64`, far below what a run could show.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound != 0, "an empty range has no member");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a number from 0 (included) to 1 (excluded), with 53 bits.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float exactly")]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns true with the given probability.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns an exponentially distributed time with the given mean (inversion).
    #[inline]
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        mean.scale(-libm::log(1.0 - self.unit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_tile_has_another_stream_and_the_same_path_the_same() {
        let bits = |path: &[u64], purpose| Stream::derive(7, path, purpose).bits();
        assert_eq!(bits(&[1, 2], Purpose::User), bits(&[1, 2], Purpose::User));
        assert_ne!(bits(&[1, 2], Purpose::User), bits(&[2, 1], Purpose::User));
        assert_ne!(bits(&[1, 2], Purpose::User), bits(&[1, 2], Purpose::Payload));
        assert_ne!(bits(&[1], Purpose::User), bits(&[1, 0], Purpose::User));
    }

    #[test]
    fn the_first_numbers_of_a_seed_never_change() {
        let mut stream = Stream::derive(1, &[2, 3], Purpose::User);
        let first: Vec<u64> = (0..3).map(|_| stream.bits()).collect();
        assert_eq!(
            first, FIRST,
            "a change here changes what every stored seed means: raise GENERATOR"
        );
    }

    const FIRST: [u64; 3] =
        [9_014_017_399_712_381_755, 364_917_508_764_437_786, 4_928_301_126_487_094_109];

    #[test]
    fn exponential_spans_have_the_mean_asked_for() {
        let mut stream = Stream::derive(1, &[], Purpose::Arrivals);
        let total: f64 =
            (0..100_000).map(|_| stream.exponential(Nanos::from_millis(10)).as_secs_f64()).sum();
        // Standard error of the mean is 10 ms / sqrt(100,000) = 0.03 ms; five of them.
        assert!((total / 100_000.0 - 0.010).abs() < 0.000_16, "mean {}", total / 100_000.0);
    }
}
