//! A workload: virtual machines with disks, groups of users, and their dialogues.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BlockSize, Bytes, Nanos, Rate, Ratio};

pub use crate::application::{Application, ApplicationKind};
pub use crate::endpoint::{Endpoint, Protocol};
pub use crate::operation::{
    CHECK_BLOCKS, CHECK_SIZE, Compare, Destroy, Link, MOVE_STAGES, Move, SNAPSHOT_STAGES, Snapshot,
};
use crate::operation::{copy_outstanding, copy_size};
use crate::replay::Replay;

/// Definition of one application: its VMs, its users, their actions, and limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Short name, lower case, unique in a tile.
    pub name: String,
    /// Title in lists, one line.
    pub title: String,
    /// Source of the numbers, or the reason for our choice.
    pub source: String,
    /// Measure of its work, for the score.
    pub metric: Metric,
    /// Execution of CPU steps: as delays or by burning.
    #[serde(default)]
    pub cpu: CpuMode,
    /// Content of writes, unless a step specifies another.
    #[serde(default)]
    pub data: DataPattern,
    /// Services that the users call. The plan or the command line assigns a service or a model to
    /// each.
    #[serde(rename = "endpoint", default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
    /// Real application that answers the calls, if the run starts one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Virtual machines, in a fixed order.
    #[serde(rename = "vm")]
    pub vms: Vec<Vm>,
    /// Groups of users that behave alike.
    #[serde(rename = "users", default)]
    pub groups: Vec<UserGroup>,
    /// Actions of the users.
    #[serde(rename = "action", default)]
    pub actions: Vec<Action>,
    /// Quality-of-service limits. A workload without limits cannot fail.
    #[serde(rename = "limit", default)]
    pub limits: Vec<Limit>,
    /// A recorded load that is replayed in place of users and actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// A virtual machine. It may have no disk (a front end) and no users (a database).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vm {
    /// Name, unique in the workload.
    pub name: String,
    /// Virtual CPUs, for information and for the host model.
    #[serde(default = "one")]
    pub vcpus: u32,
    /// Virtual disks of the VM.
    #[serde(rename = "disk", default)]
    pub disks: Vec<Disk>,
}

fn one() -> u32 {
    1
}

/// Virtual disk: a file of a datastore, or a part of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Disk {
    /// Name, unique in the workload (not only in the VM), because steps refer to it.
    pub name: String,
    /// Full size. The plan's footprint scales it.
    pub size: Bytes,
    /// Role of the disk.
    #[serde(default)]
    pub role: Role,
    /// Datastore of the run that holds the disk (default the first).
    #[serde(default, skip_serializing_if = "On::is_first")]
    pub on: On,
    /// Source of the size, if it differs from the workload's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A datastore of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// The first datastore.
    #[default]
    First,
    /// The second datastore (`--second`). In a run with only one datastore, the first.
    Second,
}

impl On {
    /// Returns true for the first datastore.
    pub const fn is_first(&self) -> bool {
        matches!(self, Self::First)
    }
}

/// Role of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Data such as tables, mailboxes and objects.
    #[default]
    Data,
    /// A log: appended to and flushed.
    Log,
    /// Operating system and swap.
    Os,
    /// File server content: many files.
    Files,
}

/// Execution of CPU steps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum CpuMode {
    /// A CPU step is a delay of the given length.
    #[default]
    Delay,
    /// A CPU step keeps a core busy for the given length.
    Burn,
}

/// Compressibility and deduplication of written data.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataPattern {
    /// Share of each 4 KiB that a compressor can remove (default 0 %).
    #[serde(default)]
    pub compressible: Ratio,
    /// Share of writes that repeat one of 64 contents (default 0 %).
    #[serde(default)]
    pub dedupable: Ratio,
}

/// Users that behave alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UserGroup {
    /// Name, unique in the workload.
    pub name: String,
    /// VM of the users. CPU steps and the group's actions are attributed to it.
    pub vm: String,
    /// Arrival process of the users' actions.
    pub load: Load,
    /// Weights of actions; overrides the weights in the actions themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<IndexMap<String, f64>>,
    /// Times at which the group is active; always active if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Intervals with a different mix.
    #[serde(rename = "phase", default)]
    pub phases: Vec<Phase>,
}

