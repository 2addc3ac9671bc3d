use run_store::run::{
    Answer, Bottleneck, BrokenLimit, Edge, Figure, Interval, Resource, Status, Step, TilesInterval,
    Verdict, score_clause,
};
use units::Bytes;

use crate::ladder::{self, Judgement, Ladder, Stop};
use crate::plan::ResolvedPlan;
use crate::run::document::{RunFacts, profile_name};
use crate::run::{End, USERS_MAX};
use crate::score::{weighted_total, work_interval};
use crate::verdict::worst_broken;

/// What the steps so far say.
pub fn answer(
    plan: &ResolvedPlan,
    facts: &RunFacts<'_>,
    ladder: &Ladder,
    end: &End,
    steps: &[Step],
) -> Answer {
    let words = Words { plan, facts, ladder, end, steps };
    let edge = ladder.edge();
    let held = held_of(&edge);
    let (score, score_interval) = score(plan, edge.held, steps);
    Answer {
        status: words.status(),
        tiles_held: held,
        vms_held: held.map(|tiles| tiles.saturating_mul(facts.load.vms)),
        tiles_interval: interval_of(&edge),
        tiles_max: Some(ladder.tiles_max()),
        capacity: facts.room(),
        edge: words.edge(),
        sentence: words.sentence(score.value),
        first_broken: words.first_broken(),
        bottleneck: words.bottleneck(),
        score,
        score_interval,
        per_kilowatt: Vec::new(),
        progress: words.progress(),
    }
}

/// Tiles held, if that is known: none at all only if one tile was tried and did not hold.
pub(crate) fn held_of(edge: &ladder::Edge) -> Option<u32> {
    let none_hold = matches!(edge.stop, Some(Stop::Limit { tiles: 1 }));
    (edge.held > 0 || none_hold).then_some(edge.held)
}

/// Where the count that holds lies, if something above or at what is held was tried and decided.
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

/// The mean over the repeats of the held step; its interval from runs x tiles, or from the
/// slices of the one run there is.
pub(crate) fn score(plan: &ResolvedPlan, held: u32, steps: &[Step]) -> (Figure, Option<Interval>) {
    let runs: Vec<&Step> =
        steps.iter().filter(|step| step.tiles == held && step.verdict == Verdict::Passed).collect();
    if runs.is_empty() {
        return (Figure::absent("no step held"), None);
    }
    // Of repeats of which one has no total, only the parts of applications compare.
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

/// The interval of scores from that of their applications' parts: where operations ran, these count
/// with their mean, as each repeat has one value of them.
fn weighted(applications: Interval, runs: &[&Step]) -> Option<Interval> {
    let parts = runs.iter().filter_map(|step| step.score.as_ref()?.infrastructure.value);
    let parts: Vec<f64> = parts.collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of repeats")]
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    let Interval { low, high, confidence, method } = applications;
    let [low, high] = [low, high].map(|part| weighted_total(part, Some(mean)));
    let method = format!("{method}; infrastructure operations with the mean of the repeats");
    Interval::new(low?, high?, confidence, method)
}

struct Words<'a> {
    plan: &'a ResolvedPlan,
    facts: &'a RunFacts<'a>,
    ladder: &'a Ladder,
    end: &'a End,
    steps: &'a [Step],
}

