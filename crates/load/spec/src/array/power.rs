use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Ratio};

/// Frequencies of a host's cores; all cores run at the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Frequency {
    /// Nominal frequency in GHz, above 0, for which [`Hosts::speed`](super::Hosts::speed) is valid.
    pub nominal: f64,
    /// Lower states in GHz, ascending, each above 0 and below `nominal` (default none).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<f64>,
    /// Turbo frequencies in GHz with 1, 2, ... working cores, descending and at least `nominal`
    /// (default none). The last one also applies to more cores. Only available at the nominal
    /// state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turbo: Vec<f64>,
    /// Highest allowed state, as a share of `nominal` (default 100 %), above 0. Below 100 % there
    /// is no turbo, and the next lower state is used.
    #[serde(default = "all", skip_serializing_if = "is_all")]
    pub limit: Ratio,
    /// Governor that chooses among the states. If absent, the highest state is always used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<Governor>,
}

/// Governor that chooses the frequency state of a host's cores from their utilisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Governor {
    /// Interval between two decisions, above 0. It is the lag of the governor.
    pub every: Nanos,
    /// Target utilisation (default 80 %), above 0. The governor chooses the lowest state at which
    /// the work since the last decision would have stayed within the target.
    #[serde(default = "eighty")]
    pub target: Ratio,
}

/// Speed of a host's memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Speed as a multiple of the speed for which [`Hosts::speed`](super::Hosts::speed) is valid
    /// (default 1), above 0. Example: 0.71 is 1,333 MT/s instead of 1,866 MT/s.
    #[serde(default = "unity", skip_serializing_if = "is_unity")]
    pub speed: f64,
    /// Share of a CPU step's time that is spent waiting for memory, at nominal frequency and full
    /// memory speed (default 0 %). A higher core frequency does not shorten it.
    #[serde(default)]
    pub bound: Ratio,
}

/// Costs of another hypervisor version, relative to the version for which the costs of the
/// workloads and [`IoCpu`](super::IoCpu) are valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hypervisor {
    /// Version of the hypervisor, for display.
    pub version: String,
    /// Factor for the CPU time of CPU steps (default 1), above 0.
    #[serde(default = "unity")]
    pub cpu: f64,
    /// Factor for the CPU time of an I/O given by `io-cpu` (default 1), 0 or more.
    #[serde(default = "unity")]
    pub io_cpu: f64,
}

/// Power of each host, in W. With `n` working threads:
///
/// ```text
/// idle + core * (frequency / nominal)^exponent * work of n threads, in cores
///      + awake * cores that idle and do not sleep
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostPower {
    /// Source of the numbers, or the reason for our choice.
    pub source: String,
    /// Power while nothing runs and every core sleeps, in W, 0 to 1,000,000.
    pub idle: f64,
    /// Additional power of each core that works at nominal frequency, in W, 0 to 1,000,000.
    pub core: f64,
    /// Exponent by which core power grows with the frequency (default 3: voltage grows with
    /// frequency), 1 to 4.
    #[serde(default = "cube")]
    pub exponent: f64,
    /// Power of a core that is idle but does not sleep, in W (default 0), 0 to 1,000,000. For cores
    /// that never sleep it decreases with the frequency state and is 0 at the lowest state.
    #[serde(default)]
    pub awake: f64,
    /// Idle time after which a core sleeps (C-states). If absent, it never sleeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_after: Option<Nanos>,
    /// True if cores can only sleep all together, for example if all cores of a processor share one
    /// voltage (default no).
    #[serde(default, skip_serializing_if = "is_no")]
    pub sleep_together: bool,
    /// Wake-up time of a sleeping core (default 0).
    #[serde(default)]
    pub wake: Nanos,
    /// Part of `idle` that scales with the speed of memory, in W (default 0), at most `idle`.
    #[serde(default)]
    pub memory: f64,
}

/// Power of the storage, in W.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StoragePower {
    /// Source of the numbers, or the reason for our choice.
    pub source: String,
    /// Constant power of controllers, shelves, power supplies, and disks that are not listed in
    /// `disk`, in W (default 0), 0 to 1,000,000.
    #[serde(rename = "static", default)]
    pub fixed: f64,
    /// Power of each disk of pools, tiers and hosts, keyed by the disk's name there.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub disk: IndexMap<String, DiskPower>,
}

/// Power of a disk. It rises from `idle` to `active` with the disk's utilisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DiskPower {
    /// Power when idle and spinning, in W, 0 to 1,000,000.
    pub idle: f64,
    /// Power at full utilisation, in W, at least `idle`.
    pub active: f64,
}

fn all() -> Ratio {
    Ratio::ONE
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_all(share: &Ratio) -> bool {
    *share == Ratio::ONE
}

fn eighty() -> Ratio {
    Ratio::new(0.8)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_no(answer: &bool) -> bool {
    !*answer
}

const fn unity() -> f64 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::float_cmp,
    reason = "serde passes a reference; exactly the default"
)]
fn is_unity(value: &f64) -> bool {
    *value == 1.0
}

const fn cube() -> f64 {
    3.0
}