/// Arrival process of actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Load {
    /// A fixed number of users, each of whom waits for a response and then thinks.
    Closed {
        /// Number of users.
        users: u32,
        /// Think time between a response and the next action (default none).
        #[serde(default)]
        think: Time,
    },
    /// Users that together maintain a rate. A late action is started as soon as possible, unless
    /// the backlog is full. Response times count from the intended start.
    Paced {
        /// Number of users. Each has at most one action in progress.
        users: u32,
        /// Rate of actions of the whole group.
        rate: Rate,
        /// Number of intended starts that a user may lag behind before further ones are dropped
        /// (default 10).
        #[serde(default = "ten")]
        backlog: u32,
    },
    /// Arrivals that do not wait for responses (Poisson, or in bursts).
    Open {
        /// Mean rate of arrivals.
        rate: Rate,
        /// Maximum number of actions in progress. Further arrivals are queued, and dropped when
        /// equally many are already queued (default 1024).
        #[serde(default = "open_limit")]
        outstanding_max: u32,
        /// Interarrival times by weight (`{ "5us" = 60, "20ms" = 40 }`). Each interarrival time is
        /// exponential with one of these means. All of them are scaled to give `rate`. Poisson, if
        /// absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gaps: Option<IndexMap<String, f64>>,
        /// Bursts, which are intervals with higher rates. If two overlap, the one listed first
        /// applies.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bursts: Vec<Burst>,
    },
}

/// Recurring interval with a higher rate. It occurs once in every `length / time`, at a random
/// moment of this period. The mean rate of the group stays the same, because the rate between
/// bursts is reduced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Burst {
    /// Share of the arrivals that fall into these bursts.
    pub io: Ratio,
    /// Share of time that these bursts take, relative to the time that earlier entries leave.
    pub time: Ratio,
    /// Duration of a burst, 10 ms or more. The plan's time scale is applied to it.
    pub length: Nanos,
    /// Interarrival times by weight, in the form of the load's; if absent, the load's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<IndexMap<String, f64>>,
}

fn ten() -> u32 {
    10
}

fn open_limit() -> u32 {
    1024
}

// Read by hand (see `forms`), so that a mistake in either form gets the message of that form.
/// A fixed or random time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", untagged)]
pub enum Time {
    /// A constant time: `"3ms"`.
    Fixed(Nanos),
    /// A random time: `{ exponential = "3ms" }` or `{ uniform = ["1ms", "5ms"] }`.
    Random(RandomTime),
}

impl Default for Time {
    fn default() -> Self {
        Self::Fixed(Nanos::ZERO)
    }
}

/// Distribution of a random time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RandomTime {
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Uniform between two bounds.
    Uniform(Nanos, Nanos),
}

/// Times at which a group is active. The plan's time scale is applied to all of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// First start, since the beginning of the step (default 0).
    #[serde(default)]
    pub start: Nanos,
    /// Duration of each active interval (default: to the end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Nanos>,
    /// Period of repetition, if the schedule repeats ("3 minutes of load in every 5").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
}

/// Interval with a different mix. The plan's time scale is applied to its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Phase {
    /// Times at which the mix applies.
    pub schedule: Schedule,
    /// Weights of actions while the mix applies.
    pub mix: IndexMap<String, f64>,
}

/// A dialogue of a user with the storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Action {
    /// Name, unique in the workload.
    pub name: String,
    /// Frequency relative to the other actions (default 1).
    #[serde(default = "weight_one")]
    pub weight: f64,
    /// Steps, one after another.
    pub steps: Vec<Step>,
}

impl Action {
    /// Returns the names that the action and its stages have in results, the action first.
    pub fn names(&self) -> Vec<String> {
        std::iter::once(self.name.clone()).chain(self.stages()).collect()
    }

    /// Returns the names that the action's stages have in results, in step order.
    pub fn stages(&self) -> Vec<String> {
        let mut names = Vec::new();
        stages_of(&self.steps, &mut |own| names.push(stage_name(&self.name, own)));
        names
    }
}

