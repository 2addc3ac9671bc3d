use run_store::run::LimitOn;
use run_store::slice::{Slice, Topology, Unfinished};
use spec::workload::{Limit, Load};
use stats::{Compact, Histogram};
use units::Nanos;

use crate::fleet::Member;
use crate::verdict::StepJudge;
use crate::verdict::stated::bound_of;

/// Samples for a limit: completed ones in blocks of time, and samples that were unfinished at the
/// end of the window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    blocks: Vec<Compact>,
    /// Ages above the limit, with the number of samples of each age. There is no entry per sample,
    /// because a stored run may claim four billion.
    unfinished: Vec<(Nanos, u32)>,
    /// Samples that were never taken, because the user was still waiting. Each has a lower bound
    /// and a number.
    missing: Vec<(Nanos, u32)>,
}

impl Samples {
    /// Creates completed samples in blocks, without unfinished ones.
    pub fn of(blocks: Vec<Compact>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// Returns the number of samples, including unfinished ones.
    pub fn count(&self) -> u64 {
        let finished: u64 = self.blocks.iter().map(Compact::count).sum();
        finished + self.unfinished()
    }

    /// Returns the number of unfinished samples that are older than the limit.
    pub fn unfinished(&self) -> u64 {
        self.unfinished.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Returns all samples together, with the lower bounds of unfinished ones.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::new();
        self.blocks.iter().for_each(|block| all.merge_compact(block));
        all.merge_compact(&self.open());
        all
    }

    /// Returns the lower bounds of unfinished samples, and of samples that were not taken because
    /// of them.
    pub fn open(&self) -> Compact {
        let mut open = Histogram::new();
        let unfinished = self.unfinished.iter();
        unfinished.chain(&self.missing).for_each(|(age, count)| open.record_n(*age, *count));
        open.compact()
    }

    /// Returns blocks of samples. Neighbours are merged while there are more than `most` blocks.
    /// Unfinished samples are in the last block.
    pub fn blocks(&self, least: usize, most: usize) -> Vec<Compact> {
        let each = (self.blocks.len() / most.max(1)).max(1);
        let each = if self.blocks.len() / each < least { 1 } else { each };
        let mut blocks: Vec<Compact> =
            self.blocks.chunks(each).map(sum_of(Compact::merge)).collect();
        if let Some(last) = blocks.last_mut() {
            last.merge(&self.open());
        }
        blocks
    }

    fn add(&mut self, more: &Self) {
        self.blocks.resize(self.blocks.len().max(more.blocks.len()), Compact::default());
        for (own, more) in self.blocks.iter_mut().zip(&more.blocks) {
            own.merge(more);
        }
        self.unfinished.extend(&more.unfinished);
        self.missing.extend(&more.missing);
    }
}

/// Samples of every limit of every instance over a window, in blocks of slices.
///
/// A block is a burst period, because slices within a period differ. If the window has fewer than
/// five periods, a block is a slice. Then bursts count as chance, and intervals are too wide rather
/// than too narrow.
#[derive(Debug, Clone)]
pub struct LimitSamples {
    slices_per_block: usize,
    slices: usize,
    /// Number of slices in one row. It grows with the window, so that memory is bounded.
    unit: usize,
    duration: Nanos,
    /// Rows by instance, then by limit of its workload, then by position in time.
    rows: Vec<Vec<Vec<Compact>>>,
    /// Rows of all members of a workload together, by workload. They are needed at every slice.
    together: Vec<Vec<Vec<Histogram>>>,
    /// Unfinished samples of the last slice, by instance and limit.
    unfinished: Vec<Vec<Compact>>,
}

/// Minimum number of whole burst periods for which blocks are periods.
const BLOCKS_MIN: usize = 5;
/// Maximum number of rows: twice the number that a verdict uses. Above it, neighbours are merged.
const ROWS_MAX: usize = 64;

impl LimitSamples {
    /// Creates empty samples for a judge's instances.
    pub fn new(judge: &StepJudge<'_>, slices_per_block: usize) -> Self {
        let limits = |member: &Member| judge.workload(*member).limits.len();
        let rows = judge.members.iter().map(|member| vec![Vec::new(); limits(member)]).collect();
        let unfinished =
            judge.members.iter().map(|member| vec![Compact::default(); limits(member)]).collect();
        let together =
            judge.tile.all().map(|(workload, _)| vec![Vec::new(); workload.limits.len()]);
        Self {
            slices_per_block: slices_per_block.max(1),
            slices: 0,
            unit: 1,
            duration: Nanos::ZERO,
            rows,
            together: together.collect(),
            unfinished,
        }
    }

