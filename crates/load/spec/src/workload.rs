//! A workload: virtual machines with disks, groups of users, and the dialogues they hold.

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
    /// Source of the numbers, or the reason of our choice.
    pub source: String,
    /// Metric of its work, for the score.
    pub metric: Metric,
    /// Execution of CPU steps: as delays or by burning.
    #[serde(default)]
    pub cpu: CpuMode,
    /// Content of writes, unless a step gives another.
    #[serde(default)]
    pub data: DataPattern,
    /// Services that the users call. The plan or the command line gives the service or model of
    /// each.
    #[serde(rename = "endpoint", default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<Endpoint>,
    /// Real application that answers the calls, if the run makes one.
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
    /// Quality-of-service limits. No limits means the workload cannot fail.
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

/// A virtual disk: one file of a datastore, or a part of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Disk {
    /// Name, unique in the workload (not only in the VM), because steps use it.
    pub name: String,
    /// Full size; the plan's footprint is a factor of it.
    pub size: Bytes,
    /// Role of the disk.
    #[serde(default)]
    pub role: Role,
    /// Datastore of the run on which the disk is (default the first).
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
    /// The second datastore (`--second`); the first, in a run with only one.
    Second,
}

impl On {
    /// True for the first datastore.
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
    /// A log: appended and flushed.
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
    /// A CPU step is a delay of its length.
    #[default]
    Delay,
    /// A CPU step keeps a core busy for its length.
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
    /// VM that the users use; CPU steps and the group's actions are counted there.
    pub vm: String,
    /// Arrival of the users' actions.
    pub load: Load,
    /// Actions by weight; overrides the actions' own weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<IndexMap<String, f64>>,
    /// Times at which the group is active; if absent, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Times with another mix.
    #[serde(rename = "phase", default)]
    pub phases: Vec<Phase>,
}

/// Arrival of actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Load {
    /// A fixed number of users; each waits for its answer and then thinks.
    Closed {
        /// Number of users.
        users: u32,
        /// Time between an answer and the next action (default none).
        #[serde(default)]
        think: Time,
    },
    /// Users that together keep up a rate: a late action is made up for, up to a bound. Response
    /// time counts from the intended start.
    Paced {
        /// Number of users; each has at most one action under way.
        users: u32,
        /// Rate of actions of the whole group.
        rate: Rate,
        /// Number of intended starts that a user may be behind before further ones are dropped
        /// (default 10).
        #[serde(default = "ten")]
        backlog: u32,
    },
    /// Arrivals that do not wait for answers (Poisson, or in bursts).
    Open {
        /// Mean rate of arrivals.
        rate: Rate,
        /// Most actions under way. Further arrivals wait in line, and are dropped when as many are
        /// already waiting (default 1024).
        #[serde(default = "open_limit")]
        outstanding_max: u32,
        /// Gaps between arrivals by weight (`{ "5us" = 60, "20ms" = 40 }`): each gap is
        /// exponential with one of these means, and all of them are scaled so that `rate` holds.
        /// Poisson, if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gaps: Option<IndexMap<String, f64>>,
        /// Times of higher rates; where two overlap, the one listed first counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        bursts: Vec<Burst>,
    },
}

/// A recurring time of a higher rate: once in every `length / time`, at a random moment of it. The
/// group's mean rate stays the same: arrivals in bursts are missing between them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Burst {
    /// Share of the arrivals that come in these bursts.
    pub io: Ratio,
    /// Share of the time that these bursts take, of the time that earlier entries leave.
    pub time: Ratio,
    /// Duration of a burst, 10 ms or more; the plan's time scale is a factor of it.
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

// Read by hand (see `forms`), so that a mistake in either form gets the message of that form.
/// A time, fixed or random.
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

/// Times at which a group is active. The plan's time scale is a factor of all times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Schedule {
    /// First start, from the beginning of the step (default 0).
    #[serde(default)]
    pub start: Nanos,
    /// Duration of each active time (default: to the end).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<Nanos>,
    /// Repeats with this period, if given ("3 minutes of load in every 5").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
}

