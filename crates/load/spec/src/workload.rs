//! A workload: virtual machines with disks, groups of users, and the dialogues they hold.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BlockSize, Bytes, Nanos, Rate, Ratio};

pub use crate::endpoint::{Endpoint, Protocol};
pub use crate::operation::{
    CHECK_BLOCKS, CHECK_SIZE, Compare, Destroy, Link, MOVE_STAGES, Move, SNAPSHOT_STAGES, Snapshot,
};
use crate::operation::{copy_outstanding, copy_size};
use crate::replay::Replay;

/// One application: its VMs, its users, its actions and what its users tolerate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Short name, lower case, unique in a tile.
    pub name: String,
    /// One line a person reads in lists.
    pub title: String,
    /// Where the numbers come from, or that they are our choice and why.
    pub source: String,
    /// What one unit of its work is, and how it is scored.
    pub metric: Metric,
    /// Whether CPU steps are waited for or really burnt.
    #[serde(default)]
    pub cpu: CpuMode,
    /// What writes contain, where a step does not say otherwise.
    #[serde(default)]
    pub data: DataPattern,
    /// Services that its users call. What answers, the plan or the command line says.
    #[serde(rename = "endpoint", default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
    /// Virtual machines, in a fixed order.
    #[serde(rename = "vm")]
    pub vms: Vec<Vm>,
    /// Groups of users.
    #[serde(rename = "users", default)]
    pub groups: Vec<UserGroup>,
    /// What users do.
    #[serde(rename = "action", default)]
    pub actions: Vec<Action>,
    /// Quality-of-service limits. No limits means the workload cannot fail.
    #[serde(rename = "limit", default)]
    pub limits: Vec<Limit>,
    /// A recorded load that is played back, instead of users and actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// A virtual machine. It may have no disk (a front end) and no users (a database).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vm {
    /// Unique in the workload.
    pub name: String,
    /// Virtual CPUs, for information and for the host model.
    #[serde(default = "one")]
    pub vcpus: u32,
    /// Its virtual disks.
    #[serde(rename = "disk", default)]
    pub disks: Vec<Disk>,
}

fn one() -> u32 {
    1
}

/// A virtual disk: one file of a datastore, or a part of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Disk {
    /// Unique in the workload (not only in the VM): steps refer to it.
    pub name: String,
    /// Full size; the plan's footprint scale multiplies it.
    pub size: Bytes,
    /// What it holds.
    #[serde(default)]
    pub role: Role,
    /// On which datastore of the run it lies (default the first).
    #[serde(default, skip_serializing_if = "On::is_first")]
    pub on: On,
    /// Where the size comes from, if not from the workload's source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A datastore of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    /// The one that is named first.
    #[default]
    First,
    /// The second one (`--second`); the first, in a run that has no other.
    Second,
}

impl On {
    /// Whether it is the first.
    pub const fn is_first(&self) -> bool {
        matches!(self, Self::First)
    }
}

/// What a disk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Tables, mailboxes, objects.
    #[default]
    Data,
    /// A log: appended and flushed.
    Log,
    /// Operating system and swap.
    Os,
    /// Many files.
    Files,
}

/// Whether CPU steps are waited for or really burnt.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum CpuMode {
    /// A CPU step is a delay of its length.
    #[default]
    Delay,
    /// A CPU step keeps a core busy for its length.
    Burn,
}

/// How well written data compresses and deduplicates.
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
    /// Unique in the workload.
    pub name: String,
    /// The VM they sit in front of; CPU steps and the group's actions are counted there.
    pub vm: String,
    /// How they arrive.
    pub load: Load,
    /// Which actions they do, by weight; overrides the actions' own weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<IndexMap<String, f64>>,
    /// When they are active; always, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Times with another mix.
    #[serde(rename = "phase", default)]
    pub phases: Vec<Phase>,
}