fn stages_of<'a>(steps: &'a [Step], each: &mut impl FnMut(&'a str)) {
    for step in steps {
        match step {
            Step::Stage(stage) => each(&stage.name),
            Step::Move(_) => MOVE_STAGES.into_iter().for_each(&mut *each),
            Step::Snapshot(_) => SNAPSHOT_STAGES.into_iter().for_each(&mut *each),
            _ => {}
        }
    }
}

fn weight_one() -> f64 {
    1.0
}

/// A step of a dialogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Reads, each of which waits for the previous one.
    Read(Access),
    /// Writes, each of which waits for the previous one.
    Write(Access),
    /// Writes at the end of a log that wraps around the disk.
    Append(Append),
    /// Makes a disk's acknowledged writes durable.
    Flush(Flush),
    /// Calls to an endpoint, each of which waits for the previous one.
    Call(Call),
    /// Work of a CPU.
    Cpu(Time),
    /// A pause without work (a person reads a page).
    Wait(Time),
    /// Steps that run in parallel; the next step waits for all.
    Parallel(Vec<Step>),
    /// Steps that are repeated.
    Repeat(Repeat),
    /// Steps that one user takes for all who wait for the same log (group commit).
    Commit(Commit),
    /// Copies a whole disk onto another, with several large I/Os at once.
    Copy(Copy),
    /// Steps that form a separately timed part of the action: `copying` of `deploy` appears in
    /// results as the action `deploy/copying`.
    Stage(Stage),
    /// Moves a disk of a running virtual machine while it is under load. Only in operations that
    /// run beside tiles.
    Move(Move),
    /// Gives a disk the content of another disk by sharing its blocks.
    Link(Link),
    /// Frees the space of a disk. It is allocated again when it is written.
    Destroy(Destroy),
    /// Compares blocks of a disk with the same blocks of its original.
    Check(Compare),
    /// Makes a snapshot of a disk of a running virtual machine, keeps it for a while and deletes
    /// it. Only in operations that run beside tiles.
    Snapshot(Snapshot),
}

/// Reads or writes at chosen addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Access {
    /// Name of a disk of this workload.
    pub disk: String,
    /// Block sizes of the accesses.
    pub size: Size,
    /// Distribution of addresses on the disk (default uniform over the disk).
    #[serde(default)]
    pub address: Address,
    /// Number of accesses, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-read` or `<disk>-write`. A kind is one direction on
    /// one disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; if absent, the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that must be durable before they complete (FUA); if absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Ratio>,
}

/// Writes at the end of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Append {
    /// Name of a disk of this workload.
    pub disk: String,
    /// Block sizes of the writes.
    pub size: Size,
    /// Number of writes, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-append`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; if absent, the workload's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that must be durable before they complete (FUA); if absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Ratio>,
}

/// A flush of one disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flush {
    /// Name of a disk of this workload.
    pub disk: String,
    /// Name for limits; default `<disk>-flush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Calls to a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Call {
    /// Name of an endpoint of this workload.
    pub endpoint: String,
    /// Maximum size of the answer, 1 B to 16 MiB. A larger answer is an error, and a modelled
    /// service answers with exactly this size.
    pub size: Bytes,
    /// Request to the service, in the syntax of its protocol. For `http` a path below the address,
    /// such as `items?page=2` (default: only the address), or `POST items 65536`: a path and the
    /// size of a generated body. For `smtp` a mail, such as `u1 u17,u204 3900`: sender, recipients
    /// and bytes of text. For `imap` a session of a mailbox, such as `u17 read=7 move=1 delete=3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Number of calls, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<endpoint>-call`. A kind of call belongs to one endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Copy of a whole disk onto another. Reads and writes are as in a copy, but the written content is
/// generated, as for all writes, and not the content that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copy {
    /// Name of a disk of this workload, which is read completely.
    pub from: String,
    /// Name of another disk of this workload with the same size, which is written.
    pub to: String,
    /// Size of one read and of the write that follows it (default 1 MiB, our choice).
    #[serde(default = "copy_size")]
    pub size: BlockSize,
    /// Maximum number of outstanding reads and writes, 1 to 64 (default 16, our choice).
    #[serde(default = "copy_outstanding")]
    pub outstanding: u32,
}

