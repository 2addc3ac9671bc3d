use run_store::run::{
    Answer, Bottleneck, BrokenLimit, ClimbEnd, ClimbFacts, Edge, Figure, Hysteresis, Interval,
    LeftOut, NextStep, OutOfTime, Resource, Status, Step, Stop, TilesInterval, Verdict,
};

use crate::ladder::{self, Judgement, Ladder};
use crate::plan::ResolvedPlan;
use crate::run::document::RunFacts;
use crate::run::{End, USERS_MAX};
use crate::score::{weighted_total, work_interval};
use crate::verdict::worst_broken;

/// Computes the answer from the steps so far. Its sentences are written when the document is
/// complete: `Run::write_sentences`.
pub fn answer(
    plan: &ResolvedPlan,
    facts: &RunFacts<'_>,
    ladder: &Ladder,
    end: &End,
    steps: &[Step],
) -> Answer {
    let found = AnswerInput { plan, facts, ladder, end, steps };
    let edge = ladder.edge();
    let held = held_of(&edge);
    let (score, score_interval) = score(plan, edge.held, steps);
    Answer {
        status: found.status(),
        tiles_held: held,
        vms_held: held.map(|tiles| tiles.saturating_mul(facts.load.vms)),
        tiles_interval: interval_of(&edge),
        tiles_max: Some(ladder.tiles_max()),
        capacity: facts.room(),
        edge: found.edge(),
        sentence: String::new(),
        first_broken: found.first_broken(),
        bottleneck: found.bottleneck(),
        score,
        score_interval,
        per_kilowatt: Vec::new(),
        progress: String::new(),
        climb: Some(found.climb()),
    }
}

/// Returns the held number of tiles, if known; 0 only if one tile was tried and failed.
pub(crate) fn held_of(edge: &ladder::Edge) -> Option<u32> {
    let none_hold = matches!(edge.stop, Some(Stop::Limit { tiles: 1 }));
    (edge.held > 0 || none_hold).then_some(edge.held)
}

/// Returns the interval of held tiles, if a step at or above the held number was decided.
pub(crate) fn interval_of(edge: &ladder::Edge) -> Option<TilesInterval> {
    held_of(edge).filter(|_| is_decided(edge))?;
    let ladder::Edge { interval, .. } = edge;
    Some(TilesInterval {
        low: interval.low,
        high: interval.high,
        most_likely: Some(interval.most_likely),
        confidence: ladder::CONFIDENCE,
    })
}

fn is_decided(edge: &ladder::Edge) -> bool {
    matches!(edge.stop, Some(Stop::Limit { .. } | Stop::Flat { .. }))
}

/// Returns the mean score over the repeats of the held step. Its interval comes from runs x tiles,
/// or from the slices of a single run.
pub(crate) fn score(plan: &ResolvedPlan, held: u32, steps: &[Step]) -> (Figure, Option<Interval>) {
    let runs: Vec<&Step> =
        steps.iter().filter(|step| step.tiles == held && step.verdict == Verdict::Passed).collect();
    if runs.is_empty() {
        return (Figure::absent("no step held"), None);
    }
    // If a repeat has no total, only the applications' parts can be compared.
    let totals: Option<Vec<f64>> =
        runs.iter().map(|step| step.score.as_ref()?.total.value).collect();
    let is_total = totals.is_some();
    let scores = totals.or_else(|| runs.iter().map(|step| work_of(step)).collect());
    let Some(scores) = scores else {
        return (Figure::absent("the tile has no scored workload"), None);
    };
    #[expect(clippy::cast_precision_loss, reason = "a handful of repeats")]
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let means: Vec<Vec<f64>> = runs
        .iter()
        .filter_map(|step| step.score.as_ref())
        .map(|score| score.tiles.iter().filter_map(|tile| tile.geometric_mean.value).collect())
        .collect();
    let of_one = || runs.first()?.score.as_ref()?.interval.clone();
    let of_all = work_interval(&means, plan.seed);
    let of_all = if is_total { of_all.and_then(|own| weighted(own, &runs)) } else { of_all };
    (Figure::of(mean), of_all.or_else(of_one))
}

/// Returns the interval of the total score, from the interval of the application part. Operations
/// count with their mean, because each repeat has only one value for them.
fn weighted(applications: Interval, runs: &[&Step]) -> Option<Interval> {
    let parts = runs.iter().filter_map(|step| step.score.as_ref()?.infrastructure.value);
    let parts: Vec<f64> = parts.collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of repeats")]
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    let Interval { low, high, confidence, method } = applications;
    let [low, high] = [low, high].map(|part| weighted_total(part, Some(mean)));
    let method = format!("{method}; the mean of the repeats is used for infrastructure operations");
    Interval::new(low?, high?, confidence, method)
}

struct AnswerInput<'a> {
    plan: &'a ResolvedPlan,
    facts: &'a RunFacts<'a>,
    ladder: &'a Ladder,
    end: &'a End,
    steps: &'a [Step],
}

