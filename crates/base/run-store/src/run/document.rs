use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, EstateFacts, Expected, Labels, Latency, LoadHost, MeterFacts, PowerPolicies, Step,
    Warning,
};

/// One run: its question, its course and its results. The document behind `run.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Name and version of this format: `tilemark.run/1.0`. Minor versions only add fields.
    pub schema: String,
    /// Identifier of the run, which is also the name of its directory.
    pub id: String,
    /// Name, tags and note that a user gave the run; absent without any.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Start of the run (RFC 3339, UTC).
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// End of the run (RFC 3339, UTC); null while it runs.
    #[schemars(with = "Option<String>")]
    pub ended: Option<Timestamp>,
    /// Version of the program that measured.
    pub tool: ToolFacts,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Name and version of the random generator, so that a seed keeps its meaning.
    pub random_generator: String,
    /// `quick`, `standard` or `full`.
    pub profile: String,
    /// Target that was measured.
    pub target: TargetFacts,
    /// Tile that was run.
    pub tile: TileFacts,
    /// Scaling of the tile.
    pub scale: ScaleFacts,
    /// Settings of the load generator.
    pub engine: EngineFacts,
    /// Hosts that drove the load; empty if only the host that wrote this file did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LoadHost>,
    /// Power meters that were read during the run; empty without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterFacts>,
    /// Power policies of this host, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_policies: Option<PowerPolicies>,
    /// SHA-256 of `plan.toml`, in hexadecimal.
    pub plan_sha256: String,
    /// Every value of the resolved plan, with its origin.
    pub plan: Vec<PlanValue>,
    /// Filling of the disks; null if they were filled before.
    pub prefill: Option<Prefill>,
    /// All steps, in the order in which they ran.
    pub steps: Vec<Step>,
    /// Steps with disks of another size; absent where all disks had one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Resized>,
    /// Answer of the run.
    pub answer: Answer,
    /// Expectations and their results; empty without expectations, and before the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expected>,
    /// Warnings about the trustworthiness of the numbers.
    pub warnings: Vec<Warning>,
}

/// Program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFacts {
    /// Version of the program.
    pub version: String,
    /// Source commit that it was built from; null if unknown.
    pub commit: Option<String>,
}

/// Target that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Datastore as it was given: `dir:/mnt/array`.
    pub datastore: String,
    /// `directory`, `file`, `block-device`, or [`SIMULATED`].
    pub kind: String,
    /// Description in one line: `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`.
    pub summary: String,
    /// Bytes that the run was allowed to use.
    pub capacity_bytes: Option<u64>,
    /// Bytes of virtual disks that the run created.
    pub provisioned_bytes: Option<u64>,
    /// SHA-256 of `array.toml`, the model, in hexadecimal; absent for real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_sha256: Option<String>,
    /// Second datastore. `provisioned_bytes` of the first includes the disks on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Self>>,
    /// Tier of this host through which the disks were reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<ServedTier>,
    /// Storage protocol through which the disks were reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<ServedOver>,
}

/// A storage protocol between the load and the datastore, with its programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedOver {
    /// Word of the protocol: `nbd`, `iscsi` or `nfs3`.
    pub protocol: String,
    /// Program that served the disks.
    pub server: String,
    /// Version that the server told.
    pub server_version: String,
    /// Program or library that was the initiator.
    pub initiator: String,
    /// Version of the initiator's program.
    pub initiator_version: String,
    /// Hops between the load and the server, in words.
    pub hop: String,
    /// Network between initiator and server, in words.
    pub network: String,
}

/// A tier that was served on the load-driving host, in front of the datastore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedTier {
    /// Storage of the cache, as it was given.
    pub datastore: String,
    /// Description in one line.
    pub summary: String,
    /// Mode of the tier: with `through`, a write is answered when the datastore has it; with
    /// `back`, when the tier's log has it.
    pub mode: String,
    /// Room for pages and logs together, in bytes.
    pub size_bytes: u64,
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// Share of the room for logs, in percent.
    pub log_percent: u8,
    /// Eviction policy of pages.
    pub policy: String,
    /// Number of the access at which a page is admitted.
    pub admission: u8,
}

impl TargetFacts {
    /// True if storage and hosts were a model, and nothing was measured.
    pub fn is_simulated(&self) -> bool {
        self.kind == SIMULATED
    }