/// How work arrives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Load {
    /// A fixed number of users, each waiting for its answer and then thinking.
    Closed {
        /// Users at the same time.
        users: u32,
        /// Time between an answer and the next action (default none).
        #[serde(default)]
        think: Time,
    },
    /// Users that together keep up a rate: a late action is made up for, up to a bound.
    /// Response time counts from the intended start.
    Paced {
        /// Users at the same time; each has one action under way at most.
        users: u32,
        /// Actions of the whole group.
        rate: Rate,
        /// Intended starts a user may be behind before further ones are dropped (default 10).
        #[serde(default = "ten")]
        backlog: u32,
    },
    /// Arrivals that do not wait for anyone (Poisson, or in bursts).
    Open {
        /// Mean arrival rate.
        rate: Rate,
        /// Actions under way at most; arrivals beyond wait in line, and are dropped when
        /// as many again are waiting (default 1024).
        #[serde(default = "open_limit")]
        outstanding_max: u32,
        /// Gaps between arrivals by weight (`{ "5us" = 60, "20ms" = 40 }`): each gap is
        /// exponential with one of these means, and all of them are scaled so that `rate` holds.
        /// Poisson, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gaps: Option<IndexMap<String, f64>>,
        /// Times of higher rates; where two fall together the one listed first holds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bursts: Vec<Burst>,
    },
}

/// A time of a higher rate that comes back: once in every `length / time`, at a random moment of
/// it. The group's rate stays what it is: what comes in bursts does not come between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Burst {
    /// Share of the arrivals that come in these bursts.
    pub io: Ratio,
    /// Share of the time that these bursts take, of what entries before leave.
    pub time: Ratio,
    /// How long one of them is, 10 ms or more; multiplied by the plan's time scale.
    pub length: Nanos,
    /// Gaps between arrivals by weight, as those of the load; these, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<IndexMap<String, f64>>,
}

fn ten() -> u32 {
    10
}

fn open_limit() -> u32 {
    1024
}

// Read by hand (see `forms`), so that a mistake in either form gets that form's message.
/// A time, fixed or random.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", untagged)]
pub enum Time {
    /// Always the same: `"3ms"`.
    Fixed(Nanos),
    /// Random: `{ exponential = "3ms" }` or `{ uniform = ["1ms", "5ms"] }`.
    Random(RandomTime),
}

impl Default for Time {
    fn default() -> Self {
        Self::Fixed(Nanos::ZERO)
    }
}

/// A random time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RandomTime {
    /// Exponential with this mean.
    Exponential(Nanos),
    /// Uniform between two bounds.
    Uniform(Nanos, Nanos),
}

/// When a group is active. All times are multiplied by the plan's time scale.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// First start, from the beginning of the step (default 0).
    #[serde(default)]
    pub start: Nanos,
    /// How long it stays active (default: to the end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Nanos>,
    /// Repeats with this period, if given ("3 minutes of load in every 5").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
}

/// A time with another mix. Times are multiplied by the plan's time scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Phase {
    /// When it holds.
    pub schedule: Schedule,
    /// Actions by weight while it holds.
    pub mix: IndexMap<String, f64>,
}

/// A dialogue a user holds with the storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Action {
    /// Unique in the workload.
    pub name: String,
    /// How often, relative to the other actions (default 1).
    #[serde(default = "weight_one")]
    pub weight: f64,
    /// Steps, one after another.
    pub steps: Vec<Step>,
}

impl Action {
    /// Its name and those of its stages, as results have them.
    pub fn names(&self) -> Vec<String> {
        std::iter::once(self.name.clone()).chain(self.stages()).collect()
    }

    /// The names of its stages in results, in the order of the steps.
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

/// One step of a dialogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Reads, each waiting for the one before.
    Read(Access),
    /// Writes, each waiting for the one before.
    Write(Access),
    /// Writes at the end of a log that wraps around the disk.
    Append(Append),
    /// Makes a disk's acknowledged writes durable.
    Flush(Flush),
    /// Calls to an endpoint, each waiting for the one before.
    Call(Call),
    /// CPU work.
    Cpu(Time),
    /// A pause that is not work (a person reads a page).
    Wait(Time),
    /// All of these at once; the next step waits for all.
    Parallel(Vec<Step>),
    /// The same steps several times.
    Repeat(Repeat),
    /// A whole disk copied onto another, with several large I/Os at once.
    Copy(Copy),
    /// Steps that are a part of the action with times of its own: `copying` of `deploy` is found
    /// in results as the action `deploy/copying`.
    Stage(Stage),
    /// A disk of a running virtual machine moved elsewhere, under its load. Only in operations
    /// that run beside tiles.
    Move(Move),
    /// A disk that becomes what another one holds, by sharing its blocks.
    Link(Link),
    /// A disk whose space is given back, and taken again as it is written.
    Destroy(Destroy),
    /// Places of a disk compared with the same places of the disk of which it is a copy.
    Check(Compare),
    /// A snapshot of a disk of a running virtual machine, kept for a while and deleted. Only in
    /// operations that run beside tiles.
    Snapshot(Snapshot),
}

