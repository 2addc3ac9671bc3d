//! Shares of the waits in an action's dialogue.
//!
//! What it does: divides an action's mean response time among the steps of its definition, in
//! proportion to the mean service times of their kinds of I/O and calls in the window.
//!
//! Approximations: an I/O of a kind takes the same time in every action, so a kind that several
//! actions use is divided by expected counts. Kinds with the same name are one kind. For parallel
//! steps, only the longest one counts. All figures are means, even if the limit is on a percentile.
//! Time that the steps do not explain is called unexplained. Steps whose sum exceeds the measured
//! time are scaled down.

use indexmap::IndexMap;
use run_store::run::{Cause, LimitOn, LimitResult, Step, Wait, Waited, told_waits};
use run_store::slice::Topology;
use spec::ResolvedTile;
use spec::demand::mean_time;
use spec::workload::{Action, Step as Dialogue};
use stats::Compact;

use crate::fleet::Member;
use crate::window::{ActionTotals, KindTotals, Window};

/// Minimum share that is kept. Smaller shares are noise of the approximation.
const SHARE_MIN: f64 = 0.005;

/// Data in which dialogues are looked up.
pub struct Dialogues<'a> {
    /// Workloads of the step.
    pub tile: &'a ResolvedTile,
    /// Tile, workload and copy of each instance.
    pub members: &'a [Member],
    /// Names of all numbered objects.
    pub topology: &'a Topology,
    /// Measurement window.
    pub window: &'a Window,
}

type Seconds = IndexMap<Waited, f64>;

impl Dialogues<'_> {
    /// Returns the waits of the limit's action, for a workload at a position, largest share first.
    /// Empty for a limit on I/Os, and if no action completed.
    pub fn waits(&self, workload: usize, limit: &LimitResult) -> Vec<Wait> {
        let definition = &self.tile.at(workload).0;
        let mut actions = definition.actions.iter();
        let action = actions.find(|action| action.name == limit.name);
        // Actions with stages report their time by stage, so it is not divided here.
        let is_told = |action: &&Action| action.stages().is_empty();
        let action = action.filter(|_| limit.on == LimitOn::Action).filter(is_told);
        let Some(action) = action else {
            return Vec::new();
        };
        let mut totals = ActionTotals::default();
        for (instance, _) in self.instances(workload) {
            let names = &self.topology.instances[instance].actions;
            let each = names.iter().zip(&self.window.instances[instance].actions);
            each.filter(|(name, _)| **name == action.name).for_each(|(_, own)| totals.merge(own));
        }
        let (Some(response), Some(service)) = (mean(&totals.response), mean(&totals.service))
        else {
            return Vec::new();
        };
        let kinds = self.kinds(workload);
        let steps = in_a_row(&action.steps, &|name| kinds.get(name).copied().unwrap_or(0.0));
        shares(steps, service, response)
    }

    fn instances(&self, workload: usize) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter(move |(_, member)| member.workload == workload)
    }

    /// Returns the mean service time of an I/O, in seconds, keyed by the name of its kind.
    fn kinds(&self, workload: usize) -> IndexMap<&str, f64> {
        let mut sums: IndexMap<&str, (f64, f64)> = IndexMap::new();
        for (instance, _) in self.instances(workload) {
            let names = &self.topology.instances[instance].kinds;
            for (name, totals) in names.iter().zip(&self.window.instances[instance].kinds) {
                let sum = sums.entry(name).or_default();
                let (seconds, count) = sum_of(totals);
                *sum = (sum.0 + seconds, sum.1 + count);
            }
        }
        let finished = sums.into_iter().filter(|(_, (_, count))| *count > 0.0);
        finished.map(|(name, (seconds, count))| (name, seconds / count)).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "sums and counts for a share")]
fn sum_of(totals: &KindTotals) -> (f64, f64) {
    (totals.service.sum_ns as f64 / 1e9, totals.service.count() as f64)
}

#[expect(clippy::cast_precision_loss, reason = "sums and counts for a share")]
fn mean(samples: &Compact) -> Option<f64> {
    let count = samples.count();
    (count > 0).then(|| samples.sum_ns as f64 / 1e9 / count as f64)
}

