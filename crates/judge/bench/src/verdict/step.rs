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

/// Maximum share of intended starts that may be dropped. Above it the users are not served,
/// whatever the latency of the other starts. Our choice: twice Weathervane's 0.5 % bound on failed
/// operations, because a dropped start was ten or more starts behind.
pub const DROPPED_SHARE_MAX: f64 = 0.01;

/// Maximum share of due starts that may not have begun at the end, each overdue by more than this
/// share of the window. Above it the step did less work than requested. Our choice: the share above
/// a limit at the 95th percentile.
pub const BEHIND_SHARE_MAX: f64 = 0.05;

/// Number of standard deviations of a Poisson count that are subtracted from the count. So the
/// share is surely exceeded, and one late start of a few decides nothing.
const BEHIND_SIGMAS: f64 = 2.0;

/// Maximum share of failed calls. Above it a service does not work, however fast it is:
/// Weathervane's bound on failed operations.
pub const CALLS_FAILED_SHARE_MAX: f64 = 0.005;

/// Judgement of a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Verdict over all limits.
    pub verdict: Verdict,
    /// Cause of the verdict.
    pub cause: Cause,
    /// Reason for the verdict, in a sentence.
    pub reason: String,
    /// Results of the limits of each workload, over all tiles together.
    pub pooled: Vec<PooledLimit>,
    /// Results of the limits of each instance, indexed by its number.
    pub instances: Vec<Vec<LimitResult>>,
    /// Results of the limits of each host, over its tiles together; empty without hosts.
    pub hosts: Vec<Vec<PooledLimit>>,
    /// Broken limit, if any, with the tile, workload and copy in which it was worst.
    pub broken: Option<(Member, LimitResult)>,
    /// State of the generator.
    pub generator: GeneratorHealth,
}

impl StepJudge<'_> {
    /// Judges a window by every limit.
    ///
    /// A workload's limit is judged by the samples of all tiles together. The tiles share the
    /// storage, so their samples are one population, and one tile often has too few samples in a
    /// short step. A single tile still fails the step if its own interval is completely above the
    /// limit, however good the others are. An average tile does not help the users of a bad one,
    /// and the field's tile benchmark requires that every tile meets its limits. A single host also
    /// fails the step if its tiles together break a limit.
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

    /// Returns true if more samples could still decide this window.
    pub fn wants_more_samples(&self, judged: &Judged) -> bool {
        judged.cause == Cause::Undecided
    }

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

    /// Returns the instances of each host, so that a thousand hosts need not each search all
    /// instances.
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

    /// Returns the limit that was broken worst, with its tile.
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

    /// Returns the verdict from the samples, unless the generator was the bottleneck. A late
    /// generator makes responses longer, never shorter: a passed step stays passed, and any other
    /// step has no result about the storage. A paused generator requested less, so even a step that
    /// passed has no result.
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

    /// Returns true if all samples of an operation meet its limit, although they are too few for
    /// certainty. Operations complete only a few times in a window. Waiting for the sixty samples
    /// that a 95th percentile needs would leave every step undecided.
    pub fn is_kept_by_all(&self, pooled: &PooledLimit) -> bool {
        let mut operations = self.tile.operations.iter();
        let result = &pooled.result;
        operations.any(|(own, _)| own.name == pooled.workload)
            && result.unfinished == 0
            && result.measured_ns.is_some_and(|measured| measured <= result.limit_ns)
    }

    /// Returns the sentence for a passed step: the limit with the smallest distance.
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

    /// Returns a text about dropped starts, by workload over all tiles.
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

    /// Returns a text about starts that were due within the window and had not begun at its end, by
    /// workload over all tiles. A limit on I/Os does not see I/Os that were never submitted, so
    /// these starts are counted here.
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

    /// Returns a text about failed calls, by workload over all tiles, with the reasons and their
    /// counts.
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

    /// Returns a text about a scored workload that completed nothing while I/Os or calls were
    /// outstanding. An operation may take longer than a window; its own limit decides if that is
    /// too long.
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

/// Returns true if a limit has samples that do not decide. A limit without samples is not
/// undecided: work that was never done cannot have been slow, and is reported as a warning instead.
fn is_undecided(pooled: &PooledLimit) -> bool {
    let result = &pooled.result;
    result.decides() && result.verdict == Verdict::Inconclusive && result.samples > 0
}

/// Returns the limit that was exceeded most, relative to the limit, with its position: among the
/// limits over all tiles, or else among the limits of one tile.
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