    /// Name of the target in the sentence of an answer. A model must not be taken for a
    /// measurement.
    pub fn subject(&self) -> &'static str {
        if self.is_simulated() { "this simulated array" } else { "this datastore" }
    }
}

/// Kind of a target that is a model of storage and hosts, in virtual time.
pub const SIMULATED: &str = "simulated";

/// Tile that the datastore was filled with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileFacts {
    /// Name of the tile.
    pub name: String,
    /// SHA-256 of the resolved definition, in hexadecimal: equal hashes are equal loads.
    pub sha256: String,
    /// Number of virtual machines in one tile.
    pub vms: u32,
    /// Number of workloads in one tile, each copy counted.
    pub workloads: u32,
    /// Bytes of virtual disks in one tile, after scaling.
    pub disk_bytes: u64,
    /// Infrastructure operations that ran beside the tiles; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationsFacts>,
    /// Names of the services that the workloads call; empty without calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// Existing virtual machines of which the tile is a part; absent for other tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate: Option<EstateFacts>,
}

/// Infrastructure operations that ran beside the tiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsFacts {
    /// Name of the group in the plan.
    pub name: String,
    /// SHA-256 of the resolved definitions, in hexadecimal.
    pub sha256: String,
    /// Bytes of the operations' disks, after scaling. They exist once, however many tiles run.
    pub disk_bytes: u64,
}

/// Scaling of the tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleFacts {
    /// Factor of disk sizes; 1 is full size.
    pub footprint: f64,
    /// Factor of schedule times (bursts, phases, drift); 1 is real time.
    pub time: f64,
}

/// Steps with disks of another size than those of the run's own steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resized {
    /// True if these steps are the search that came first, and the run's own steps confirm its edge
    /// with larger disks. False if these steps had the larger disks, and decided nothing.
    pub is_search: bool,
    /// Factor of disk sizes in these steps.
    pub footprint: f64,
    /// Bytes of one tile's disks.
    pub tile_bytes: u64,
    /// Most tiles that held in the search.
    pub held: u32,
    /// Least tiles above `held` that failed.
    pub failed: u32,
    /// Steps in the order in which they ran. Their numbers differ from those of the run's own
    /// steps.
    pub steps: Vec<Step>,
}

/// Settings of the load generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineFacts {
    /// I/O backend: `io_uring` or `threads`.
    pub backend: String,
    /// Number of worker threads.
    pub workers: u32,
    /// Most I/Os in flight per worker.
    pub depth: u32,
    /// True if I/O went through the page cache.
    pub buffered: bool,
    /// True if every block was stamped and verified.
    pub verify: bool,
    /// Width of a time slice of the series, in nanoseconds.
    pub slice_ns: u64,
}

/// A value of the resolved plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanValue {
    /// Key in the plan: `measure.duration`.
    pub key: String,
    /// The value as the plan writes it.
    pub value: serde_json::Value,
    /// Origin of the value.
    pub origin: Origin,
}

/// Origin of a plan value; an earlier one overrides a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// An option of the command line.
    Flag,
    /// An environment variable.
    Env,
    /// The file of the plan.
    Plan,
    /// The user's `config.toml`.
    Config,
    /// The defaults of the profile.
    Profile,
    /// The built-in default.
    Default,
}

/// Filling of the disks. First writes and rewrites differ on thin storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prefill {
    /// Bytes that were written once.
    pub bytes: u64,
    /// First write of the disks; null if they were written before.
    pub first_write: Option<RateFacts>,
    /// Second write of a part of them; null if it was not measured.
    pub rewrite: Option<RateFacts>,
    /// Bytes of disks that an earlier run had left filled.
    #[serde(default)]
    pub prepared_before_bytes: u64,
    /// Reason why `first_write` is null, if there is one to give: `prepared before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_write_absent: Option<String>,
}

/// Amount and speed of a transfer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateFacts {
    /// Bytes that were moved.
    pub bytes: u64,
    /// Duration, in nanoseconds.
    pub duration_ns: u64,
    /// Mean speed, in bytes per second.
    pub bytes_per_s: f64,
    /// Latency of the I/Os, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<Latency>,
}
