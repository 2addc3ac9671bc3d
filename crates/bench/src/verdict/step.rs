use record::run::{GeneratorHealth, LimitResult, PooledLimit, Verdict};
use record::slice::Topology;
use spec::ResolvedTile;
use spec::workload::{Counted, Limit, Workload};
use stats::Compact;
use units::Nanos;

use crate::step::{Window, add_compact};
use crate::verdict::limit::bound_of;
use crate::verdict::{CONFIDENCE, generator_health, judge_limit, sentence};

/// Users who give up more than this share of their intended starts are not being served,
/// whatever the latency of the rest. Our choice, twice Weathervane's 0.5 % bound on failed
/// operations, because a dropped start is one that was ten or more behind.
pub const DROPPED_SHARE_MAX: f64 = 0.01;

/// Which part of the load an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Tile, from 0.
    pub tile: u32,
    /// Position of its workload in the tile.
    pub workload: usize,
    /// Which of several of this workload in the tile, from 0.
    pub copy: u32,
}

/// Holds windows against the limits of a tile's workloads.
#[derive(Debug, Clone, Copy)]
pub struct StepJudge<'a> {
    /// The workloads.
    pub tile: &'a ResolvedTile,
    /// Who each instance is, by instance id.
    pub members: &'a [Member],
    /// Names of what the instances number.
    pub topology: &'a Topology,
}

