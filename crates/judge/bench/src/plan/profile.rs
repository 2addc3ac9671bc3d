use run_store::run::Origin;
use spec::plan::{Ladder, Measure, Plan, Profile, Scale};
use units::Nanos;

use crate::plan::Layer;

/// Durations and thresholds that `--quick` or `--standard` selects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileValues {
    /// Minimum duration of the warm-up.
    pub warm_up_min: Nanos,
    /// Maximum duration of the warm-up.
    pub warm_up_max: Nanos,
    /// Measurement time, before rounding to whole burst periods.
    pub duration: Nanos,
    /// Maximum factor by which the measurement time may grow while a limit has too few samples.
    pub lengthen_max: u32,
    /// Length of a time slice.
    pub slice: Nanos,
    /// Number of runs of a step around the edge.
    pub repeats: u32,
    /// Maximum width of the interval of held tiles, as a share of the held tiles, at which a search
    /// ends.
    pub precision: f64,
    /// Factor applied to disk sizes.
    pub footprint: f64,
    /// Factor applied to schedule times.
    pub time: f64,
    /// Time by which every step must have ended. If absent, it is unlimited.
    pub budget: Option<Nanos>,
}

impl ProfileValues {
    /// Returns the values that are settings of a plan, as a layer.
    pub(super) fn layer(&self) -> Layer {
        let plan = Plan {
            ladder: Ladder { repeats: Some(self.repeats), ..Ladder::default() },
            measure: Measure {
                warm_up_min: Some(self.warm_up_min),
                warm_up_max: Some(self.warm_up_max),
                duration: Some(self.duration),
                slice: Some(self.slice),
            },
            scale: Scale { footprint: Some(self.footprint), time: Some(self.time) },
            ..Plan::default()
        };
        Layer { origin: Origin::Profile, plan }
    }
}

/// Returns the values of a profile on real storage.
pub const fn profile_values(profile: Profile) -> ProfileValues {
    match profile {
        Profile::Quick => QUICK,
        Profile::Standard => STANDARD,
        Profile::Full => FULL,
    }
}

/// Returns the values of a profile in a simulation. There disks cost nothing to fill, and time
/// passes as fast as it can be computed. All values are our choice.
pub const fn simulated_values(profile: Profile) -> ProfileValues {
    match profile {
        Profile::Quick => SIMULATED_QUICK,
        Profile::Standard => SIMULATED_STANDARD,
        Profile::Full => SIMULATED_FULL,
    }
}

/// Values for `simulate --quick`: seconds for a few tiles. Disks have full size, so that a modelled
/// cache holds a realistic share of them. A five-minute burst period at 2/25 takes 24 s, of which
/// five are measured. Caches start filled, so the warm-up only fills queues.
const SIMULATED_QUICK: ProfileValues = ProfileValues {
    warm_up_min: Nanos::from_secs(30),
    warm_up_max: Nanos::from_secs(120),
    duration: Nanos::from_secs(120),
    lengthen_max: 2,
    slice: Nanos::SECOND,
    repeats: 1,
    precision: 0.02,
    footprint: 1.0,
    time: 2.0 / 25.0,
    budget: None,
};

/// Default values in a simulation: real time and full size. Ten minutes hold two five-minute burst
/// periods.
const SIMULATED_STANDARD: ProfileValues = ProfileValues {
    warm_up_min: Nanos::from_secs(60),
    warm_up_max: Nanos::from_secs(900),
    duration: Nanos::from_secs(600),
    lengthen_max: 2,
    slice: Nanos::SECOND,
    repeats: 3,
    precision: 0.02,
    footprint: 1.0,
    time: 1.0,
    budget: None,
};

/// Values for `simulate --full`, the same as for `run --full`, in virtual time.
const SIMULATED_FULL: ProfileValues = FULL;

/// Values for `run --quick`: an answer while the user waits. All values are our choice. Some
/// eighteen steps of 14 to 18 s fill five minutes, prefill included. A five-minute burst period at
/// 1/150 takes 2 s. So a step measures the five separate rounds that the steadiness rule and
/// intervals need. 1/512 reduces a 279 GB data-centre tile to 0.5 GB. An ordinary disk writes this
/// in seconds, but it also fits into many caches, and the result states that. An interval of 6 % of
/// the tiles is about the resolution of steps of ten seconds.
const QUICK: ProfileValues = ProfileValues {
    warm_up_min: Nanos::from_secs(3),
    warm_up_max: Nanos::from_secs(8),
    duration: Nanos::from_secs(10),
    lengthen_max: 3,
    slice: Nanos::from_millis(500),
    repeats: 1,
    precision: 0.06,
    footprint: 1.0 / 512.0,
    time: 1.0 / 150.0,
    budget: Some(Nanos::from_secs(300)),
};

/// Default values of `run`. Three repeats are averaged, as in the EMC and vSAN studies (`workloads`
/// 1.2). 120 s hold five five-minute burst periods at 2/25, which are the rounds of the steadiness
/// rule. They also hold 10/(1-p) samples of a p99.9 at 84 IOPS or more. 1/16 reduces a data-centre
/// tile to 17 GB, which is more than most controller caches.
const STANDARD: ProfileValues = ProfileValues {
    warm_up_min: Nanos::from_secs(30),
    warm_up_max: Nanos::from_secs(180),
    duration: Nanos::from_secs(120),
    lengthen_max: 2,
    slice: Nanos::SECOND,
    repeats: 3,
    precision: 0.04,
    footprint: 1.0 / 16.0,
    time: 2.0 / 25.0,
    budget: None,
};

/// Values for `run --full`, with durations common in the field: full size, real time, 40 minutes
/// measured (a third of the two hours that tile benchmarks usually measure), warm-up from VMFleet's
/// 300 s to HCIBench's 1800 s.
const FULL: ProfileValues = ProfileValues {
    warm_up_min: Nanos::from_secs(300),
    warm_up_max: Nanos::from_secs(1800),
    duration: Nanos::from_secs(2400),
    lengthen_max: 1,
    slice: Nanos::SECOND,
    repeats: 3,
    precision: 0.04,
    footprint: 1.0,
    time: 1.0,
    budget: None,
};
