use run_store::run::{CallErrors, Cause, GeneratorHealth, LimitResult, PooledLimit, Verdict};
use spec::workload::Counted;
use units::Nanos;

use crate::fleet::Member;
use crate::verdict::generator::standstill;
use crate::verdict::stated::bound_of;
use crate::verdict::{
    CONFIDENCE, LimitSamples, Samples, StepJudge, generator_health, judge_limit, sentence,
};
use crate::window::{ActionTotals, Window};

/// Users who give up more than this share of their intended starts are not being served,
/// whatever the latency of the rest. Our choice, twice Weathervane's 0.5 % bound on failed
/// operations, because a dropped start is one that was ten or more behind.
pub const DROPPED_SHARE_MAX: f64 = 0.01;

/// A step in which more than this share of the starts that were due had not begun at the end, each of
/// them older than this share of the window, did less than was asked of it. Our choice: what a limit at
/// the 95th percentile leaves.
pub const BEHIND_SHARE_MAX: f64 = 0.05;

/// The share is exceeded surely: by the count less so many standard deviations of a Poisson count, so
/// that one late start of a few decides nothing.
const BEHIND_SIGMAS: f64 = 2.0;

/// A service that fails more than this share of its calls does not serve, however fast it is:
/// Weathervane's bound on failed operations.
pub const CALLS_FAILED_SHARE_MAX: f64 = 0.005;

/// What a window came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Whether every limit was kept.
    pub verdict: Verdict,
    /// Why.
    pub cause: Cause,
    /// Why, in a sentence.
    pub reason: String,
    /// Each workload's limits over all tiles together.
    pub pooled: Vec<PooledLimit>,
    /// Each instance's limits, by instance id.
    pub instances: Vec<Vec<LimitResult>>,
    /// Each host's limits over its tiles together, by host; empty without hosts.
    pub hosts: Vec<Vec<PooledLimit>>,
    /// The limit that broke, if one did: the tile in which it was worst, its workload, copy.
    pub broken: Option<(Member, LimitResult)>,
    /// How the generator fared.
    pub generator: GeneratorHealth,
}