    /// Adds the samples of a slice.
    pub fn add(&mut self, judge: &StepJudge<'_>, slice: &Slice) {
        if self.slices == ROWS_MAX * self.unit {
            self.put_together();
        }
        if self.slices.is_multiple_of(self.unit) {
            self.rows.iter_mut().flatten().for_each(|rows| rows.push(Compact::default()));
            self.together.iter_mut().flatten().for_each(|rows| rows.push(Histogram::new()));
        }
        self.slices += 1;
        self.duration += slice.width;
        self.unfinished.iter_mut().flatten().for_each(|ages| *ages = Compact::default());
        for row in &slice.actions {
            let instance = row.instance.0 as usize;
            let name = &judge.topology.instances[instance].actions[usize::from(row.action)];
            self.sample(judge, (instance, LimitOn::Action, name), &row.response);
        }
        for row in &slice.io {
            let instance = judge.topology.vms[row.vm.0 as usize].instance.0 as usize;
            let name = &judge.topology.instances[instance].kinds[usize::from(row.kind)];
            self.sample(judge, (instance, LimitOn::Io, name), &row.service);
        }
        for row in &slice.calls {
            let instance = row.instance.0 as usize;
            let name = &judge.topology.instances[instance].kinds[usize::from(row.kind)];
            self.sample(judge, (instance, LimitOn::Call, name), &row.service);
        }
        for row in &slice.open {
            let instance = row.instance.0 as usize;
            let (on, name) = named(judge.topology, instance, row.what);
            for at in matching(judge, instance, on, name) {
                self.unfinished[instance][at].merge(&row.ages);
            }
        }
    }

    /// Merges rows of slices to rows of burst periods, and these in pairs.
    fn put_together(&mut self) {
        let factor =
            if self.unit == 1 && self.slices_per_block > 1 { self.slices_per_block } else { 2 };
        self.unit *= factor;
        for rows in self.rows.iter_mut().flatten() {
            *rows = rows.chunks(factor).map(sum_of(Compact::merge)).collect();
        }
        for rows in self.together.iter_mut().flatten() {
            *rows = rows.chunks(factor).map(sum_of(Histogram::merge)).collect();
        }
    }

    fn sample(
        &mut self,
        judge: &StepJudge<'_>,
        (instance, on, name): (usize, LimitOn, &str),
        values: &Compact,
    ) {
        for at in matching(judge, instance, on, name) {
            if let Some(last) = self.rows[instance][at].last_mut() {
                last.merge(values);
            }
            let workload = judge.members[instance].workload;
            if let Some(last) = self.together[workload][at].last_mut() {
                last.merge_compact(values);
            }
        }
    }

    /// Returns the number of rows in one block.
    fn each(&self) -> usize {
        let whole = self.slices / self.slices_per_block >= BLOCKS_MIN;
        if whole { self.slices_per_block.div_ceil(self.unit) } else { 1 }
    }

    /// Returns the samples of one instance's limit.
    pub fn of(&self, judge: &StepJudge<'_>, instance: usize, limit: usize) -> Samples {
        let rows = self.rows[instance][limit].chunks(self.each());
        let blocks = rows.map(sum_of(Compact::merge)).collect();
        Samples { blocks, ..self.open(judge, instance, limit) }
    }

    /// Returns the unfinished samples of one instance's limit, and samples that are missing because
    /// of them.
    fn open(&self, judge: &StepJudge<'_>, instance: usize, limit: usize) -> Samples {
        let workload = judge.workload(judge.members[instance]);
        let bound = bound_of(&workload.limits[limit]);
        let ages = self.unfinished[instance][limit].buckets();
        let beyond: Vec<(Nanos, u32)> = ages.filter(|(age, _)| *age > bound).collect();
        let missing = match users_in_dialogue(workload) {
            // An I/O is part of a dialogue: the users of its action wait for it.
            Some(users) if !beyond.is_empty() => {
                let finished = self.rows[instance][limit].iter().map(Compact::count).sum();
                let pace = Pace { finished, users, time: self.duration };
                beyond.iter().map(|(age, count)| pace.missing(*age, *count, bound)).collect()
            }
            _ => Vec::new(),
        };
        Samples { blocks: Vec::new(), unfinished: beyond, missing }
    }