/// Separately timed part of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Name, unique in its action.
    pub name: String,
    /// Steps, one after another.
    pub steps: Vec<Step>,
}

/// Returns the name of an action's stage in results.
pub fn stage_name(action: &str, stage: &str) -> String {
    format!("{action}/{stage}")
}

/// Group commit, as databases and journaling file systems do it. One user at a time takes the steps.
/// Users who come meanwhile wait. When the steps are done, the first of them takes its own steps for
/// all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Commit {
    /// Name of the log. Steps with the same name in this workload wait for each other.
    pub log: String,
    /// Steps, at least one of them an I/O or a call.
    pub steps: Vec<Step>,
}

/// Steps that are repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Repeat {
    /// Number of repetitions, at least 1.
    pub times: u32,
    /// Steps that are repeated.
    pub steps: Vec<Step>,
}

// Read by hand (see `forms`), like a time.
/// Block sizes: one, or several by weight (`{ "8k" = 90, "32k" = 10 }`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Size {
    /// A constant block size.
    Fixed(BlockSize),
    /// Block sizes by weight. Keys are block sizes as text; they are checked when the file is
    /// loaded.
    Mix(IndexMap<String, f64>),
}

/// Distribution of addresses on the disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// All blocks with equal probability.
    #[default]
    Uniform,
    /// Popularity decreases with the rank to the power of `exponent`. Ranks are scattered over the
    /// disk.
    Zipf(Zipf),
    /// Hot spots: each gets a share of the I/O on a share of the space. The rest is uniform over
    /// the rest.
    Hot(Vec<HotSpot>),
    /// Sequential addresses that wrap around.
    Sequential(Sequential),
    /// Partly random, partly sequential addresses.
    Mixed(Mixed),
    /// Working set that moves slowly over the disk.
    Drift(Drift),
    /// The hierarchical-reuse random walk of SPC-1-like loads.
    ReuseWalk(ReuseWalk),
    /// Runs of sequential I/Os that start at recently touched data, or anywhere else.
    Reuse(Reuse),
    /// Any of the other distributions, within a part of the disk.
    Within(Box<Within>),
}

/// Zipf popularity (Gray et al. 1994, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zipf {
    /// Exponent: 0 is uniform, about 1 is web-like; 0 to 3.
    pub exponent: f64,
}

/// Hot spot: a share `io` of the I/O goes to a share `space` of the disk. Spots follow one another
/// on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotSpot {
    /// Share of the I/O.
    pub io: Ratio,
    /// Share of the disk.
    pub space: Ratio,
}

/// Addresses of sequential streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sequential {
    /// Number of streams at equal distances, which take turns (default 1).
    #[serde(default = "one")]
    pub streams: u32,
}

/// Partly random, partly sequential addresses in one stream.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mixed {
    /// Share of I/Os at a uniformly random address. The others follow the previous I/O.
    pub random: Ratio,
}

/// A drifting working set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drift {
    /// Size of the working set, as a share of the disk.
    pub working_set: Ratio,
    /// Share of I/O inside the working set (default 100 %). The rest is uniform over the disk.
    #[serde(default = "all")]
    pub inside: Ratio,
    /// Time in which the working set moves by its own length. The plan's time scale is applied to
    /// it.
    pub turnover: Nanos,
}

fn all() -> Ratio {
    Ratio::ONE
}

/// Hierarchical-reuse random walk; see the `workload` crate for the source of the parameters.
///
/// A write of the walk may go to the block that was read last. So reads and writes that walk the
/// same part of the same disk (the same [`Within`]) share one walk.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReuseWalk {}