impl AnswerInput<'_> {
    fn status(&self) -> Status {
        let edge = self.ladder.edge();
        if !matches!(self.end, End::Complete) {
            return Status::Interrupted;
        }
        match edge.stop {
            Some(Stop::Inconclusive { .. }) => Status::Inconclusive,
            // An interval is an answer, however wide; without one there is no answer.
            None if self.is_open() => Status::Inconclusive,
            _ => Status::Complete,
        }
    }

    /// Returns true if time ran out before the edge was found.
    fn is_open(&self) -> bool {
        let edge = self.ladder.edge();
        self.ladder.ran_out_of_time()
            && match edge.stop {
                Some(_) => !self.ladder.is_narrow(),
                None => !self.ladder.hit_the_cap(),
            }
    }

    fn edge(&self) -> Edge {
        let is_capacity = self.ladder.hit_the_cap() && self.is_capacity();
        match self.ladder.edge().stop {
            Some(Stop::Limit { .. }) => Edge::LimitBroken,
            Some(Stop::Flat { .. }) => Edge::ThroughputFlat,
            Some(Stop::Inconclusive { .. }) => Edge::None,
            None if is_capacity => Edge::CapacityReached,
            None if matches!(self.end, End::Complete) && !self.is_open() => Edge::LadderEnded,
            None => Edge::None,
        }
    }

    /// Returns true if the datastore, and not the plan, limits the number of tiles.
    fn is_capacity(&self) -> bool {
        self.asked() > self.facts.fits && !self.is_memory()
    }

    /// Returns true if the generator's memory limits the number of tiles.
    fn is_memory(&self) -> bool {
        self.facts.load.kept_in_memory() < self.asked().min(self.facts.fits)
    }

    /// Returns the maximum number of tiles in the plan.
    fn asked(&self) -> u32 {
        let last = self.plan.climb.range().map(|(_, last)| last);
        last.or(self.plan.settings.ladder.tiles_max).unwrap_or(u32::MAX)
    }

    fn first_broken(&self) -> Option<BrokenLimit> {
        let Some(Stop::Limit { tiles }) = self.ladder.edge().stop else { return None };
        let step = self
            .steps
            .iter()
            .find(|step| step.tiles == tiles && step.verdict == Verdict::Failed)?;
        broken_limit(step)
    }

    /// Returns the bottleneck: the datastore's capacity, if that ended the search; otherwise the
    /// bottleneck of the step that failed, or of the held step.
    fn bottleneck(&self) -> Option<Bottleneck> {
        if self.edge() == Edge::CapacityReached {
            return Some(Bottleneck {
                kind: Resource::Capacity,
                name: self.facts.target.datastore.clone(),
                utilisation: None,
                text: format!("the room for disks was exhausted: {} fit", self.facts.fits),
                source: "size of the disks and of the datastore".to_owned(),
            });
        }
        let edge = self.ladder.edge();
        let tiles = edge.stop.map_or(edge.held, Stop::tiles);
        let mut steps = self.steps.iter().filter(|step| step.tiles == tiles);
        let broken = steps.clone().find(|step| step.verdict == Verdict::Failed);
        broken.or_else(|| steps.next_back())?.bottleneck.clone()
    }

    /// Returns facts about the climb, from which `run_store` writes the sentences of the answer.
    fn climb(&self) -> ClimbFacts {
        let ladder = self.ladder;
        let rungs = ladder.rungs();
        let passed = rungs.values().filter(|rung| rung.judgement() == Judgement::Passed).count();
        let is_short_of_memory = ladder.hit_the_cap() && !self.is_capacity() && self.is_memory();
        let hysteresis = ladder.hysteresis();
        ClimbFacts {
            ended: self.ended(),
            stop: ladder.edge().stop,
            out_of_time: self.out_of_time(),
            users_max: is_short_of_memory.then_some(USERS_MAX),
            hysteresis: hysteresis.map(|(tiles, overload)| Hysteresis { tiles, overload }),
            tile_counts: number(rungs.len()),
            tile_counts_passed: number(passed),
            passed_above: ladder.passed_above(),
            failed_below: ladder.failed_below(),
            model_error: None,
        }
    }

    fn ended(&self) -> ClimbEnd {
        match self.end {
            End::Complete => ClimbEnd::Complete,
            End::Interrupted => ClimbEnd::Interrupted,
            End::Failed(error) => ClimbEnd::Failed { error: error.to_string() },
            End::NotYet => ClimbEnd::NotYet,
        }
    }

    fn out_of_time(&self) -> Option<OutOfTime> {
        if let Some(within) = self.facts.within.filter(|_| self.ladder.ran_out_of_time()) {
            return Some(OutOfTime { time_ns: within.0, left_out: Some(self.left_out()) });
        }
        let budget = self.plan.method.budget.filter(|_| self.is_open())?;
        Some(OutOfTime { time_ns: budget.0, left_out: None })
    }

    /// Returns the step that would have run next, and the progress in a range.
    fn left_out(&self) -> LeftOut {
        let next = self.ladder.next_step();
        let range = self.plan.climb.range();
        let steps_asked = range.map(|(first, last)| {
            let counts = last.saturating_sub(first).saturating_add(1);
            counts.saturating_mul(self.plan.repeats)
        });
        let runs: usize = self.ladder.rungs().values().map(|rung| rung.runs.len()).sum();
        LeftOut {
            next: next.map(|next| NextStep { tiles: next.tiles, repeat: next.repeat + 1 }),
            steps_run: number(runs),
            steps_asked,
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Returns a text such as `1 tile`, `2 tiles`.
pub(crate) fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns the limit of a failed step that was exceeded most.
pub fn broken_limit(step: &Step) -> Option<BrokenLimit> {
    let of_all = step.limits.iter();
    let of_all = of_all.map(|pooled| ((pooled.worst_tile, &pooled.workload, 0), &pooled.result));
    let of_one = step.workloads.iter().flat_map(|own| {
        own.limits.iter().map(|limit| ((own.tile, &own.workload, own.copy), limit))
    });
    let ((tile, workload, copy), limit) = worst_broken(of_all, of_one)?;
    Some(BrokenLimit {
        tiles: step.tiles,
        repeat: step.repeat,
        tile,
        workload: workload.clone(),
        copy,
        limit: limit.clone(),
    })
}

/// Returns the work of a step, in tiles' worth.
pub fn work_of(step: &Step) -> Option<f64> {
    step.score.as_ref()?.applications.value
}