impl StepJudge<'_> {
    /// Holds a window against every limit.
    ///
    /// A workload's limit is held against the samples of all tiles together: they share the
    /// storage, so they are one population, and one tile alone often has too few samples in
    /// a short step. One tile alone still fails the step when its own interval lies wholly
    /// above the limit, however many others are well: an average tile is no comfort to the
    /// users of a bad one, and the field's tile benchmark wants every tile to keep its limits. So does
    /// one host whose tiles together break a limit.
    pub fn judge(&self, window: &Window, samples: &LimitSamples) -> Judged {
        let instances = self.judge_instances(samples);
        let all: Vec<usize> = (0..self.members.len()).collect();
        let pooled = self.judge_pooled(&instances, &all, |limit| samples.together(self, limit));
        let of_host = |own: Vec<usize>| {
            self.judge_pooled(&instances, &own, |limit| samples.pooled(self, limit, &own))
        };
        let hosts: Vec<Vec<PooledLimit>> = self.by_host().into_iter().map(of_host).collect();
        let generator = generator_health(&window.generator, window.duration, self.tightest_limit());
        let mut judged = Judged {
            verdict: Verdict::Passed,
            cause: Cause::LimitsHeld,
            reason: String::new(),
            broken: self.broken(&pooled, &hosts, &instances),
            pooled,
            instances,
            hosts,
            generator,
        };
        (judged.verdict, judged.cause, judged.reason) = self.verdict(&judged, window);
        judged
    }

    /// Whether more samples could still make this window say something.
    pub fn wants_more_samples(&self, judged: &Judged) -> bool {
        judged.cause == Cause::Undecided
    }

    /// The tightest of all limits.
    pub(crate) fn tightest_limit(&self) -> Option<Nanos> {
        self.limits().map(|(.., limit)| bound_of(limit)).min()
    }

    fn judge_instances(&self, samples: &LimitSamples) -> Vec<Vec<LimitResult>> {
        let judge = |(index, member): (usize, &Member)| {
            let limits = self.workload(*member).limits.iter().enumerate();
            limits
                .map(|(row, limit)| judge_limit(limit, &samples.of(self, index, row), CONFIDENCE))
                .collect()
        };
        self.members.iter().enumerate().map(judge).collect()
    }

    /// Instances by host, so that a thousand hosts do not look at all instances each.
    fn by_host(&self) -> Vec<Vec<usize>> {
        let mut by_host = vec![Vec::new(); self.placed.names().len()];
        for (at, member) in self.members.iter().enumerate() {
            if let Some(host) = self.placed.host_of(member.tile) {
                by_host[host].push(at);
            }
        }
        by_host
    }

    fn judge_pooled(
        &self,
        instances: &[Vec<LimitResult>],
        among: &[usize],
        samples: impl Fn((usize, usize)) -> Samples,
    ) -> Vec<PooledLimit> {
        let mut pooled = Vec::new();
        for (position, (workload, _)) in self.tile.all().enumerate() {
            for (row, limit) in workload.limits.iter().enumerate() {
                let own = among.iter().filter(|at| self.members[**at].workload == position);
                let worst = own.max_by_key(|at| instances[**at][row].measured_ns);
                pooled.push(PooledLimit {
                    workload: workload.name.clone(),
                    worst_tile: worst.and_then(|at| self.members[*at].tile),
                    result: judge_limit(limit, &samples((position, row)), CONFIDENCE),
                });
            }
        }
        pooled
    }

    /// The limit that broke worst, with the tile in which it was.
    fn broken<'p>(
        &self,
        pooled: &'p [PooledLimit],
        hosts: &'p [Vec<PooledLimit>],
        instances: &[Vec<LimitResult>],
    ) -> Option<(Member, LimitResult)> {
        let named = |pooled: &'p PooledLimit| {
            let member = self.members.iter().find(|member| {
                member.tile == pooled.worst_tile && self.workload(**member).name == pooled.workload
            })?;
            Some((*member, &pooled.result))
        };
        let of_all = pooled.iter().filter_map(named);
        let of_host = hosts.iter().flatten().filter_map(named);
        let all = self.members.iter().zip(instances);
        let of_one = all.flat_map(|(member, own)| own.iter().map(|result| (*member, result)));
        let found = worst_broken(of_all, of_host);
        found
            .or_else(|| worst_broken(std::iter::empty(), of_one))
            .map(|(member, result)| (member, result.clone()))
    }

    /// What the samples say, unless the generator was the limit. A generator that was late makes
    /// answers longer, never shorter: a step that passed all the same has passed, any other says
    /// nothing about the storage. A generator that stood still asked for less, so that a step
    /// that passed meanwhile says nothing either.
    fn verdict(&self, judged: &Judged, window: &Window) -> (Verdict, Cause, String) {
        let (verdict, cause, reason) = self.of_samples(judged, window);
        let generator = &judged.generator;
        let why = match verdict {
            Verdict::Passed if !generator.saturated => {
                standstill(&window.generator, window.duration, self.tightest_limit())
            }
            _ => generator.reason.clone(),
        };
        match why {
            Some(why) => {
                let reason = format!("the generator was the limit: {why}");
                (Verdict::Inconclusive, Cause::Generator, reason)
            }
            None => (verdict, cause, reason),
        }
    }

    fn of_samples(&self, judged: &Judged, window: &Window) -> (Verdict, Cause, String) {
        if let Some((member, result)) = &judged.broken {
            let of_all = judged.pooled.iter().any(|pooled| pooled.result == *result);
            let mut of_host = judged.hosts.iter().zip(self.placed.names());
            let of_host = of_host.find(|(own, _)| own.iter().any(|own| own.result == *result));
            let place = match of_host {
                _ if of_all => String::new(),
                Some((_, name)) => format!(" on host {name}"),
                None => member.tile.map_or_else(String::new, |at| format!(" in tile {}", at + 1)),
            };
            let sentence = sentence(&self.workload(*member).name, result);
            return (Verdict::Failed, Cause::LimitBroken, format!("{sentence}{place}"));
        }
        if let Some(reason) = self.gave_up(window) {
            return (Verdict::Failed, Cause::GaveUp, reason);
        }
        if let Some(reason) = self.fell_behind(window) {
            return (Verdict::Failed, Cause::GaveUp, reason);
        }
        if let Some(reason) = self.did_nothing(window) {
            return (Verdict::Failed, Cause::NoAnswer, reason);
        }
        if let Some(reason) = self.calls_failed(window) {
            return (Verdict::Failed, Cause::CallsFailed, reason);
        }
        let is_undecided = |own: &&PooledLimit| is_undecided(own) && !self.is_kept_by_all(own);
        match judged.pooled.iter().find(is_undecided) {
            Some(pooled) => {
                let sentence = sentence(&pooled.workload, &pooled.result);
                (Verdict::Inconclusive, Cause::Undecided, sentence)
            }
            None => (Verdict::Passed, Cause::LimitsHeld, self.closest(judged)),
        }
    }

    /// Whether a limit of an operation is kept by all that was seen of it, though that is too little to
    /// be sure. Operations end a few times in a window: to wait for the sixty that a 95th
    /// percentile takes would leave every step open.
    pub fn is_kept_by_all(&self, pooled: &PooledLimit) -> bool {
        let mut operations = self.tile.operations.iter();
        let result = &pooled.result;
        operations.any(|(own, _)| own.name == pooled.workload)
            && result.unfinished == 0
            && result.measured_ns.is_some_and(|measured| measured <= result.limit_ns)
    }

    /// The sentence of a passed step: the limit with the least room.
    fn closest(&self, judged: &Judged) -> String {
        let decides = |pooled: &&PooledLimit| pooled.result.decides();
        let decide = judged.pooled.iter().filter(decides);
        let measured = decide.filter(|pooled| pooled.result.measured_ns.is_some());
        let closest = measured.min_by(|a, b| a.result.room().total_cmp(&b.result.room()));
        match closest {
            Some(pooled) => {
                format!("every limit held; closest: {}", sentence(&pooled.workload, &pooled.result))
            }
            None => "the tile has no limit that could break".to_owned(),
        }
    }

    /// Users who gave up, by workload over all tiles.
    fn gave_up(&self, window: &Window) -> Option<String> {
        self.tile.all().enumerate().find_map(|(position, (workload, _))| {
            let (mut dropped, mut starts) = (0, 0);
            for (index, _) in self.members_of(position) {
                for action in &window.instances[index].actions {
                    dropped += action.dropped;
                    starts += action.dropped + action.errors + action.count();
                }
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let share = dropped as f64 / starts.max(1) as f64;
            (share > DROPPED_SHARE_MAX).then(|| {
                format!(
                    "the {}'s users gave up {:.1} % of their starts against a limit of {:.0} %",
                    workload.name,
                    share * 100.0,
                    DROPPED_SHARE_MAX * 100.0
                )
            })
        })
    }

    /// Starts that were due within the window and had not begun at its end, by workload over all tiles. A
    /// limit on I/Os says nothing of those that were never sent, so they are counted here.
    fn fell_behind(&self, window: &Window) -> Option<String> {
        let old = window.duration.scale(BEHIND_SHARE_MAX);
        self.tile.all().enumerate().find_map(|(position, (workload, _))| {
            let (mut behind, mut done) = (0, 0);
            for (index, _) in self.members_of(position) {
                let own = &window.instances[index];
                let waits = own.not_begun.buckets().filter(|(age, _)| *age > old);
                behind += waits.map(|(_, count)| u64::from(count)).sum::<u64>();
                let of = |action: &ActionTotals| action.dropped + action.errors + action.count();
                done += own.actions.iter().map(of).sum::<u64>();
            }
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let (behind, starts) = (behind as f64, (done + behind) as f64);
            let surely = behind - BEHIND_SIGMAS * behind.sqrt();
            (surely > BEHIND_SHARE_MAX * starts).then(|| {
                format!(
                    "{:.0} % of the {}'s starts ({behind}) had not begun when the time ended, \
                     although they were due for more than {old} (limit {:.0} %)",
                    behind / starts * 100.0,
                    workload.name,
                    BEHIND_SHARE_MAX * 100.0
                )
            })
        })
    }

    /// Calls that failed, by workload over all tiles, with the reasons and their counts.
    fn calls_failed(&self, window: &Window) -> Option<String> {
        self.tile.all().enumerate().find_map(|(position, (workload, _))| {
            let members = self.members_of(position);
            let rows = members.flat_map(|(index, _)| window.instances[index].calls.values());
            let all = rows.cloned().reduce(|mut sum, row| {
                sum.merge(&row);
                sum
            })?;
            let (failed, count) = (all.failed(), all.failed() + all.service.count());
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let share = failed as f64 / count.max(1) as f64;
            (share > CALLS_FAILED_SHARE_MAX).then(|| {
                format!(
                    "{:.1} % of the {}'s calls failed against a limit of {:.1} % ({})",
                    share * 100.0,
                    workload.name,
                    CALLS_FAILED_SHARE_MAX * 100.0,
                    CallErrors::told(&CallErrors::of(&all.errors))
                )
            })
        })
    }

    /// A scored workload that finished nothing at all while I/Os or calls were under way. An
    /// operation may take longer than a window; what is too long for it, its limit says.
    fn did_nothing(&self, window: &Window) -> Option<String> {
        if window.generator.in_flight_at_ends.1 == 0 {
            return None;
        }
        self.members.iter().zip(&window.instances).find_map(|(member, totals)| {
            let workload = self.workload(*member);
            let counts = member.tile.is_some() && workload.metric.count != Counted::None;
            let finished = totals.actions.iter().any(|action| action.count() > 0)
                || totals.kinds.iter().any(|kind| kind.count() > 0);
            let (name, time) = (&workload.name, window.duration);
            let of = member.tile.map_or_else(String::new, |at| format!(" of tile {}", at + 1));
            (counts && !finished).then(|| format!("the {name}{of} got no answer at all in {time}"))
        })
    }
}

/// A limit with samples that do not decide. One nobody did anything for is not: what
/// was never done cannot have been slow, and is reported as a warning instead.
fn is_undecided(pooled: &PooledLimit) -> bool {
    let result = &pooled.result;
    result.decides() && result.verdict == Verdict::Inconclusive && result.samples > 0
}

/// The limit that broke worst, relative to itself, with where: of those over all tiles, else of
/// those of one tile.
pub fn worst_broken<'a, T>(
    of_all: impl Iterator<Item = (T, &'a LimitResult)>,
    of_one: impl Iterator<Item = (T, &'a LimitResult)>,
) -> Option<(T, &'a LimitResult)> {
    least_room(of_all).or_else(|| least_room(of_one))
}

fn least_room<'a, T>(
    limits: impl Iterator<Item = (T, &'a LimitResult)>,
) -> Option<(T, &'a LimitResult)> {
    let broken = limits.filter(|(_, limit)| limit.is_broken());
    broken.min_by(|(_, a), (_, b)| a.room().total_cmp(&b.room()))
}