    /// Returns the samples of one workload's limit over all of its members together, without
    /// visiting each member.
    pub fn together(&self, judge: &StepJudge<'_>, (workload, limit): (usize, usize)) -> Samples {
        let rows = self.together[workload][limit].chunks(self.each());
        let blocks = rows.map(sum_of(Histogram::merge)).map(|block| block.compact()).collect();
        let mut sum = Samples { blocks, ..Samples::default() };
        for (instance, _) in judge.members_of(workload) {
            sum.add(&self.open(judge, instance, limit));
        }
        sum
    }

    /// Returns the samples of one workload's limit over its members among the given instances.
    pub fn pooled(
        &self,
        judge: &StepJudge<'_>,
        (workload, limit): (usize, usize),
        among: &[usize],
    ) -> Samples {
        let mut sum = Samples::default();
        for instance in among.iter().filter(|at| judge.members[**at].workload == workload) {
            sum.add(&self.of(judge, *instance, limit));
        }
        sum
    }
}

/// Pace of users in closed dialogues.
struct Pace {
    finished: u64,
    users: u32,
    time: Nanos,
}

impl Pace {
    /// Returns the number of missing samples. A waiting user takes no samples, so samples are
    /// missing that would have been taken since the limit passed. Each would have waited for the
    /// rest of that time, half of it on average (the correction of HdrHistogram's
    /// `recordValueWithExpectedInterval`, Tene 2012, for unfinished samples).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are far below 2^53; float casts saturate"
    )]
    fn missing(&self, age: Nanos, waiting: u32, bound: Nanos) -> (Nanos, u32) {
        let beyond = age.saturating_sub(bound);
        let each_per_s = self.finished as f64
            / (f64::from(self.users.max(1)) * self.time.as_secs_f64().max(f64::MIN_POSITIVE));
        let count = each_per_s * beyond.as_secs_f64() * f64::from(waiting);
        (bound.saturating_add(Nanos(beyond.0 / 2)), count as u32)
    }
}

/// Returns the number of users in a workload's closed groups. `None` if starts do not wait for
/// responses, because then all unfinished samples exist.
fn users_in_dialogue(workload: &spec::workload::Workload) -> Option<u32> {
    let closed = workload.groups.iter().filter_map(|group| match group.load {
        Load::Closed { users, .. } => Some(users),
        Load::Paced { .. } | Load::Open { .. } => None,
    });
    let users: u32 = closed.sum();
    (users > 0).then_some(users)
}

/// Returns a function that merges several values, built from a function that merges two.
fn sum_of<T: Clone + Default>(merge: fn(&mut T, &T)) -> impl Fn(&[T]) -> T {
    move |parts| {
        let (first, others) = parts
            .split_first()
            .map_or_else(Default::default, |(first, others)| (first.clone(), others));
        others.iter().fold(first, |mut sum, part| {
            merge(&mut sum, part);
            sum
        })
    }
}

fn named(topology: &Topology, instance: usize, what: Unfinished) -> (LimitOn, &str) {
    let entry = &topology.instances[instance];
    match what {
        Unfinished::Action(action) | Unfinished::Start(action) => {
            (LimitOn::Action, &entry.actions[usize::from(action)])
        }
        Unfinished::Io(kind, _) => (LimitOn::Io, &entry.kinds[usize::from(kind)]),
        Unfinished::Call(kind) => (LimitOn::Call, &entry.kinds[usize::from(kind)]),
    }
}

/// Returns the positions of an instance's limits on this action or kind of I/O or call.
fn matching<'a>(
    judge: &'a StepJudge<'_>,
    instance: usize,
    on: LimitOn,
    name: &'a str,
) -> impl Iterator<Item = usize> + 'a {
    let limits = judge.workload(judge.members[instance]).limits.iter().enumerate();
    let is_meant = move |limit: &Limit| match on {
        LimitOn::Action => limit.action.as_deref() == Some(name),
        LimitOn::Io => limit.io.as_deref() == Some(name),
        LimitOn::Call => limit.call.as_deref() == Some(name),
    };
    limits.filter(move |(_, limit)| is_meant(limit)).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks two of four users that wait, for a second beyond the limit; one user takes fifty
    /// samples per second.
    #[test]
    fn waiting_user_misses_samples_of_half_its_wait_on_average() {
        let pace = Pace { finished: 1600, users: 4, time: Nanos::from_secs(8) };
        let found = pace.missing(Nanos::from_millis(1500), 2, Nanos::from_millis(500));
        assert_eq!(found, (Nanos::from_millis(1000), 100));
    }
}