/// Reads or writes at chosen addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Access {
    /// A disk of this workload.
    pub disk: String,
    /// Block sizes.
    pub size: Size,
    /// Where (default uniform over the disk).
    #[serde(default)]
    pub address: Address,
    /// How many, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-read` or `<disk>-write`. A kind is one direction on
    /// one disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; the workload's, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that are durable before they are answered (FUA; none, if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Ratio>,
}

/// Writes at the end of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Append {
    /// A disk of this workload.
    pub disk: String,
    /// Block sizes.
    pub size: Size,
    /// How many, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-append`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; the workload's, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that are durable before they are answered (FUA; none, if absent).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durable: Option<Ratio>,
}

/// A flush of one disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Flush {
    /// A disk of this workload.
    pub disk: String,
    /// Name for limits; default `<disk>-flush`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Calls to a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Call {
    /// An endpoint of this workload.
    pub endpoint: String,
    /// Bytes of the answer at most, 1 B to 16 MiB: a longer one has failed, and a modelled service
    /// answers with so many.
    pub size: Bytes,
    /// What the service is asked, in the words of its protocol; of `http` a path below that of the
    /// address, such as `items?page=2` (default: only the address).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// How many, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<endpoint>-call`. A kind of call has one endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A whole disk copied onto another. What is written is made by the generator, as all content is:
/// reads and writes are those of a copy, bytes are not carried over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copy {
    /// A disk of this workload, which is read from its beginning to its end.
    pub from: String,
    /// Another disk of this workload and of the same size, which is written.
    pub to: String,
    /// Bytes of one read and of the write that follows it (default 1 MiB, our choice).
    #[serde(default = "copy_size")]
    pub size: BlockSize,
    /// Reads and writes under way at most, 1 to 64 (default 16, our choice).
    #[serde(default = "copy_outstanding")]
    pub outstanding: u32,
}

/// A part of an action with times of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Unique in its action.
    pub name: String,
    /// Steps, one after another.
    pub steps: Vec<Step>,
}

/// What a stage of an action is called in results.
pub fn stage_name(action: &str, stage: &str) -> String {
    format!("{action}/{stage}")
}

/// The same steps several times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Repeat {
    /// How many times, at least 1.
    pub times: u32,
    /// What is repeated.
    pub steps: Vec<Step>,
}

// Read by hand (see `forms`), as a time is.
/// Block sizes: one, or several by weight (`{ "8k" = 90, "32k" = 10 }`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Size {
    /// Always this one.
    Fixed(BlockSize),
    /// By weight. Keys are block sizes as text; they are checked when the file is loaded.
    Mix(IndexMap<String, f64>),
}

/// Where on the disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Address {
    /// Every block alike.
    #[default]
    Uniform,
    /// Popularity falls with rank to the power of `exponent`; ranks are scattered.
    Zipf(Zipf),
    /// Hot spots: shares of I/O on shares of the space, the rest uniform over the rest.
    Hot(Vec<HotSpot>),
    /// One after another, wrapping around.
    Sequential(Sequential),
    /// Partly random, partly one after another.
    Mixed(Mixed),
    /// A working set that moves slowly over the disk.
    Drift(Drift),
    /// The hierarchical-reuse random walk of SPC-1-like loads.
    ReuseWalk(ReuseWalk),
    /// Runs that begin at what was touched lately, or anywhere else.
    Reuse(Reuse),
    /// Any of the above, inside a part of the disk.
    Within(Box<Within>),
}

/// Zipf popularity (Gray et al. 1994, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zipf {
    /// 0 is uniform, about 1 is web-like; 0 to 3.
    pub exponent: f64,
}

/// `io` of the I/O goes to `space` of the disk; spots lie one after another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotSpot {
    /// Share of the I/O.
    pub io: Ratio,
    /// Share of the disk.
    pub space: Ratio,
}

/// Sequential streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sequential {
    /// Streams at equal distances, used in turn (default 1).
    #[serde(default = "one")]
    pub streams: u32,
}

/// Partly random, partly sequential (one stream).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mixed {
    /// Share of I/Os at a uniform random address; the rest follow the I/O before.
    pub random: Ratio,
}

/// A drifting working set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Drift {
    /// Size of the working set, as a share of the disk.
    pub working_set: Ratio,
    /// Share of I/O inside it (default 100 %); the rest is uniform over the disk.
    #[serde(default = "all")]
    pub inside: Ratio,
    /// Time in which it moves by its own length (scaled by the time scale).
    pub turnover: Nanos,
}

