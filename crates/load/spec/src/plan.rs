//! A plan: tiles, their datastore, and the way to climb the ladder.
//!
//! Every setting of a run is declared here once. Its doc comment is the help of the option and the
//! description in the schema. `serde` makes the key of the plan file from the field, `clap` the
//! option, and [`Plan::out_of_range`] checks its range for both. ADR 30 has the reasons.

use std::fmt::Display;
use std::ops::RangeInclusive;

use clap::Args;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use units::{Bytes, Nanos};
use untrusted::Malformed;

use crate::endpoint::Answering;
use crate::events::{PlannedEvent, Restart};
use crate::expect::Expectation;
use crate::meter::Meter;
use crate::named::NamedMachine;
use crate::over::Over;
use crate::workload::CpuMode;

/// Allowed repeats of a step. More than a hundred add no information.
const REPEATS: RangeInclusive<i64> = 1..=100;
/// Allowed number of threads that generate load. One thread fills a ring, and 64 are more than any
/// storage needs.
const WORKERS: RangeInclusive<i64> = 1..=64;
/// Minimum length of a slice. A histogram of a shorter slice holds too few I/Os.
const SLICE_MIN: Nanos = Nanos::from_millis(100);
/// Maximum factor of schedule times. It makes a 5-minute burst last eight hours.
const TIME_SCALE_MAX: f64 = 100.0;

/// All settings of a run. Absent values come from the profile.
///
/// On the command line, these are the options that `run` and `simulate` share. Settings that only
/// one of them has are skipped here, and are options of that command.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(description = "Everything a run needs to know. Absent values come from the profile.")]
pub struct Plan {
    /// `dir:PATH`, `file:PATH` or `block:PATH`; a bare path is a directory. For `tilemark
    /// simulate`, `array:NAME` or `array:FILE.toml`, a modelled array.
    #[arg(skip)]
    #[serde(deserialize_with = "required")]
    #[schemars(with = "String")]
    pub datastore: Option<String>,
    /// A second datastore; operations move disks between it and the first
    ///
    /// The rules of the first apply to it, and so do the forms; in a simulation it is pool:NAME, a
    /// pool of the array. Disks with on = "second" are placed there. Example: --operations=standard
    /// --second /mnt/other
    #[arg(long, value_name = "TARGET", display_order = 23)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<String>,
    /// A shipped tile or a tile file [default: datacenter]
    ///
    /// `tilemark tiles` lists what is shipped; a path to a file ends in .toml.
    #[arg(long, value_name = "NAME|FILE", display_order = 20, help_heading = "What runs")]
    #[serde(deserialize_with = "required")]
    #[schemars(with = "String")]
    pub tile: Option<String>,
    /// Profile of the run (default standard).
    #[arg(skip)]
    #[serde(default)]
    #[schemars(with = "Profile", extend("default" = "standard"))]
    pub profile: Option<Profile>,
    /// Numbers of tiles to try.
    #[command(flatten)]
    #[serde(default)]
    pub ladder: Ladder,
    /// Measurement of each step; absent values come from the profile.
    #[command(flatten)]
    #[serde(default)]
    pub measure: Measure,
    /// Scaling of the tile.
    #[command(flatten)]
    #[serde(default)]
    pub scale: Scale,
    /// Settings of the load generator.
    #[arg(skip)]
    #[serde(default)]
    pub engine: EngineOptions,
    /// Seed of all random numbers; drawn and printed if absent
    ///
    /// 0 to 9223372036854775807. The same seed and plan give the same load; in simulate the same
    /// figures, to the bit. Also: TILEMARK_SEED
    #[arg(long, value_name = "N", env = "TILEMARK_SEED", hide_env = true, display_order = 29)]
    #[arg(allow_negative_numbers = true, value_parser = seed, help_heading = "What runs")]
    pub seed: Option<u64>,
    /// Services of the endpoints that the tile's workloads call, by name: an address
    /// (`http://HOST[:PORT][/PATH]`), or in a simulation `model:SERVERSxTIME`, a queue with that
    /// many servers and exponential service times.
    #[arg(skip)]
    #[serde(rename = "endpoint", default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "IndexMap<String, String>")]
    pub endpoints: IndexMap<String, Answering>,
    /// Run infrastructure operations beside the tiles [default if named: standard]
    ///
    /// Virtual machines are deployed and moved while the tiles run; both are judged, and the score
    /// is 0.8 x applications + 0.2 x infrastructure. A shipped group, or a file in the form of a
    /// tile. Groups: standard, deploy, move, redeploy, linked, snapshot, boot-storm, full. On real
    /// VMs: qemu, qemu-clones. On VMs of yours, with --machine: named-snapshot, named-move,
    /// named-storage, named-unified, named-deploy. Example: --operations=move
    #[arg(long, value_name = "GROUP|FILE", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "standard", display_order = 22)]
    #[arg(hide_short_help = true, help_heading = "What runs")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<String>,
    /// Hosts that drive the tiles, if not only this host.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Hosts::is_none")]
    pub hosts: Hosts,
    /// Events of the hosts during the measurement of a step. They are the same in every step.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PlannedEvent>,
    /// Restart of a lost host's tiles on the other hosts. Without it, the loss of a host
    /// invalidates the step.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
    /// Power meters that are read during the run, each with the text form of `--meter`.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<Meter>,
    /// Add an expectation of the run (repeat for more)
    ///
    /// One of: tiles >= N; score >= X; not slower than RUN; WORKLOAD.ACTION.STATISTIC <= TIME. RUN
    /// is a stored run with the same tile, compared figure by figure as by tilemark compare. ACTION
    /// may be a kind of I/O or call. STATISTIC is p95, p99.9, mean or max, in the step of the
    /// answer or, with `at N tiles` at the end, in that step. Exit code 7 if one is missed, 5 if
    /// none is missed and one is not decided. It does not change the run. Examples:
    /// --expect 'tiles >= 8', --expect 'shop.order.p95 <= 300ms', --expect 'not slower than latest'
    #[arg(long, value_name = "EXPECTATION")]
    #[arg(hide_short_help = true, help_heading = "What is expected")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub expect: Vec<Expectation>,
    /// Virtual machines of the user on which operations may be carried out, by their exact names,
    /// each with the text form of `--machine`. Other virtual machines are never touched.
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<NamedMachine>,
}