/// Runs of sequential I/Os that start at recently touched data, at distances given by a miss-ratio
/// curve, or anywhere else. This is the LRU stack model (Mattson, Gecsei, Slutz and Traiger,
/// "Evaluation techniques for storage hierarchies", IBM Systems Journal 9(2), 1970; Spirn 1976).
///
/// All steps with such an address in the same part of the same disk share one record of touched
/// data, if they have the same `page`: one step reads what another writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reuse {
    /// Share of I/Os that start where the last I/O of their direction ended (default 0 %).
    #[serde(default)]
    pub sequential: Ratio,
    /// Mean number of sequential I/Os in a row, 1 or more: few long runs among many single I/Os. A
    /// run that starts at touched data starts where an earlier run was, and ends where the touched
    /// data ends. This makes it shorter, and `sequential` smaller than given. If absent, each I/O
    /// is sequential or not, independent of the previous I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// True if all I/Os of a run have the size of the first one, and the run ends by the
    /// probabilities of the step that started it, whichever steps its I/Os belong to (default
    /// false). Large blocks then come in runs while small ones jump, although both belong to steps
    /// of one mix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_size: bool,
    /// Destinations of the other I/Os. The remaining share goes anywhere.
    #[serde(default)]
    pub again: Vec<Again>,
    /// Unit in which touched data is recorded, a power of two from 4 KiB to 1 MiB (default 64 KiB).
    /// The record takes about 60 B of memory for each unit within the largest `within`.
    #[serde(default = "reuse_page")]
    pub page: BlockSize,
    /// Misaligned places, which do not start at a multiple of 4 KiB (default none). With them, a
    /// sequential I/O starts exactly where the previous one ended, whatever its size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misaligned: Vec<Misaligned>,
}

fn reuse_page() -> BlockSize {
    BlockSize::new(Bytes::new(64 << 10)).expect("a multiple of 512 B")
}

/// Reuse of touched data: a share `io` of the non-sequential I/Os goes to data that was last
/// touched before an amount `within` of other data was touched, but not within the amount of the
/// previous entry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Again {
    /// Share of the non-sequential I/Os.
    pub io: Ratio,
    /// Amount of data touched since, as a share of the disk; larger than in the previous entry.
    pub within: Ratio,
}

/// Misalignment: a share `io` of the non-sequential places starts `by` bytes after a multiple of 4
/// KiB. A page always has the same offset, so that later accesses reach all of its data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Misaligned {
    /// Share of the non-sequential places.
    pub io: Ratio,
    /// Offset of 512 B to 3.5 KiB, a multiple of 512 B.
    pub by: BlockSize,
}

/// Part of the disk, with another distribution inside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Within {
    /// Start of the part, as a share of the disk.
    pub start: Ratio,
    /// Length of the part, as a share of the disk. Start and length together are at most 100 %.
    pub length: Ratio,
    /// Distribution inside the part.
    pub address: Address,
}

/// Unit and normalisation of counted work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metric {
    /// Unit, printed after the number: `"orders/min"`, `"users"`, `"MiB/s"`.
    pub unit: String,
    /// Kind of counted work.
    pub count: Counted,
    /// Names of the actions, or (for I/O) of the kinds, that count; if absent, all count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<String>>,
    /// Interval to which the count refers (default 1 s).
    #[serde(default = "second")]
    pub per: Nanos,
    /// Divisor of the count (default 1): 0.5 for "users of 0.5 IOPS each", 1048576 for MiB.
    #[serde(default = "weight_one")]
    pub divide_by: f64,
    /// Value that counts as one tile's work, in `unit`; if absent, the workload's value on ideal
    /// storage (zero service time, in virtual time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
}

fn second() -> Nanos {
    Nanos::SECOND
}

/// Kind of work that a metric counts. With `none` the workload only generates load, and does not
/// count for the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Number of completed actions.
    Actions,
    /// Number of completed I/Os.
    Io,
    /// Number of bytes transferred.
    Bytes,
    /// Nothing (a standby server).
    None,
}

/// Quality-of-service limit. It has exactly one of `action`, `io` and `call`, and exactly one
/// statistic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// Name of an action whose response time is limited. The response time counts from the intended
    /// start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Name of a kind of I/O whose service time is limited, from submission to completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    /// Name of a kind of call whose service time is limited, from the call to its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Percentile that `limit` applies to, above 0 and below 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Limit of the percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
    /// Limit of the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Nanos>,
    /// Limit of the maximum, which is reported but never decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
    /// Source of the limit.
    pub source: String,
}