/// Commits for which a user waits: the one that serves it, and on average half of the one in progress
/// when it comes. If the log is mostly idle, the sum is fitted to the response time.
const COMMITS_WAITED: f64 = 1.5;

fn in_a_row(steps: &[Dialogue], kind: &impl Fn(&str) -> f64) -> Seconds {
    let mut sum = Seconds::new();
    for step in steps {
        for (what, seconds) in of_step(step, kind) {
            *sum.entry(what).or_default() += seconds;
        }
    }
    sum
}

fn of_step(step: &Dialogue, kind: &impl Fn(&str) -> f64) -> Seconds {
    let io = |what: Waited, name: &Option<String>, (disk, suffix): (&str, &str), count: u32| {
        let name = name.clone().unwrap_or_else(|| format!("{disk}-{suffix}"));
        (what, f64::from(count) * kind(&name))
    };
    let one = match step {
        Dialogue::Read(read) => {
            let disk = read.disk.clone();
            io(Waited::Reads { disk }, &read.kind, (&read.disk, "read"), read.count)
        }
        Dialogue::Write(write) => {
            let disk = write.disk.clone();
            io(Waited::Writes { disk }, &write.kind, (&write.disk, "write"), write.count)
        }
        Dialogue::Append(append) => {
            let disk = append.disk.clone();
            io(Waited::Writes { disk }, &append.kind, (&append.disk, "append"), append.count)
        }
        Dialogue::Flush(flush) => {
            let disk = flush.disk.clone();
            io(Waited::Flushes { disk }, &flush.kind, (&flush.disk, "flush"), 1)
        }
        Dialogue::Call(call) => {
            let endpoint = call.endpoint.clone();
            io(Waited::Calls { endpoint }, &call.kind, (&call.endpoint, "call"), call.count)
        }
        Dialogue::Cpu(time) => (Waited::Processor, mean_time(time)),
        Dialogue::Wait(time) => (Waited::Pause, mean_time(time)),
        Dialogue::Parallel(steps) => return longest(steps, kind),
        Dialogue::Repeat(repeat) => {
            let mut once = in_a_row(&repeat.steps, kind);
            once.values_mut().for_each(|seconds| *seconds *= f64::from(repeat.times));
            return once;
        }
        Dialogue::Stage(stage) => return in_a_row(&stage.steps, kind),
        Dialogue::Commit(commit) => {
            let mut waited = in_a_row(&commit.steps, kind);
            waited.values_mut().for_each(|seconds| *seconds *= COMMITS_WAITED);
            return waited;
        }
        // Their time is reported by stages, and is no sum of means.
        Dialogue::Copy(_)
        | Dialogue::Move(_)
        | Dialogue::Link(_)
        | Dialogue::Destroy(_)
        | Dialogue::Check(_)
        | Dialogue::Snapshot(_) => return Seconds::new(),
    };
    Seconds::from([one])
}

fn longest(steps: &[Dialogue], kind: &impl Fn(&str) -> f64) -> Seconds {
    let all = |seconds: &Seconds| seconds.values().sum::<f64>();
    let each = steps.iter().map(|step| of_step(step, kind));
    each.max_by(|a, b| all(a).total_cmp(&all(b))).unwrap_or_default()
}

fn shares(steps: Seconds, service: f64, response: f64) -> Vec<Wait> {
    let explained: f64 = steps.values().sum();
    let fit = if explained > service { service / explained } else { 1.0 };
    let mut all: Vec<(Waited, f64)> =
        steps.into_iter().map(|(what, seconds)| (what, seconds * fit)).collect();
    all.push((Waited::Unexplained, service - explained.min(service)));
    all.push((Waited::Queue, (response - service).max(0.0)));
    let response = response.max(f64::MIN_POSITIVE);
    sorted(all.into_iter().map(|(what, seconds)| Wait { what, share: seconds / response }))
}