/// A time with another mix. The plan's time scale is a factor of its times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Phase {
    /// Times at which the mix holds.
    pub schedule: Schedule,
    /// Actions by weight while it holds.
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
    /// Names of the action and of its stages, as in results.
    pub fn names(&self) -> Vec<String> {
        std::iter::once(self.name.clone()).chain(self.stages()).collect()
    }

    /// Names of the stages in results, in the order of the steps.
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
    /// Reads; each waits for the one before.
    Read(Access),
    /// Writes; each waits for the one before.
    Write(Access),
    /// Writes at the end of a log that wraps around the disk.
    Append(Append),
    /// Makes a disk's acknowledged writes durable.
    Flush(Flush),
    /// Calls to an endpoint; each waits for the one before.
    Call(Call),
    /// Work of a processor.
    Cpu(Time),
    /// A pause that is not work (a person reads a page).
    Wait(Time),
    /// Steps that run in parallel; the next step waits for all.
    Parallel(Vec<Step>),
    /// Steps that are repeated.
    Repeat(Repeat),
    /// A whole disk copied onto another, with several large I/Os at once.
    Copy(Copy),
    /// Steps that form a part of the action with times of its own: `copying` of `deploy` appears in
    /// results as the action `deploy/copying`.
    Stage(Stage),
    /// Moves a disk of a running virtual machine, under its load. Only in operations that run
    /// beside tiles.
    Move(Move),
    /// Gives a disk the content of another one, by sharing its blocks.
    Link(Link),
    /// Frees the space of a disk, which is allocated again as it is written.
    Destroy(Destroy),
    /// Compares places of a disk with the same places of its original.
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
    /// Addresses on the disk (default uniform over the disk).
    #[serde(default)]
    pub address: Address,
    /// Number of accesses, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-read` or `<disk>-write`. A kind is one direction on
    /// one disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; if absent, that of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that are durable before they are answered (FUA; if absent, none).
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
    /// Number of accesses, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<disk>-append`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Content of writes; if absent, that of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataPattern>,
    /// Share of writes that are durable before they are answered (FUA; if absent, none).
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
    /// Most bytes of the answer, 1 B to 16 MiB: a longer answer is an error, and a modelled service
    /// answers with this many.
    pub size: Bytes,
    /// Request to the service, in the words of its protocol. For `http` a path below that of the
    /// address, such as `items?page=2` (default: only the address), or `POST items 65536`: a path
    /// and the bytes of a made body. For `smtp` a mail, such as
    /// `u1 u17,u204 3900`: sender, recipients and bytes of text. For `imap` a session of a mailbox,
    /// such as `u17 read=7 move=1 delete=3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Number of accesses, one after another (default 1).
    #[serde(default = "one")]
    pub count: u32,
    /// Name for limits; default `<endpoint>-call`. A kind of call has one endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A copy of a whole disk onto another. The generator makes the written content, as for all writes:
/// reads and writes are those of a copy, but bytes are not carried over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Copy {
    /// Name of a disk of this workload, which is read from beginning to end.
    pub from: String,
    /// Name of another disk of this workload with the same size, which is written.
    pub to: String,
    /// Bytes of one read and of the write that follows it (default 1 MiB, our choice).
    #[serde(default = "copy_size")]
    pub size: BlockSize,
    /// Most reads and writes under way, 1 to 64 (default 16, our choice).
    #[serde(default = "copy_outstanding")]
    pub outstanding: u32,
}

/// A part of an action with times of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stage {
    /// Name, unique in its action.
    pub name: String,
    /// Steps, one after another.
    pub steps: Vec<Step>,
}

/// Name of an action's stage in results.
pub fn stage_name(action: &str, stage: &str) -> String {
    format!("{action}/{stage}")
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
    /// Popularity that falls with the rank to the power of `exponent`; ranks are scattered.
    Zipf(Zipf),
    /// Hot spots: shares of I/O on shares of the space, the rest uniform over the rest.
    Hot(Vec<HotSpot>),
    /// Sequential addresses that wrap around.
    Sequential(Sequential),
    /// Partly random, partly sequential addresses.
    Mixed(Mixed),
    /// A working set that moves slowly over the disk.
    Drift(Drift),
    /// The hierarchical-reuse random walk of SPC-1-like loads.
    ReuseWalk(ReuseWalk),
    /// Runs that begin at recently touched data, or anywhere else.
    Reuse(Reuse),
    /// Any of the above, inside a part of the disk.
    Within(Box<Within>),
}

/// Zipf popularity (Gray et al. 1994, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Zipf {
    /// Exponent: 0 is uniform, about 1 is web-like; 0 to 3.
    pub exponent: f64,
}

/// A share `io` of the I/O goes to a share `space` of the disk; spots lie one after another.
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
    /// Number of streams at equal distances, used in turn (default 1).
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
    /// Time in which it moves by its own length (the time scale is a factor of it).
    pub turnover: Nanos,
}

fn all() -> Ratio {
    Ratio::ONE
}

