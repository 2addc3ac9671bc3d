use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, EstateFacts, Expected, Labels, Latency, LoadHost, MeterFacts, PowerPolicies, Step,
    Warning,
};

/// One run: its question, progress and results. `run.json` is this document.
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
    /// Tile that the run used as load.
    pub tile: TileFacts,
    /// Scale factors of the tile.
    pub scale: ScaleFacts,
    /// Settings of the load generator.
    pub engine: EngineFacts,
    /// Hosts that drove the load; empty if only the host that wrote this file drove it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<LoadHost>,
    /// Power meters that were read during the run; empty without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterFacts>,
    /// Power policies of this host; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_policies: Option<PowerPolicies>,
    /// SHA-256 of `plan.toml`, in hexadecimal.
    pub plan_sha256: String,
    /// All values of the resolved plan, with their origins.
    pub plan: Vec<PlanValue>,
    /// Filling of the disks; null if they had been filled before.
    pub prefill: Option<Prefill>,
    /// All steps, in the order in which they ran.
    pub steps: Vec<Step>,
    /// Steps with disks of another size; absent if all disks had one size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resized: Option<Resized>,
    /// Answer of the run.
    pub answer: Answer,
    /// Expectations and their results; empty without expectations, and until the run has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expected>,
    /// Warnings that concern how far the numbers can be trusted.
    pub warnings: Vec<Warning>,
}

/// Program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFacts {
    /// Version of the program.
    pub version: String,
    /// Commit of the source from which the program was built; null if unknown.
    pub commit: Option<String>,
}

/// Target that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFacts {
    /// Datastore as given by the user: `dir:/mnt/array`.
    pub datastore: String,
    /// `directory`, `file`, `block-device`, or [`SIMULATED`].
    pub kind: String,
    /// Description in one line: `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`.
    pub summary: String,
    /// Bytes that the run was allowed to use.
    pub capacity_bytes: Option<u64>,
    /// Total size of the virtual disks that the run created, in bytes.
    pub provisioned_bytes: Option<u64>,
    /// SHA-256 of the model `array.toml`, in hexadecimal; absent for real storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_sha256: Option<String>,
    /// Second datastore. The disks on it are included in `provisioned_bytes` of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<Box<Self>>,
    /// Tier on this host through which the disks were accessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<ServedTier>,
    /// Storage protocol through which the disks were accessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<ServedOver>,
}

/// Storage protocol between the load and the datastore, with its server and initiator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedOver {
    /// Short name of the protocol: `nbd`, `iscsi`, `nfs3`, `nfs4` or `nvme-tcp`.
    pub protocol: String,
    /// Program that served the disks.
    pub server: String,
    /// Version that the server reported.
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

/// Tier that was served on the load-driving host, in front of the datastore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServedTier {
    /// Storage of the cache, as given by the user.
    pub datastore: String,
    /// Description of the storage in one line.
    pub summary: String,
    /// Mode of the tier. With `through`, a write is answered once the datastore has it; with
    /// `back`, once the tier's log has it.
    pub mode: String,
    /// Capacity for pages and logs together, in bytes.
    pub size_bytes: u64,
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// Share of the capacity for logs, in percent.
    pub log_percent: u8,
    /// Eviction policy of pages.
    pub policy: String,
    /// Number of the access at which a page is admitted, from 1.
    pub admission: u8,
}

impl TargetFacts {
    /// Returns true if storage and hosts were modelled, and nothing was measured.
    pub fn is_simulated(&self) -> bool {
        self.kind == SIMULATED
    }

    /// Returns the name of the target for the sentence of an answer. The name tells a model from
    /// measured storage.
    pub fn subject(&self) -> &'static str {
        if self.is_simulated() { "this simulated array" } else { "this datastore" }
    }
}

/// Kind of a target that is a model of storage and hosts, run in virtual time.
pub const SIMULATED: &str = "simulated";

/// Tile that the run used as load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TileFacts {
    /// Name of the tile.
    pub name: String,
    /// SHA-256 of the resolved definition, in hexadecimal. Tiles with equal hashes make equal load.
    pub sha256: String,
    /// Number of virtual machines in one tile.
    pub vms: u32,
    /// Number of workloads in one tile; each copy is counted.
    pub workloads: u32,
    /// Bytes of virtual disks in one tile, after scaling.
    pub disk_bytes: u64,
    /// Infrastructure operations that ran beside the tiles; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationsFacts>,
    /// Names of the services that the workloads call; empty if they call none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// Existing virtual machines from which the tile was made; absent for other tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estate: Option<EstateFacts>,
}

/// Infrastructure operations that ran beside the tiles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationsFacts {
    /// Name of the operations group in the plan.
    pub name: String,
    /// SHA-256 of the resolved definitions, in hexadecimal.
    pub sha256: String,
    /// Bytes of the operations' disks, after scaling. These disks exist once, at any number of
    /// tiles.
    pub disk_bytes: u64,
}

/// Scale factors of the tile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScaleFacts {
    /// Factor applied to disk sizes; 1 is full size.
    pub footprint: f64,
    /// Factor applied to schedule times (bursts, phases, drift); 1 is real time.
    pub time: f64,
}

/// Steps with another disk size than the run's own steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resized {
    /// True if these steps were the search, and the run's own steps confirmed its result with
    /// larger disks. False if these steps had the larger disks, and decided nothing.
    pub is_search: bool,
    /// Factor applied to disk sizes in these steps.
    pub footprint: f64,
    /// Bytes of one tile's disks.
    pub tile_bytes: u64,
    /// Largest number of tiles at which the search found all limits met.
    pub held: u32,
    /// Smallest number of tiles above `held` that failed.
    pub failed: u32,
    /// Steps in the order in which they ran. Their step numbers are not used by the run's own
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
    /// Maximum number of I/Os in flight per worker.
    pub depth: u32,
    /// True if I/O went through the page cache.
    pub buffered: bool,
    /// True if every block was stamped when written and verified when read.
    pub verify: bool,
    /// Width of a time slice of the series, in nanoseconds.
    pub slice_ns: u64,
}

/// One value of the resolved plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanValue {
    /// Key in the plan: `measure.duration`.
    pub key: String,
    /// The value as the plan writes it.
    pub value: serde_json::Value,
    /// Origin of the value.
    pub origin: Origin,
}

/// Origin of a plan value. Each origin overrides the ones after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Option of the command line.
    Flag,
    /// Environment variable.
    Env,
    /// Plan file.
    Plan,
    /// `config.toml` of the user.
    Config,
    /// Default of the profile.
    Profile,
    /// Built-in default.
    Default,
}

/// Filling of the disks. First writes and rewrites differ on thin storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prefill {
    /// Bytes that were written once.
    pub bytes: u64,
    /// First write of the disks; null if they had been written before.
    pub first_write: Option<RateFacts>,
    /// Second write of a part of the disks; null if it was not measured.
    pub rewrite: Option<RateFacts>,
    /// Bytes of disks that an earlier run had filled.
    #[serde(default)]
    pub prepared_before_bytes: u64,
    /// Reason why `first_write` is null, if one is known: `prepared before`.
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
