//! A plan: which tiles, on which datastore, climbed how.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

use crate::endpoint::Answering;
use crate::events::{PlannedEvent, Restart};
use crate::expect::Expectation;
use crate::meter::Meter;
use crate::named::NamedMachine;
use crate::workload::CpuMode;

/// Everything a run needs to know. Absent values come from the profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Plan {
    /// `dir:PATH`, `file:PATH` or `block:PATH`; a bare path is a directory. For `tilemark
    /// simulate`, `array:NAME` or `array:FILE.toml`, a modelled array.
    pub datastore: String,
    /// A second datastore, of the same forms: disks of running machines move between the two, and
    /// disks that are `on = "second"` lie there. `pool:NAME` in a simulation: a pool of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// A shipped tile's name, or a path to a tile file.
    pub tile: String,
    /// How long and how often (default standard).
    #[serde(default)]
    pub profile: Profile,
    /// How many tiles are tried.
    #[serde(default)]
    pub ladder: Ladder,
    /// How each step is measured; absent values come from the profile.
    #[serde(default)]
    pub measure: Measure,
    /// How the tile is scaled.
    #[serde(default)]
    pub scale: Scale,
    /// How load is made.
    #[serde(default)]
    pub engine: EngineOptions,
    /// What answers the endpoints that the tile's workloads call, by name: an address
    /// (`http://HOST[:PORT][/PATH]`); in a simulation `model:SERVERSxTIME`, a queue with so many
    /// servers and exponential service times.
    #[serde(rename = "endpoint", default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, String>")]
    pub endpoints: IndexMap<String, Answering>,
    /// Infrastructure operations that run beside the tiles: a shipped group's name, or a path to
    /// a file of the form of a tile's whose workloads are operations. None, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// The hosts that drive the tiles, if they are others than this one.
    #[serde(default, skip_serializing_if = "Hosts::is_none")]
    pub hosts: Hosts,
    /// What happens to the hosts while a step is measured; the same in every step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// Tiles of a lost host start again on the others; without it a lost host voids the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Meters of watts that are read beside the run; the text of each is what `--meter` takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<Meter>,
    /// What is expected of the run, each as `--expect` has it: `"tiles >= 8"`, `"score >= 7.5"`,
    /// `"shop.order.p95 <= 300ms"`. It changes nothing of what is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub expect: Vec<Expectation>,
    /// Virtual machines of yours that operations may be carried out on, each by its exact name; the text of
    /// each is what `--machine` takes. No other machine is touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<NamedMachine>,
    /// Random if absent; always stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The hosts that drive the tiles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// Each as `--host` has it: `NAME`, `NAME=ssh:DESTINATION`, `NAME=exec:COMMAND` or `NAME=join`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// `"round-robin"` (default), `"packed:4"`, `"weight:a=2,b=1"` or `"pin:1=a,2=b"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

impl Hosts {
    /// Whether there are none but this one.
    pub fn is_none(&self) -> bool {
        self.members.is_empty() && self.placement.is_none()
    }
}

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// About three minutes: short steps, one repeat.
    Quick,
    /// Tens of minutes: three repeats, steady-state rule.
    #[default]
    Standard,
    /// The field's hours.
    Full,
}

/// How many tiles are tried.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ladder {
    /// `"4"`, `"1..8"`, or absent for a search (double, bisect, every step at the edge).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles: Option<String>,
    /// The search goes no further than this (default: what fits the datastore).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tiles_max: Option<u32>,
    /// Every step runs this often and passes only if all runs pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
}

/// How one step is measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measure {
    /// Shortest warm-up before steady state is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_min: Option<Nanos>,
    /// Longest warm-up; a step that is not steady by then is measured and marked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_max: Option<Nanos>,
    /// Measured time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Nanos>,
    /// Width of one row of the series (default 1 s; 100 ms on request).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Nanos>,
}

/// How the tile is scaled; stated in every result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scale {
    /// Disk sizes are multiplied by this, above 0, at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<f64>,
    /// Schedule times (bursts, phases, drift) are multiplied by this, above 0; think times
    /// and rates are not, so the load stays what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
}

/// How load is made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineOptions {
    /// Worker threads, each with its own ring (default: one per core, at most 8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Through the page cache instead of `O_DIRECT`.
    #[serde(default)]
    pub buffered: bool,
    /// Every block is stamped and checked.
    #[serde(default)]
    pub verify: bool,
    /// Overrides the workloads' own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuMode>,
    /// At most this much is written to the datastore as files (default: 80 % of the free
    /// space less 5 GiB).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space_max: Option<Bytes>,
}