/// Hierarchical-reuse random walk; see the `workload` crate for the parameters' source.
///
/// A write of the walk may go to the block that was read last. So reads and writes that walk the
/// same part of the same disk (the same [`Within`]) share one walk.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReuseWalk {}

/// Runs that begin at recently touched data, at distances given by a miss-ratio curve, or anywhere
/// else: the LRU stack model (Mattson, Gecsei, Slutz and Traiger, "Evaluation techniques for
/// storage hierarchies", IBM Systems Journal 9(2), 1970; Spirn 1976).
///
/// All steps with such an address in the same part of the same disk share one memory of touched
/// data, if they have the same `page`: what one step writes, another reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reuse {
    /// Share of I/Os that begin where the last I/O of their direction ended (default 0 %).
    #[serde(default)]
    pub sequential: Ratio,
    /// Mean number of sequential I/Os in a row, 1 or more: few long runs among many single I/Os. A
    /// run that began at touched data begins where an earlier run was, and ends where the touched
    /// data ends, which makes it shorter and `sequential` smaller than given. If absent, each I/O
    /// is sequential or not, independent of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// True if all I/Os of a run have the size of the first one, and end the run by the chances of
    /// the step that began it, whichever steps they belong to (default false). Large blocks then
    /// come in runs while small ones jump, although both are steps of one mix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_size: bool,
    /// Destinations of the other I/Os; the remaining share goes anywhere.
    #[serde(default)]
    pub again: Vec<Again>,
    /// Unit in which touched data is remembered, a power of two from 4 KiB to 1 MiB (default 64
    /// KiB): about 60 B of memory for each unit within the largest `within`.
    #[serde(default = "reuse_page")]
    pub page: BlockSize,
    /// Misaligned places, which do not begin on a multiple of 4 KiB (default none). With them, a
    /// sequential I/O begins exactly where the one before ended, whatever its size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub misaligned: Vec<Misaligned>,
}

fn reuse_page() -> BlockSize {
    BlockSize::new(Bytes::new(64 << 10)).expect("a multiple of 512 B")
}

/// A share `io` of the I/Os that are not sequential goes to data that was last touched before an
/// amount `within` of other data was touched, but not within the amount of the entry before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Again {
    /// Share of the I/Os that are not sequential.
    pub io: Ratio,
    /// Amount of data touched since, as a share of the disk; larger than in the entry before.
    pub within: Ratio,
}

/// A share `io` of the places that are not sequential begins `by` bytes behind a multiple of 4 KiB:
/// always the same offset for the same page, so that later accesses to the data reach all of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Misaligned {
    /// Share of the places.
    pub io: Ratio,
    /// Offset of 512 B to 3.5 KiB, a multiple of 512 B.
    pub by: BlockSize,
}

/// A part of the disk, for another distribution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Within {
    /// Begin of the part.
    pub start: Ratio,
    /// Length of the part; start and length together are at most 100 %.
    pub length: Ratio,
    /// Distribution inside the part.
    pub address: Address,
}

/// Unit of work, and its normalisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Metric {
    /// Unit, printed after the number: `"orders/min"`, `"users"`, `"MiB/s"`.
    pub unit: String,
    /// Kind of counted work.
    pub count: Counted,
    /// Counts only these actions, or (for I/O) only these kinds; if absent, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<String>>,
    /// Time that the count is for (default 1 s).
    #[serde(default = "second")]
    pub per: Nanos,
    /// Divisor of the count (default 1): 0.5 for "users of 0.5 IOPS each", 1048576 for MiB.
    #[serde(default = "weight_one")]
    pub divide_by: f64,
    /// Value that counts as one tile's worth, in `unit`; if absent, that of the workload on ideal
    /// storage (zero service time, in virtual time).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
}

fn second() -> Nanos {
    Nanos::SECOND
}

/// Kind of work that a metric counts. `none`: the workload only makes load, and has no part in the
/// score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// Number of finished actions.
    Actions,
    /// Number of finished I/Os.
    Io,
    /// Bytes that were moved.
    Bytes,
    /// Nothing (a standby server).
    None,
}

/// A quality-of-service limit: exactly one of `action`, `io` and `call`, and exactly one statistic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Limit {
    /// Name of an action; its response time (from its intended start) is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Name of a kind of I/O; its service time (from submission to completion) is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<String>,
    /// Name of a kind of call; its service time (from the call to its answer) is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Percentile that `limit` applies to, above 0 and below 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentile: Option<f64>,
    /// Limit for the percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
    /// Limit for the mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Nanos>,
    /// Limit for the maximum, which is reported and never decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Nanos>,
    /// Source of the limit.
    pub source: String,
}