/// Hosts that drive the tiles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hosts {
    /// Add a host that runs some of the tiles (repeat for more)
    ///
    /// NAME, or NAME=ssh:DESTINATION: started by your ssh client, with your configuration and keys.
    /// NAME=exec:COMMAND: a command that runs `tilemark agent --join -` there and hands its
    /// standard input on (srun, kubectl exec, ip netns exec). NAME=join: you start it there, with
    /// the token from a file (--tokens) or as it is printed. Example: --host pve1 --host pve2
    /// --host pve3=ssh:root@10.0.0.3
    #[arg(long = "host", value_name = "NAME[=HOW]", help_heading = "How load is made")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
    /// Place tiles on hosts: round-robin, packed:N, weight:NAME=N,... or pin:TILE=NAME,...
    ///
    /// round-robin if absent. A tile stays on its host for any number of tiles.
    #[arg(long, value_name = "HOW", hide_short_help = true, help_heading = "Hosts")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

impl Hosts {
    /// Returns true if only this host drives the tiles.
    pub fn is_none(&self) -> bool {
        self.members.is_empty() && self.placement.is_none()
    }
}

/// Number and length of a run's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// About three minutes: short steps, one repeat.
    Quick,
    /// Tens of minutes: three repeats, steady-state rule.
    #[default]
    Standard,
    /// Hours, as in the field's benchmarks.
    Full,
}

/// Numbers of tiles to try.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ladder {
    /// Try this many tiles: 4, or 1..8; searched if absent
    ///
    /// A run grows until a limit is broken. Then it tries the most informative numbers of tiles
    /// until the interval of the edge is narrow or the time is up. simulate doubles, and then
    /// halves the gap.
    /// Of a range, simulate runs every step, and a run skips those that are surely beyond the edge.
    /// Numbers start at 1.
    #[arg(long, value_name = "N|A..B", display_order = 24, help_heading = "What runs")]
    pub tiles: Option<String>,
    /// Search no further than N tiles
    ///
    /// At least 1; if absent, as many as the storage has room for.
    #[arg(long, value_name = "N", display_order = 25, help_heading = "What runs")]
    pub tiles_max: Option<u32>,
    /// Run every step N times; a step passes if every repeat passes
    ///
    /// 1 to 100; the profile decides if absent: 1 with --quick, 3 with --standard. The same
    /// repeat has the same arrivals and addresses everywhere, if the seed is the same.
    #[arg(long, value_name = "N", display_order = 20, help_heading = "How thorough")]
    #[arg(value_parser = clap::value_parser!(u32).range(REPEATS))]
    pub repeats: Option<u32>,
}

