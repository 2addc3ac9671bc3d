use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, EstateFacts, Expected, Labels, Latency, LoadHost, MeterFacts, PowerPolicies, Step,
    Warning,
};

/// One run: what was asked, what happened, what it means. The document behind `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name and version of this format: `tilemark.run/1.0`. Minor versions only add fields.
    pub schema: String,
    /// The run's id, which is also its directory's name.
    pub id: String,
    /// What somebody called it and noted of it; absent if nobody did.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// When the run started (RFC 3339, UTC).
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// When the run ended (RFC 3339, UTC); null while it runs.
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// The program that measured.
    pub tool: ToolFacts,
    /// The seed every random stream of the run derives from.
    pub seed: u64,
    /// Name and version of the random generator, so that a seed keeps its meaning.
    pub random_generator: String,
    /// `quick`, `standard` or `full`.
    pub profile: String,
    /// What was measured.
    pub target: TargetFacts,
    /// What it was measured with.
    pub tile: TileFacts,
    /// How the tile was scaled.
    pub scale: ScaleFacts,
    /// How load was made.
    pub engine: EngineFacts,
    /// The hosts that drove the load; empty if it was the one that wrote this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LoadHost>,
    /// The meters of watts that were read beside it; empty without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterFacts>,
    /// Power policies of this machine, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_policies: Option<PowerPolicies>,
    /// SHA-256 of `plan.toml`, in hexadecimal.
    pub plan_sha256: String,
    /// Every value of the resolved plan, and where it came from.
    pub plan: Vec<PlanValue>,
    /// What filling the disks took; null if they were filled before.
    pub prefill: Option<Prefill>,
    /// Every step that was run, in the order it was run.
    pub steps: Vec<Step>,
    /// Steps with disks of another size; nothing where all disks had one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Resized>,
    /// What it all means.
    pub answer: Answer,
    /// What was expected of it, and what came of that; empty if nothing was, or it has not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expected>,
    /// What a reader should know before trusting the numbers.
    pub warnings: Vec<Warning>,
}

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFacts {
    /// Its version.
    pub version: String,
    /// The source commit it was built from; null if unknown.
    pub commit: Option<String>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// As given: `dir:/mnt/array`.
    pub datastore: String,
    /// `directory`, `file`, `block-device`, or [`SIMULATED`].
    pub kind: String,
    /// One line a person recognises: `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`.
    pub summary: String,
    /// Bytes the run was allowed to use there.
    pub capacity_bytes: Option<u64>,
    /// Bytes of virtual disks it created there.
    pub provisioned_bytes: Option<u64>,
    /// SHA-256 of `array.toml`, the model, in hexadecimal; absent on real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_sha256: Option<String>,
    /// The second datastore; `provisioned_bytes` of the first counts what is there too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Self>>,
    /// The tier of this machine that its disks were reached through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<ServedTier>,
}

/// A tier that was served on the machine that drove the load, before the datastore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedTier {
    /// Where it lay, as given.
    pub datastore: String,
    /// One line a person recognises.
    pub summary: String,
    /// When a write was answered: `through` when the datastore had it, `back` when the tier's log had it.
    pub mode: String,
    /// Room for pages and logs together.
    pub size_bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Of the room, percent for logs.
    pub log_percent: u8,
    /// Which page left.
    pub policy: String,
    /// The access that brought a page in.
    pub admission: u8,
}

impl TargetFacts {
    /// Whether storage and hosts were a model, and nothing was measured.
    pub fn is_simulated(&self) -> bool {
        self.kind == SIMULATED
    }

    /// What the sentence of an answer calls it: a model must not be taken for a measurement.
    pub fn subject(&self) -> &'static str {
        if self.is_simulated() { "this simulated array" } else { "this datastore" }
    }
}

/// The kind of a target that is a model of storage and hosts, in virtual time.
pub const SIMULATED: &str = "simulated";

/// The tile the datastore was filled with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileFacts {
    /// Its name.
    pub name: String,
    /// SHA-256 of its resolved definition, in hexadecimal: equal hashes are equal loads.
    pub sha256: String,
    /// Virtual machines in one tile.
    pub vms: u32,
    /// Workloads in one tile, several copies counted each.
    pub workloads: u32,
    /// Bytes of virtual disks in one tile, after scaling.
    pub disk_bytes: u64,
    /// Infrastructure operations that ran beside the tiles; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationsFacts>,
    /// The services that its workloads call, by name; empty if they call none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// The virtual machines that somebody has, of which the tile is a part; absent of other tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate: Option<EstateFacts>,
}

/// Infrastructure operations that ran beside the tiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsFacts {
    /// The group, as the plan names it.
    pub name: String,
    /// SHA-256 of the resolved definitions, in hexadecimal.
    pub sha256: String,
    /// Bytes of their disks, after scaling; they are there once however many tiles run.
    pub disk_bytes: u64,
}

/// How the tile was scaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleFacts {
    /// Disk sizes were multiplied by this; 1 is full size.
    pub footprint: f64,
    /// Schedule times (bursts, phases, drift) were multiplied by this; 1 is real time.
    pub time: f64,
}

/// Steps with disks of another size than those of the run's own steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resized {
    /// Whether they are the search that came first: the run's own steps confirm its edge with larger disks. If not,
    /// they are the larger disks, with which nothing was decided.
    pub is_search: bool,
    /// Disk sizes were multiplied by this.
    pub footprint: f64,
    /// Bytes of one tile's disks.
    pub tile_bytes: u64,
    /// Most tiles that held in the search.
    pub held: u32,
    /// Least tiles above them that did not.
    pub failed: u32,
    /// Steps in the order they ran. No step of the run has the number of one of them.
    pub steps: Vec<Step>,
}

/// How load was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFacts {
    /// What moved the data: `io_uring` or `threads`.
    pub backend: String,
    /// Worker threads.
    pub workers: u32,
    /// I/Os each worker can have in flight.
    pub depth: u32,
    /// Whether I/O went through the page cache instead of around it.
    pub buffered: bool,
    /// Whether every block was stamped and checked.
    pub verify: bool,
    /// Width of one row of the series, in nanoseconds.
    pub slice_ns: u64,
}

/// One value of the resolved plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanValue {
    /// Its place in the plan: `measure.duration`.
    pub key: String,
    /// The value as the plan writes it.
    pub value: serde_json::Value,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a plan value came from; an earlier one overrides a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A command-line option.
    Flag,
    /// An environment variable.
    Env,
    /// The plan file.
    Plan,
    /// The user's config.toml.
    Config,
    /// The profile.
    Profile,
    /// Nobody said anything else.
    Default,
}

/// What filling the disks took. First writes and rewrites differ on thin storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prefill {
    /// Bytes that were written once.
    pub bytes: u64,
    /// Writing them the first time; null if they were there before.
    pub first_write: Option<RateFacts>,
    /// Writing a part of them again; null if that was not measured.
    pub rewrite: Option<RateFacts>,
    /// Bytes of disks that were used as an earlier run left them filled.
    #[serde(default)]
    pub prepared_before_bytes: u64,
    /// Why `first_write` is null, where there is more to say: `prepared before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_write_absent: Option<String>,
}

/// A transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFacts {
    /// Bytes that were moved.
    pub bytes: u64,
    /// How long it took, in nanoseconds.
    pub duration_ns: u64,
    /// Mean speed, in bytes per second.
    pub bytes_per_s: f64,
    /// Latency of its I/Os, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Latency>,
}
