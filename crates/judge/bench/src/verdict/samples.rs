use run_store::run::LimitOn;
use run_store::slice::{Slice, Topology, Unfinished};
use spec::workload::{Limit, Load};
use stats::{Compact, Histogram};
use units::Nanos;

use crate::fleet::Member;
use crate::verdict::StepJudge;
use crate::verdict::stated::bound_of;

/// What a limit is held against: finished samples in blocks of time, and what had not
/// finished when the window ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    blocks: Vec<Compact>,
    /// Ages beyond the limit, and of how many. Not one by one: a stored run may say four billion.
    unfinished: Vec<(Nanos, u32)>,
    /// Samples that were never taken, because who would have taken them was still waiting.
    missing: Vec<(Nanos, u32)>,
}

impl Samples {
    /// Finished samples in blocks, nothing unfinished.
    pub fn of(blocks: Vec<Compact>) -> Self {
        Self { blocks, ..Self::default() }
    }

    /// How many there are, unfinished ones included.
    pub fn count(&self) -> u64 {
        let finished: u64 = self.blocks.iter().map(Compact::count).sum();
        finished + self.unfinished()
    }

    /// How many had not finished and had been waited for longer than the limit.
    pub fn unfinished(&self) -> u64 {
        self.unfinished.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Everything together, with the lower bounds of what had not finished.
    pub fn all(&self) -> Histogram {
        let mut all = Histogram::new();
        self.blocks.iter().for_each(|block| all.merge_compact(block));
        all.merge_compact(&self.open());
        all
    }

    /// Lower bounds of what had not finished, and what was never taken because of it.
    pub fn open(&self) -> Compact {
        let mut open = Histogram::new();
        let unfinished = self.unfinished.iter();
        unfinished.chain(&self.missing).for_each(|(age, count)| open.record_n(*age, *count));
        open.compact()
    }

    /// Blocks of samples: neighbours put together while there are more than `most`. What had not
    /// finished is in the last.
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
/// A block is a burst period, because slices within one are not alike; where the window has
/// fewer than five of them, a slice: bursts then count as chance, and intervals are
/// too wide rather than too narrow.
#[derive(Debug, Clone)]
pub struct LimitSamples {
    slices_per_block: usize,
    slices: usize,
    /// Slices in one row; more as the window grows, so that memory is bounded.
    unit: usize,
    duration: Nanos,
    /// By instance, by limit of its workload, by so many slices.
    rows: Vec<Vec<Vec<Compact>>>,
    /// The same of all members of a workload together, by workload: they are asked for at every slice.
    together: Vec<Vec<Vec<Histogram>>>,
    /// What the last slice said had not finished, by instance and limit.
    unfinished: Vec<Vec<Compact>>,
}

/// Whole burst periods are blocks if there are at least this many.
const BLOCKS_MIN: usize = 5;
/// Rows are put together when there are more: twice what a verdict makes of them.
const ROWS_MAX: usize = 64;

impl LimitSamples {
    /// None yet, for a judge's instances.
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

    /// Adds a slice.
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

    /// Rows of slices become rows of burst periods, those of twice as many.
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

    /// Rows of slices in one block.
    fn each(&self) -> usize {
        let whole = self.slices / self.slices_per_block >= BLOCKS_MIN;
        if whole { self.slices_per_block.div_ceil(self.unit) } else { 1 }
    }

    /// Of one instance's limit.
    pub fn of(&self, judge: &StepJudge<'_>, instance: usize, limit: usize) -> Samples {
        let rows = self.rows[instance][limit].chunks(self.each());
        let blocks = rows.map(sum_of(Compact::merge)).collect();
        Samples { blocks, ..self.open(judge, instance, limit) }
    }

    /// What of one instance's limit had not finished, and what is missing because of it.
    fn open(&self, judge: &StepJudge<'_>, instance: usize, limit: usize) -> Samples {
        let workload = judge.workload(judge.members[instance]);
        let bound = bound_of(&workload.limits[limit]);
        let ages = self.unfinished[instance][limit].buckets();
        let beyond: Vec<(Nanos, u32)> = ages.filter(|(age, _)| *age > bound).collect();
        let missing = match users_in_dialogue(workload) {
            // An I/O is part of a dialogue: its action's users are those who wait.
            Some(users) if !beyond.is_empty() => {
                let finished = self.rows[instance][limit].iter().map(Compact::count).sum();
                let pace = Pace { finished, users, time: self.duration };
                beyond.iter().map(|(age, count)| pace.missing(*age, *count, bound)).collect()
            }
            _ => Vec::new(),
        };
        Samples { blocks: Vec::new(), unfinished: beyond, missing }
    }

    /// Of one workload's limit over all of its members together, without a look at each.
    pub fn together(&self, judge: &StepJudge<'_>, (workload, limit): (usize, usize)) -> Samples {
        let rows = self.together[workload][limit].chunks(self.each());
        let blocks = rows.map(sum_of(Histogram::merge)).map(|block| block.compact()).collect();
        let mut sum = Samples { blocks, ..Samples::default() };
        for (instance, _) in judge.members_of(workload) {
            sum.add(&self.open(judge, instance, limit));
        }
        sum
    }

    /// Of one workload's limit over those of these instances together that are its members.
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

/// How fast users who hold a dialogue go round.
struct Pace {
    finished: u64,
    users: u32,
    time: Nanos,
}

impl Pace {
    /// A user who waits takes no samples: so many are missing that would have been taken since
    /// the limit passed. Each would have had to wait for the rest of that time, half of it on
    /// average (the correction of HdrHistogram's `recordValueWithExpectedInterval`, Tene 2012,
    /// for what has not finished).
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

/// Users of a workload's closed groups; nothing where starts do not wait for answers, whose
/// unfinished ones are all there.
fn users_in_dialogue(workload: &spec::workload::Workload) -> Option<u32> {
    let closed = workload.groups.iter().filter_map(|group| match group.load {
        Load::Closed { users, .. } => Some(users),
        Load::Paced { .. } | Load::Open { .. } => None,
    });
    let users: u32 = closed.sum();
    (users > 0).then_some(users)
}

/// Several as one, by how two are put together.
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

/// Positions of an instance's limits on this action or kind of I/O or call.
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

    /// Two of four users wait, for a second beyond the limit, where one user takes fifty a second.
    #[test]
    fn a_user_who_waits_misses_what_it_would_have_done_with_half_of_its_wait_on_average() {
        let pace = Pace { finished: 1600, users: 4, time: Nanos::from_secs(8) };
        let found = pace.missing(Nanos::from_millis(1500), 2, Nanos::from_millis(500));
        assert_eq!(found, (Nanos::from_millis(1000), 100));
    }
}