/// Measurement of one step.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Measure {
    /// Minimum warm-up before steady state is looked for
    ///
    /// The profile decides if absent. Example: 10s
    #[arg(long, value_name = "TIME", display_order = 22, help_heading = "How thorough")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_min: Option<Nanos>,
    /// Maximum warm-up; a step that is not steady by then is marked
    ///
    /// At least --warm-up-min; the profile decides if absent. Example: 2m
    #[arg(long, value_name = "TIME", display_order = 23, help_heading = "How thorough")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_max: Option<Nanos>,
    /// Measured time of a step, such as 30s
    ///
    /// At least one slice; rounded up to whole burst periods of the workloads. The profile
    /// decides if absent. Examples: 30s, 5m, 1h30m
    #[arg(long, value_name = "TIME", display_order = 21, help_heading = "How thorough")]
    #[arg(alias = "runtime")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Nanos>,
    /// Time between two rows of the series, 100ms or more
    ///
    /// At most 1s in a simulation; the profile decides if absent. Example: 1s
    #[arg(long, value_name = "TIME", display_order = 24, help_heading = "How thorough")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Nanos>,
}

/// Scaling of the tile; stated in every result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scale {
    /// Multiply disk sizes by F, above 0 and at most 1
    ///
    /// The profile decides if absent (1 for simulate, where disks cost nothing to fill);
    /// stated in the result, as smaller disks fit caches better. Example: 0.1
    #[arg(long, value_name = "F", display_order = 26, help_heading = "What runs")]
    #[arg(allow_negative_numbers = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<f64>,
    /// Multiply times of bursts and phases by F, above 0 and at most 100
    ///
    /// Think times and rates stay as they are. The profile decides if absent; stated in the
    /// result. Example: 0.1 makes a burst every 5 minutes one every 30 seconds
    #[arg(long = "time-scale", value_name = "F", display_order = 28, help_heading = "What runs")]
    #[arg(allow_negative_numbers = true)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
}

/// Settings of the load generator.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineOptions {
    /// Threads that generate load, each with its own ring
    ///
    /// 1 to 64; if absent, one per core, at most 8.
    #[arg(long, value_name = "N", display_order = 10, help_heading = "How load is made")]
    #[arg(value_parser = clap::value_parser!(u32).range(WORKERS), alias = "numjobs")]
    pub workers: Option<u32>,
    /// Go through the page cache instead of O_DIRECT
    #[arg(long, display_order = 11, help_heading = "How load is made")]
    #[serde(default)]
    pub buffered: bool,
    /// Stamp every block, and check the stamp at every read
    ///
    /// The stamp contains the place and time of the write. After the run everything is read
    /// back; after a power cut, `tilemark verify` does it.
    #[arg(long, display_order = 12, help_heading = "How load is made")]
    #[serde(default)]
    pub verify: bool,
    /// CPU steps of the workloads: delay or burn
    ///
    /// Each workload decides if absent.
    #[arg(long, value_name = "HOW", value_enum, hide_possible_values = true, display_order = 13)]
    #[arg(hide_short_help = true, help_heading = "How load is made")]
    pub cpu: Option<CpuMode>,
    /// Reach the disks by nbd, iscsi, nfs3, nfs4 or nvme-tcp, or an export: nfs:SERVER:/EXPORT
    ///
    /// A server of the protocol is started for files of the datastore, a directory, and an
    /// initiator for it; both end with each step. They run on this computer, in user space, but
    /// nvme-tcp and the client of nfs4 in the kernel, and the result names them and the hops. All
    /// but nbd are for root only. An export of another server is itself the datastore, and is left
    /// as it was. With ,mtu=BYTES server and initiator are joined by a link with packets of this
    /// size (576 to 65535), instead of loopback. Examples: --over iscsi, --over nfs3,mtu=9000,
    /// --over nfs:filer:/vol/test
    #[arg(long, value_name = "PROTOCOL|EXPORT")]
    #[arg(display_order = 14, hide_short_help = true, help_heading = "How load is made")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Over>,
    /// Write at most SIZE as files
    ///
    /// If absent, 80 % of the free space minus 5 GiB, which is also the maximum.
    /// Example: 200GiB
    #[arg(long, value_name = "SIZE", help_heading = "Safety")]
    pub space_max: Option<Bytes>,
}

