use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Ratio};

/// Frequencies of a host's cores, all of which run at one at a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Frequency {
    /// In GHz, above 0: that at which [`Hosts::speed`](super::Hosts::speed) holds.
    pub nominal: f64,
    /// Lower states in GHz, ascending, each above 0 and below `nominal` (default none).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<f64>,
    /// Turbo: GHz with 1, 2, ... cores at work, descending and from `nominal` up; the last one
    /// holds for more cores (default none). Only at the nominal state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turbo: Vec<f64>,
    /// Highest state allowed, as a share of `nominal` (default 100 %), above 0. Below 100 %
    /// there is no turbo, and the next lower state is taken.
    #[serde(default = "all", skip_serializing_if = "is_all")]
    pub limit: Ratio,
    /// Who chooses among the states; absent: always the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<Governor>,
}

/// Chooses the state of a host's cores from the share of the time in which they were at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Governor {
    /// Time between two looks, above 0: its lag.
    pub every: Nanos,
    /// Share of the time that cores should be at work (default 80 %), above 0: the lowest state
    /// is taken at which what was done since the last look would have taken no more.
    #[serde(default = "eighty")]
    pub target: Ratio,
}

/// Speed of the hosts' memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// As a multiple of that at which [`Hosts::speed`](super::Hosts::speed) holds (default 1), above 0:
    /// 0.71 is 1,333 of 1,866 MT/s.
    #[serde(default = "unity", skip_serializing_if = "is_unity")]
    pub speed: f64,
    /// Share of a CPU step's time, at nominal frequency and full speed of memory, that waits for
    /// memory (default 0 %): no frequency of the cores shortens it.
    #[serde(default)]
    pub bound: Ratio,
}

/// What another version of the hypervisor costs, against that for which the costs of the workloads
/// and [`IoCpu`](super::IoCpu) are meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hypervisor {
    /// Its name, for readers.
    pub version: String,
    /// A CPU step of a virtual machine takes so many times the CPU (default 1), above 0.
    #[serde(default = "unity")]
    pub cpu: f64,
    /// An I/O takes so many times the CPU of `io-cpu` (default 1), 0 or more.
    #[serde(default = "unity")]
    pub io_cpu: f64,
}

/// Watts of each host. With `n` threads at work:
///
/// ```text
/// idle + core * (frequency / nominal)^exponent * work of n threads, in cores
///      + awake * cores that idle and do not sleep
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HostPower {
    /// Where the numbers come from, or that they are our choice and why.
    pub source: String,
    /// W while nothing runs and every core sleeps, 0 to 1,000,000.
    pub idle: f64,
    /// W more for each core at work at its nominal frequency, 0 to 1,000,000.
    pub core: f64,
    /// How these go with the frequency (default 3: voltage goes with frequency), 1 to 4.
    #[serde(default = "cube")]
    pub exponent: f64,
    /// W of a core that does nothing and does not sleep (default 0), 0 to 1,000,000.
    #[serde(default)]
    pub awake: f64,
    /// How long a core does nothing before it sleeps (C-states); absent: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_after: Option<Nanos>,
    /// What a sleeping core takes to wake (default 0).
    #[serde(default)]
    pub wake: Nanos,
    /// W of `idle` that go with the speed of memory (default 0), at most `idle`.
    #[serde(default)]
    pub memory: f64,
}

/// Watts of the storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StoragePower {
    /// Where the numbers come from, or that they are our choice and why.
    pub source: String,
    /// W whatever it does: controllers, shelves, supplies, and disks not named below (default 0), 0
    /// to 1,000,000.
    #[serde(rename = "static", default)]
    pub fixed: f64,
    /// Watts of each disk of pools, tiers and hosts, by the disk's name there.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub disk: IndexMap<String, DiskPower>,
}

/// Watts of a disk: `idle`, and towards `active` by the share of the time that it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DiskPower {
    /// W at rest, spinning, 0 to 1,000,000.
    pub idle: f64,
    /// W while it works all the time, at least `idle`.
    pub active: f64,
}

fn all() -> Ratio {
    Ratio::ONE
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn is_all(share: &Ratio) -> bool {
    *share == Ratio::ONE
}

fn eighty() -> Ratio {
    Ratio::new(0.8)
}

const fn unity() -> f64 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::float_cmp,
    reason = "serde hands out a reference; exactly the default"
)]
fn is_unity(value: &f64) -> bool {
    *value == 1.0
}

const fn cube() -> f64 {
    3.0
}