/// What a window came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Whether every limit was kept.
    pub verdict: Verdict,
    /// Why, in a sentence.
    pub reason: String,
    /// Each workload's limits over all tiles together.
    pub pooled: Vec<PooledLimit>,
    /// Each instance's limits, by instance id.
    pub instances: Vec<Vec<LimitResult>>,
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
    /// a short step. One tile alone still fails the step when its own interval, at a
    /// confidence shared out over the tiles (Bonferroni), lies wholly above the limit: an
    /// average tile is no comfort to the users of a bad one.
    pub fn judge(&self, window: &Window) -> Judged {
        let instances = self.judge_instances(window);
        let pooled = self.judge_pooled(window, &instances);
        let generator = generator_health(&window.generator, window.duration, self.tightest_limit());
        let mut judged = Judged {
            verdict: Verdict::Passed,
            reason: String::new(),
            broken: self.broken(&pooled, &instances),
            pooled,
            instances,
            generator,
        };
        (judged.verdict, judged.reason) = self.verdict(&judged, window);
        judged
    }

    /// Whether more samples could still make this window say something.
    pub fn wants_more_samples(&self, judged: &Judged) -> bool {
        judged.verdict == Verdict::Inconclusive
            && !judged.generator.saturated
            && judged.pooled.iter().any(is_undecided)
    }

    /// The limits of this tile's workloads with their workload's position.
    pub fn limits(&self) -> impl Iterator<Item = (usize, &Workload, &Limit)> {
        self.tile.workloads.iter().enumerate().flat_map(|(position, (workload, _))| {
            workload.limits.iter().map(move |limit| (position, workload, limit))
        })
    }

    /// The samples of one limit over all tiles together.
    pub fn pooled_samples(&self, window: &Window, workload: usize, limit: &Limit) -> Compact {
        let mut sum = Compact::default();
        for (index, _) in self.members_of(workload) {
            add_compact(&mut sum, &self.samples(window, index, limit));
        }
        sum
    }

    fn members_of(&self, workload: usize) -> impl Iterator<Item = (usize, Member)> + '_ {
        let all = self.members.iter().copied().enumerate();
        all.filter(move |(_, member)| member.workload == workload)
    }

    fn workload(&self, member: Member) -> &Workload {
        &self.tile.workloads[member.workload].0
    }

    /// What one instance's limit is held against: response time of an action; service time
    /// of the I/Os of every kind with the limit's name.
    fn samples(&self, window: &Window, index: usize, limit: &Limit) -> Compact {
        let (names, totals) = (&self.topology.instances[index], &window.instances[index]);
        let mut sum = Compact::default();
        match (&limit.action, &limit.io) {
            (Some(action), _) => {
                let rows = names.actions.iter().zip(&totals.actions);
                rows.filter(|(name, _)| *name == action)
                    .for_each(|(_, row)| add_compact(&mut sum, &row.response));
            }
            (None, kind) => {
                let rows = names.kinds.iter().zip(&totals.kinds);
                rows.filter(|(name, _)| Some(*name) == kind.as_ref())
                    .for_each(|(_, row)| add_compact(&mut sum, &row.service));
            }
        }
        sum
    }

    fn tightest_limit(&self) -> Option<Nanos> {
        self.limits().map(|(_, _, limit)| bound_of(limit)).min()
    }

    fn judge_instances(&self, window: &Window) -> Vec<Vec<LimitResult>> {
        let tiles = self.members.iter().map(|member| member.tile).max().unwrap_or(0) + 1;
        let confidence = 1.0 - (1.0 - CONFIDENCE) / f64::from(tiles);
        self.members
            .iter()
            .enumerate()
            .map(|(index, member)| {
                let limits = self.workload(*member).limits.iter();
                limits
                    .map(|limit| {
                        let samples = self.samples(window, index, limit);
                        alone(judge_limit(limit, &samples, confidence))
                    })
                    .collect()
            })
            .collect()
    }

    fn judge_pooled(&self, window: &Window, instances: &[Vec<LimitResult>]) -> Vec<PooledLimit> {
        let mut pooled = Vec::new();
        for (position, (workload, _)) in self.tile.workloads.iter().enumerate() {
            for (row, limit) in workload.limits.iter().enumerate() {
                let samples = self.pooled_samples(window, position, limit);
                let worst = self
                    .members_of(position)
                    .max_by_key(|(index, _)| instances[*index][row].measured_ns);
                pooled.push(PooledLimit {
                    workload: workload.name.clone(),
                    worst_tile: worst.map(|(_, member)| member.tile),
                    result: judge_limit(limit, &samples, CONFIDENCE),
                });
            }
        }
        pooled
    }

    /// The limit that broke worst, relative to itself: pooled ones before those of one tile.
    fn broken(
        &self,
        pooled: &[PooledLimit],
        instances: &[Vec<LimitResult>],
    ) -> Option<(Member, LimitResult)> {
        let of_all =
            pooled.iter().filter(|pooled| is_failed(&pooled.result)).filter_map(|pooled| {
                let tile = pooled.worst_tile?;
                let member = self.members.iter().find(|member| {
                    member.tile == tile && self.workload(**member).name == pooled.workload
                })?;
                Some((*member, pooled.result.clone()))
            });
        let of_one = self.members.iter().zip(instances).flat_map(|(member, results)| {
            let failed = results.iter().filter(|result| is_failed(result));
            failed.map(|result| (*member, result.clone()))
        });
        worst(of_all).or_else(|| worst(of_one))
    }

    fn verdict(&self, judged: &Judged, window: &Window) -> (Verdict, String) {
        if let Some(reason) = &judged.generator.reason {
            return (Verdict::Inconclusive, format!("the generator was saturated: {reason}"));
        }
        if let Some((member, result)) = &judged.broken {
            let of_all = judged.pooled.iter().any(|pooled| pooled.result == *result);
            let place =
                if of_all { String::new() } else { format!(" in tile {}", member.tile + 1) };
            let sentence = sentence(&self.workload(*member).name, result);
            return (Verdict::Failed, format!("{sentence}{place}"));
        }
        if let Some(reason) = self.gave_up(window).or_else(|| self.did_nothing(window)) {
            return (Verdict::Failed, reason);
        }
        match judged.pooled.iter().find(|pooled| is_undecided(pooled)) {
            Some(pooled) => (Verdict::Inconclusive, sentence(&pooled.workload, &pooled.result)),
            None => (Verdict::Passed, self.closest(judged)),
        }
    }

    /// The sentence of a passed step: the limit with the least room.
    fn closest(&self, judged: &Judged) -> String {
        let measured = judged.pooled.iter().filter(|pooled| pooled.result.measured_ns.is_some());
        let closest = measured.min_by(|a, b| {
            let room = |pooled: &PooledLimit| pooled.result.margin.value.unwrap_or(f64::INFINITY);
            room(a).total_cmp(&room(b))
        });
        match closest {
            Some(pooled) => {
                format!("every limit held; closest: {}", sentence(&pooled.workload, &pooled.result))
            }
            None => "the tile has no limit that could break".to_owned(),
        }
    }

    /// Users who gave up, by workload over all tiles.
    fn gave_up(&self, window: &Window) -> Option<String> {
        self.tile.workloads.iter().enumerate().find_map(|(position, (workload, _))| {
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

    /// A scored workload that finished nothing at all while I/O was under way.
    fn did_nothing(&self, window: &Window) -> Option<String> {
        if window.generator.in_flight_at_ends.1 == 0 {
            return None;
        }
        self.members.iter().zip(&window.instances).find_map(|(member, totals)| {
            let workload = self.workload(*member);
            let counts = workload.metric.count != Counted::None;
            let finished = totals.actions.iter().any(|action| action.count() > 0)
                || totals.kinds.iter().any(|kind| kind.count() > 0);
            let (name, tile, time) = (&workload.name, member.tile + 1, window.duration);
            (counts && !finished)
                .then(|| format!("the {name} of tile {tile} got no answer at all in {time}"))
        })
    }
}

/// One tile alone breaks a limit only if its whole interval does; above the limit by less
/// is within what its samples can show.
fn alone(mut result: LimitResult) -> LimitResult {
    let within = result.interval_low_ns.is_none_or(|low| low <= result.limit_ns);
    let is_percentile = result.statistic.starts_with('p');
    if result.verdict == Verdict::Failed && is_percentile && within {
        result.verdict = Verdict::Inconclusive;
        result.reason = Some("above the limit, but its interval is not".to_owned());
    }
    result
}

fn is_failed(result: &LimitResult) -> bool {
    result.verdict == Verdict::Failed
}

/// A limit with samples, but too few to decide. One nobody did anything for is not: what
/// was never done cannot have been slow, and is reported as a warning instead.
fn is_undecided(pooled: &PooledLimit) -> bool {
    pooled.result.verdict == Verdict::Inconclusive && pooled.result.samples > 0
}

fn worst(broken: impl Iterator<Item = (Member, LimitResult)>) -> Option<(Member, LimitResult)> {
    broken.min_by(|(_, a), (_, b)| {
        let room = |result: &LimitResult| result.margin.value.unwrap_or(f64::INFINITY);
        room(a).total_cmp(&room(b))
    })
}