/// A value of a plan that is outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}, but must be {allowed}")]
pub struct OutOfRange {
    /// Key in the plan, such as `scale.time`.
    pub key: &'static str,
    /// Value that was given.
    pub value: String,
    /// Allowed values, as text.
    pub allowed: String,
}

/// Adds a value if it is out of range. An absent value is allowed.
fn hold<T: Display>(
    found: &mut Vec<OutOfRange>,
    key: &'static str,
    value: Option<T>,
    (allowed, is_fine): (impl Display, impl Fn(&T) -> bool),
) {
    let wrong = value.filter(|value| !is_fine(value)).map(|value| value.to_string());
    found.extend(wrong.map(|value| OutOfRange { key, value, allowed: allowed.to_string() }));
}

impl Plan {
    /// Finds all numbers that are out of range, both from options and from plan files.
    pub fn out_of_range(&self) -> Vec<OutOfRange> {
        let mut found = self.measure.out_of_range();
        found.extend(self.scale.out_of_range());
        let count = |range: RangeInclusive<i64>| {
            let allowed = format!("from {} to {}", range.start(), range.end());
            (allowed, move |value: &u32| range.contains(&i64::from(*value)))
        };
        hold(&mut found, "ladder.repeats", self.ladder.repeats, count(REPEATS));
        hold(&mut found, "ladder.tiles-max", self.ladder.tiles_max, ("at least 1", |n| *n >= 1));
        hold(&mut found, "engine.workers", self.engine.workers, count(WORKERS));
        let space = ("above 0", |space: &Bytes| space.get() > 0);
        hold(&mut found, "engine.space-max", self.engine.space_max, space);
        // TOML has no larger integer, and the stored plan must be able to hold the seed.
        hold(
            &mut found,
            "seed",
            self.seed,
            ("at most 2^63-1", |seed| i64::try_from(*seed).is_ok()),
        );
        found
    }
}

impl Measure {
    /// Finds all times that are out of range.
    pub fn out_of_range(&self) -> Vec<OutOfRange> {
        let mut found = Vec::new();
        let (slice, least) = (self.slice, self.warm_up_min.unwrap_or(Nanos::ZERO));
        hold(&mut found, "measure.slice", slice, ("at least 100 ms", |own| *own >= SLICE_MIN));
        let slice = slice.unwrap_or(Nanos(1));
        let allowed = match self.slice {
            Some(slice) => format!("at least one slice, {slice}"),
            None => "above 0".to_owned(),
        };
        hold(&mut found, "measure.duration", self.duration, (allowed, |own| *own >= slice));
        let allowed = format!("at least measure.warm-up-min, {least}");
        hold(&mut found, "measure.warm-up-max", self.warm_up_max, (allowed, |own| *own >= least));
        found
    }
}

impl Scale {
    /// Finds all factors that are out of range.
    pub fn out_of_range(&self) -> Vec<OutOfRange> {
        let mut found = Vec::new();
        let share = ("above 0 and at most 1", |own: &f64| *own > 0.0 && *own <= 1.0);
        hold(&mut found, "scale.footprint", self.footprint, share);
        let allowed = format!("above 0 and at most {TIME_SCALE_MAX}");
        let stretch = (allowed, |own: &f64| *own > 0.0 && *own <= TIME_SCALE_MAX);
        hold(&mut found, "scale.time", self.time, stretch);
        found
    }
}

/// Parses a seed. The error contains the allowed range.
pub fn seed(text: &str) -> Result<u64, Malformed> {
    let allowed = "a seed is a whole number from 0 to 9223372036854775807";
    text.parse().map_err(|_| allowed.into())
}

/// Deserialises a value that a plan file must have, although partial plans may omit it.
fn required<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(from).map(Some)
}