fn all() -> Ratio {
    Ratio::ONE
}

/// Hierarchical-reuse random walk; see the `workload` crate for the parameters' source.
///
/// A write of the walk may go to the block that was last read, so reads and writes that walk
/// the same part of the same disk (the same [`Within`]) share one walk.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReuseWalk {}

/// Runs that begin at what was touched lately, as far back as a miss-ratio curve says, or
/// anywhere else: the LRU stack model (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques
/// for storage hierarchies", IBM Systems Journal 9(2), 1970; Spirn 1976).
///
/// All steps with such an address in the same part of the same disk share one memory of what was
/// touched, if they have the same `page`: what one writes, another reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reuse {
    /// Share of I/Os that begin where the one before of their direction ended (default 0 %).
    #[serde(default)]
    pub sequential: Ratio,
    /// How many of these follow each other on average, 1 or more: few long runs among many single
    /// I/Os. A run that began at what was touched begins where a run was, and ends where what was
    /// touched ends, which makes it shorter and `sequential` smaller than it says. If absent, each I/O is sequential or not whatever the one before was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// Whether all I/Os of a run have the size of its first one, and end it by the chances of the step
    /// that began it, whichever steps they are of (default false). Large blocks then come in runs
    /// while small ones jump, although both are steps of one mix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_size: bool,
    /// Where the other I/Os go; what is left of them goes anywhere.
    #[serde(default)]
    pub again: Vec<Again>,
    /// Unit in which data is remembered, a power of two from 4 KiB to 1 MiB (default 64 KiB):
    /// about 60 B of memory for each unit within the largest `within`.
    #[serde(default = "reuse_page")]
    pub page: BlockSize,
    /// Places that do not begin on a multiple of 4 KiB (default none). Then a sequential I/O
    /// begins exactly where the one before ended, whatever its size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misaligned: Vec<Misaligned>,
}

fn reuse_page() -> BlockSize {
    BlockSize::new(Bytes::new(64 << 10)).expect("a multiple of 512 B")
}

/// `io` of the I/Os that are not sequential come back to what was last touched while different
/// data of the size `within` was touched since, and not within the entry before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Again {
    /// Share of the I/Os that are not sequential.
    pub io: Ratio,
    /// Size of the data touched last, as a share of the disk; larger than the entry before.
    pub within: Ratio,
}

/// `io` of the places that are not sequential begin `by` behind a multiple of 4 KiB: always the
/// same place for the same page, so that what comes back to data comes back to all of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Misaligned {
    /// Share of the places.
    pub io: Ratio,
    /// 512 B to 3.5 KiB, a multiple of 512 B.
    pub by: BlockSize,
}

/// A part of the disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Within {
    /// Where it begins.
    pub start: Ratio,
    /// How long it is; start and length together at most 100 %.
    pub length: Ratio,
    /// The distribution inside.
    pub address: Address,
}

/// One unit of work and how it is normalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metric {
    /// Printed after the number: `"orders/min"`, `"users"`, `"MiB/s"`.
    pub unit: String,
    /// What is counted.
    pub count: Counted,
    /// Only these actions, or (for I/O) only these kinds; all, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<String>>,
    /// Per this time (default 1 s).
    #[serde(default = "second")]
    pub per: Nanos,
    /// The count is divided by this (default 1): 0.5 for "users of 0.5 IOPS each",
    /// 1048576 for MiB.
    #[serde(default = "weight_one")]
    pub divide_by: f64,
    /// The value that counts as one tile's worth, in `unit`; if absent, what the workload
    /// reaches on ideal storage (zero service time, in virtual time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
}

fn second() -> Nanos {
    Nanos::SECOND
}

/// What a metric counts. `none`: the workload is load only and has no part in the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Finished actions.
    Actions,
    /// Finished I/Os.
    Io,
    /// Bytes moved.
    Bytes,
    /// Nothing (a standby server).
    None,
}

/// A quality-of-service limit: exactly one of `action`, `io` and `call`, exactly one statistic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// An action's response time (from its intended start).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// A kind of I/O, by service time (submitted to done).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    /// A kind of call, by service time (made to answered).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Percentile held against `limit`, above 0 and below 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Limit for the percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
    /// Limit for the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Nanos>,
    /// Limit for the maximum, which is told and never decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
    /// Where the limit comes from.
    pub source: String,
}