fn sorted(waits: impl Iterator<Item = Wait>) -> Vec<Wait> {
    let mut waits: Vec<Wait> = waits.filter(|wait| wait.share >= SHARE_MIN).collect();
    waits.sort_by(|a, b| b.share.total_cmp(&a.share));
    waits
}

/// Adds the action's waits to the texts of a broken limit. The model facts of the step must already
/// be set.
pub fn tell(step: &mut Step) {
    if step.model.as_ref().is_some_and(|model| !model.hosts.is_empty()) {
        blame_hosts(&mut step.waits);
    }
    if step.cause == Some(Cause::LimitBroken)
        && let Some(told) = told_waits(&step.waits)
    {
        step.reason += &format!("; of their time {told}");
    }
}

/// Attributes unexplained time on modelled hosts to waiting for a CPU.
fn blame_hosts(waits: &mut Vec<Wait>) {
    let is_cpu = |wait: &Wait| matches!(wait.what, Waited::Processor | Waited::Unexplained);
    let share = waits.iter().filter(|wait| is_cpu(wait)).map(|wait| wait.share).sum();
    waits.retain(|wait| !is_cpu(wait));
    waits.push(Wait { what: Waited::Processor, share });
    *waits = sorted(waits.drain(..));
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::workload;

    const SHOP: &str = r#"
name = "shop"
title = "Shop"
source = "ours"
metric = { unit = "orders/s", count = "actions" }
[[vm]]
name = "db"
[[vm.disk]]
name = "tables"
size = "256MiB"
[[users]]
name = "users"
vm = "db"
load = { closed = { users = 1 } }
[[action]]
name = "order"
steps = [
    { repeat = { times = 3, steps = [{ read = { disk = "tables", size = "8k", count = 2 } }] } },
    { parallel = [
        { write = { disk = "tables", size = "8k", kind = "page" } },
        { flush = { disk = "tables" } },
    ] },
    { cpu = "4ms" },
]
"#;

    fn steps() -> Seconds {
        let shop = workload(SHOP);
        let kind = |name: &str| match name {
            "tables-read" => 0.001,
            "page" => 0.002,
            "tables-flush" => 0.010,
            _ => 0.0,
        };
        in_a_row(&shop.actions[0].steps, &kind)
    }

    fn share(waits: &[Wait], what: &Waited) -> f64 {
        waits.iter().find(|wait| wait.what == *what).map_or(0.0, |wait| wait.share)
    }

    #[test]
    fn loops_multiply_and_parallel_steps_wait_for_the_longest() {
        // 3 x 2 reads of 1 ms, a flush of 10 ms beside a write of 2 ms, 4 ms of CPU: 20 ms.
        let waits = shares(steps(), 0.020, 0.040);
        let disk = || "tables".to_owned();
        assert_eq!(waits[0].what, Waited::Queue, "half of the response is before its start");
        assert!((share(&waits, &Waited::Queue) - 0.5).abs() < 1e-9);
        assert!((share(&waits, &Waited::Reads { disk: disk() }) - 0.15).abs() < 1e-9);
        assert!((share(&waits, &Waited::Flushes { disk: disk() }) - 0.25).abs() < 1e-9);
        assert!(share(&waits, &Waited::Writes { disk: disk() }).abs() < 1e-9);
        assert!((share(&waits, &Waited::Processor) - 0.1).abs() < 1e-9);
        let all: f64 = waits.iter().map(|wait| wait.share).sum();
        assert!((all - 1.0).abs() < 1e-9);
    }

    #[test]
    fn shares_add_up_to_at_most_one_and_the_rest_is_the_hosts() {
        let all: f64 = shares(steps(), 0.010, 0.010).iter().map(|wait| wait.share).sum();
        assert!((all - 1.0).abs() < 1e-9, "made to fit");
        let mut waits = shares(steps(), 0.040, 0.040);
        assert!((share(&waits, &Waited::Unexplained) - 0.5).abs() < 1e-9);
        blame_hosts(&mut waits);
        assert!((waits[0].share - 0.6).abs() < 1e-9 && waits[0].what == Waited::Processor);
        assert_eq!(share(&waits, &Waited::Unexplained), 0.0);
    }
}