impl Words<'_> {
    fn status(&self) -> Status {
        let edge = self.ladder.edge();
        if !matches!(self.end, End::Complete) {
            return Status::Interrupted;
        }
        match edge.stop {
            Some(Stop::Inconclusive { .. }) => Status::Inconclusive,
            // An interval is an answer, however wide; without one there is none.
            None if self.is_open() => Status::Inconclusive,
            _ => Status::Complete,
        }
    }

    /// Whether time ran out before the edge was found.
    fn is_open(&self) -> bool {
        let edge = self.ladder.edge();
        self.ladder.ran_out_of_time()
            && match edge.stop {
                Some(_) => !self.ladder.is_narrow(),
                None => !self.ladder.hit_the_cap(),
            }
    }

    /// Whether something above or at what is held was tried and decided.
    fn is_decided(&self) -> bool {
        is_decided(&self.ladder.edge())
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

    /// Whether the cap is the datastore's, not the plan's.
    fn is_capacity(&self) -> bool {
        self.asked() > self.facts.fits && !self.is_memory()
    }

    /// Whether the cap is the generator's.
    fn is_memory(&self) -> bool {
        self.facts.load.kept_in_memory() < self.asked().min(self.facts.fits)
    }

    /// The most tiles the plan asks for.
    fn asked(&self) -> u32 {
        let last = self.plan.climb.range().map(|(_, last)| last);
        last.or(self.plan.settings.ladder.tiles_max).unwrap_or(u32::MAX)
    }

    fn sentence(&self, score: Option<f64>) -> String {
        let mut text = match self.end {
            End::Complete => self.scale(),
            End::Interrupted => "interrupted: ".to_owned(),
            End::Failed(error) => format!("ended by an error ({error}): "),
            End::NotYet => "so far: ".to_owned(),
        };
        let edge = self.ladder.edge();
        text += &match (edge.held, edge.stop) {
            (0, None) => format!("no step was finished{}", self.out_of_time()),
            (0, Some(stop)) => {
                let said = match stop {
                    Stop::Limit { .. } => format!("{} does not hold", self.facts.target.subject()),
                    _ => "nothing can be said about".to_owned(),
                };
                let (tiles, reason) = (self.tiles(stop.tiles()), self.reason(stop.tiles()));
                format!("{said} {tiles}: {reason}")
            }
            (held, stop) => self.holds(held, stop),
        };
        if let Some(found) = self.bottleneck().filter(|_| self.is_decided()) {
            text += &format!("; {}", found.text);
        }
        if let Some(score) = score {
            text += &score_clause(score);
        }
        text
    }

    /// What a reader must know before any number: that disks were smaller than they would be.
    fn scale(&self) -> String {
        match self.plan.footprint {
            footprint if footprint < 1.0 && !self.facts.target.is_simulated() => format!(
                "{} estimate with disks 1/{:.0} of their size: {}by speed, ",
                profile_name(self.plan.profile),
                1.0 / footprint,
                self.search()
            ),
            _ if self.facts.search.is_some() => format!("disks of full size: {}", self.search()),
            _ => String::new(),
        }
    }

    /// Both ends of the edge that was found with smaller disks.
    fn search(&self) -> String {
        let Some((bytes, held, failed)) = self.facts.search else { return String::new() };
        let held = count(held, "tile");
        format!(
            "with {bytes} of disks per tile {held} passed and {failed} failed; confirmed with {} \
             per tile: ",
            self.facts.load.bytes
        )
    }

    fn holds(&self, held: u32, stop: Option<Stop>) -> String {
        let subject = self.facts.target.subject();
        let tail = match stop {
            Some(Stop::Limit { tiles }) => {
                format!("; {} because {}", fails(tiles, tiles == held + 1), self.reason(tiles))
            }
            Some(Stop::Flat { tiles, gain }) if gain < 0.0 => {
                format!("; {} do less work than fewer", count(tiles, "tile"))
            }
            Some(Stop::Flat { tiles, gain }) => {
                format!("; tile {tiles} adds {:.1} % of a tile's work", gain * 100.0)
            }
            Some(Stop::Inconclusive { tiles }) => {
                format!("; nothing can be said about {tiles}: {}", self.reason(tiles))
            }
            None => self.cap(),
        };
        let told = self.told(held);
        format!("{subject} holds {told}{tail}{}{}", self.out_of_time(), self.hysteresis())
    }

    /// `27 tiles (216 VMs)`, `26 to 29 tiles (95 %), 27 most likely`, `at least ...`. An interval
    /// names no VMs: those to plan with are `Run::plan_text`'s.
    fn told(&self, held: u32) -> String {
        let interval = self.ladder.edge().interval;
        let tiles = self.tiles(held);
        match interval.high {
            Some(high) if self.is_decided() && (interval.low, high) == (held, held) => tiles,
            Some(high) if self.is_decided() => {
                let (low, likely) = (interval.low, interval.most_likely);
                let sure = ladder::CONFIDENCE * 100.0;
                let ran = match likely == held {
                    true => String::new(),
                    false => format!("; {} ran and held", count(held, "tile")),
                };
                format!("{low} to {high} tiles ({sure:.0} %), {likely} most likely{ran}")
            }
            _ => format!("at least {tiles}"),
        }
    }

    fn hysteresis(&self) -> String {
        self.ladder.hysteresis().map_or_else(String::new, |(before, overload)| {
            format!(
                "; {} passed before the overload with {overload} and failed after it and a rest",
                count(before, "tile")
            )
        })
    }

    fn out_of_time(&self) -> String {
        if let Some(within) = self.facts.within.filter(|_| self.ladder.ran_out_of_time()) {
            return format!("; the time of {within} ended before {}", self.left_out());
        }
        match self.plan.method.budget {
            Some(budget) if self.is_open() && self.is_decided() => {
                format!("; the time of {budget} ended before more was known")
            }
            Some(budget) if self.is_open() => {
                format!("; the time of {budget} ended the search before the edge was found")
            }
            _ => String::new(),
        }
    }

    /// What would have been run next, and how much of a range was.
    fn left_out(&self) -> String {
        let next = self.ladder.next_step().map_or_else(
            || "its last step was over".to_owned(),
            |next| format!("run {} of {}", next.repeat + 1, count(next.tiles, "tile")),
        );
        let Some((first, last)) = self.plan.climb.range() else { return next };
        let all = last.saturating_sub(first).saturating_add(1);
        let all = all.saturating_mul(self.plan.repeats);
        let done: usize = self.ladder.rungs().values().map(|rung| rung.runs.len()).sum();
        format!("{next}: {done} of {} were run", count(all, "step"))
    }

    fn cap(&self) -> String {
        if !matches!(self.end, End::Complete) || self.is_open() {
            String::new()
        } else if self.ladder.hit_the_cap() && self.is_capacity() {
            let (capacity, load) = (self.facts.target.capacity_bytes, self.facts.load.bytes);
            let capacity = Bytes::new(capacity.unwrap_or(0));
            let next = self.facts.fits.saturating_add(1);
            if self.facts.target.is_simulated() && load * u64::from(next) <= capacity {
                // All pools together would hold it, but not the one in which it would lie.
                return format!(
                    "; capacity, not speed, was the limit: the array has no room for tile {next}"
                );
            }
            format!(
                "; capacity, not speed, was the limit: {capacity} hold {} of {load} each",
                self.facts.fits
            )
        } else if self.ladder.hit_the_cap() && self.is_memory() {
            let most = units::print::count(USERS_MAX, "user");
            format!(", the most whose users are kept in memory (at most {most})")
        } else {
            ", the most this run was asked to try".to_owned()
        }
    }

    /// `6 tiles (48 VMs)`.
    fn tiles(&self, tiles: u32) -> String {
        let vms = tiles.saturating_mul(self.facts.load.vms);
        format!("{} ({})", count(tiles, "tile"), count(vms, "VM"))
    }

    /// Why the step with this many tiles did not pass.
    fn reason(&self, tiles: u32) -> String {
        let steps = self.steps.iter().filter(|step| step.tiles == tiles);
        let failed = |verdict| steps.clone().find(|step| step.verdict == verdict);
        if let Some(step) = failed(Verdict::Failed).or_else(|| failed(Verdict::Inconclusive)) {
            return step.reason.clone();
        }
        let disturbance = steps.clone().find_map(|step| step.disturbances.first());
        disturbance.map_or_else(
            || "it did not pass".to_owned(),
            |found| format!("no more work was done than by fewer, beside others: {found}"),
        )
    }

    fn first_broken(&self) -> Option<BrokenLimit> {
        let Some(Stop::Limit { tiles }) = self.ladder.edge().stop else { return None };
        let step = self
            .steps
            .iter()
            .find(|step| step.tiles == tiles && step.verdict == Verdict::Failed)?;
        broken_limit(step)
    }

    /// What was at its limit: room, if that ended the search; else what was in the step that
    /// broke, or in the one that held.
    fn bottleneck(&self) -> Option<Bottleneck> {
        if self.edge() == Edge::CapacityReached {
            return Some(Bottleneck {
                kind: Resource::Capacity,
                name: self.facts.target.datastore.clone(),
                utilisation: None,
                text: format!("room for disks was at its limit: {} fit", self.facts.fits),
                source: "size of the disks and of the datastore".to_owned(),
            });
        }
        let edge = self.ladder.edge();
        let tiles = edge.stop.map_or(edge.held, Stop::tiles);
        let mut steps = self.steps.iter().filter(|step| step.tiles == tiles);
        let broken = steps.clone().find(|step| step.verdict == Verdict::Failed);
        broken.or_else(|| steps.next_back())?.bottleneck.clone()
    }

    fn progress(&self) -> String {
        let runs = self.steps.len();
        let rungs = self.ladder.rungs();
        let passed = rungs.values().filter(|rung| rung.judgement() == Judgement::Passed).count();
        let runs = count(u32::try_from(runs).unwrap_or(u32::MAX), "run");
        let counts = count(u32::try_from(rungs.len()).unwrap_or(u32::MAX), "tile count");
        let mut text = format!("{runs} of {counts}, {passed} passed");
        let lists = [
            ("more tiles than held passed", self.ladder.passed_above()),
            ("fewer tiles than held failed", self.ladder.failed_below()),
        ];
        for (what, counts) in lists.iter().filter(|(_, counts)| !counts.is_empty()) {
            let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
            let counts = counts.join(", ");
            text += &format!("; {what} ({counts}): near the edge passing is partly luck");
        }
        match self.end {
            End::Complete => text,
            End::Interrupted => format!("{text}; interrupted"),
            End::Failed(_) => format!("{text}; ended by an error"),
            End::NotYet => format!("{text} so far"),
        }
    }
}

/// `1 tile`, `2 tiles`.
pub(crate) fn count(number: u32, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn fails(tiles: u32, sharp: bool) -> String {
    if sharp { format!("tile {tiles} fails") } else { format!("{tiles} tiles fail") }
}

/// The limit of a failed step that broke worst.
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

/// Work of a step, in tiles' worth.
pub fn work_of(step: &Step) -> Option<f64> {
    step.score.as_ref()?.applications.value
}
