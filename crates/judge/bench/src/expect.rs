//! Judges the expectations of a run against its results.
//!
//! Tiles and score are judged by their intervals. Times are judged from the stored series of a step
//! by the rule for limits: an interval that contains the expected value is inconclusive. Other
//! programs' work makes times longer and scores smaller, so a miss during such work is also
//! inconclusive.

use std::path::Path;

use run_store::run::{Cause, Disturbance, Edge, Expected, Run, Step, Verdict};
use run_store::series::{SeriesError, Slices};
use spec::expect::{Expectation, Quantity, Relation};
use spec::workload::Limit;

use crate::not_slower;
use crate::plan::ResolvedPlan;
use crate::replayed::Replayed;
use crate::step::course::slices_per_block;

/// Judges every expectation of a plan. `directory` contains the series of the run; other runs are
/// in `base`.
///
/// # Errors
///
/// The series cannot be read.
pub fn judged(
    plan: &ResolvedPlan,
    run: &Run,
    directory: &Path,
    base: &Path,
) -> Result<Vec<Expected>, SeriesError> {
    let judge = |expectation: &Expectation| {
        let of_time = expectation.limit(&plan.tile_set).ok().flatten();
        match (&expectation.quantity, of_time) {
            (Quantity::Tiles(wanted), _) => Ok(tiles(expectation, *wanted, run)),
            (Quantity::Score(wanted), _) => Ok(score(expectation, *wanted, run)),
            (Quantity::NotSlower { run: other }, _) => {
                let (verdict, reason) = not_slower::judged((run, directory), (base, other))?;
                Ok(told(expectation, verdict, reason))
            }
            (Quantity::Time { tiles, .. }, Some(limit)) => {
                time(expectation, &limit, *tiles, (plan, run, directory))
            }
            // Resolving a plan refuses such an expectation.
            (Quantity::Time { .. }, None) => {
                Ok(told(expectation, Verdict::Inconclusive, "the tile does not have it".to_owned()))
            }
        }
    };
    plan.settings.expect.iter().map(judge).collect()
}

/// Returns a text such as `1 tile`, `2 tiles`.
fn count(number: u32, noun: &str) -> String {
    units::print::count(u64::from(number), noun)
}

/// Creates a result without numbers.
fn told(expectation: &Expectation, verdict: Verdict, reason: String) -> Expected {
    Expected {
        text: expectation.to_string(),
        verdict,
        reason,
        unit: String::new(),
        found: None,
        low: None,
        high: None,
        tiles: None,
    }
}

fn verdict(decided: Option<bool>) -> Verdict {
    match decided {
        Some(true) => Verdict::Passed,
        Some(false) => Verdict::Failed,
        None => Verdict::Inconclusive,
    }
}

fn tiles(expectation: &Expectation, wanted: u32, run: &Run) -> Expected {
    let Some((found, low, high)) = held(run) else {
        let why = format!("the number of tiles that hold is unknown: {}", run.sentence());
        return Expected {
            unit: "tiles".to_owned(),
            ..told(expectation, Verdict::Inconclusive, why)
        };
    };
    let decided = expectation.relation.decide(low.into(), high.map(f64::from), wanted.into());
    let interval = match high {
        Some(high) if high == low => count(low, "tile"),
        Some(high) => format!("{low} to {}", count(high, "tile")),
        None => format!("at least {}", count(low, "tile")),
    };
    let open = match (decided, high) {
        (None, None) => "; no more were tried, or decided",
        (None, Some(_)) => "; that does not decide",
        _ => "",
    };
    Expected {
        unit: "tiles".to_owned(),
        found: found.map(f64::from),
        low: Some(low.into()),
        high: high.map(f64::from),
        ..told(expectation, verdict(decided), format!("{interval} held{open}"))
    }
}

/// Returns the number of tiles at which all limits are met, with the lower and upper bound of its
/// interval. `None` where a value is unknown.
fn held(run: &Run) -> Option<(Option<u32>, u32, Option<u32>)> {
    let answer = &run.answer;
    match (answer.tiles_held, answer.tiles_interval) {
        (Some(held), Some(interval)) => Some((Some(held), interval.low, interval.high)),
        (Some(held), None) => Some((Some(held), held, None)),
        // A count above one was tried alone and broke: fewer tiles hold, but it is unknown how
        // many.
        (None, _) if answer.edge == Edge::LimitBroken => {
            let broke = answer.first_broken.as_ref()?.tiles;
            Some((None, 0, Some(broke.saturating_sub(1))))
        }
        (None, _) => None,
    }
}

fn score(expectation: &Expectation, wanted: f64, run: &Run) -> Expected {
    let answer = &run.answer;
    let unit = "tiles' worth".to_owned();
    let Some(found) = answer.score.value else {
        let why = "there is no score".to_owned();
        return Expected { unit, ..told(expectation, Verdict::Inconclusive, why) };
    };
    let interval = answer.score_interval.as_ref().map(|own| (own.low, own.high));
    let (low, high) = interval.unwrap_or((found, found));
    let beside = match expectation.relation {
        Relation::AtLeast | Relation::Above => disturbance_of_score(run),
        // A score that is too high would be even higher without the work of others.
        Relation::AtMost | Relation::Below => None,
    };
    let decided = expectation.relation.decide(low, Some(high), wanted);
    let open = if decided.is_none() { "; that does not decide" } else { "" };
    let reason = match interval {
        Some(_) => format!("score {found:.2} ({low:.2} to {high:.2}){open}"),
        None => format!("score {found:.2}, without an interval"),
    };
    let ends = interval.map(|(low, high)| (Some(low), Some(high)));
    let (low, high) = ends.unwrap_or_default();
    let (verdict, reason) = excused(verdict(decided), reason, beside);
    Expected { unit, found: Some(found), low, high, ..told(expectation, verdict, reason) }
}

/// Returns the first disturbance of the steps that the score is based on.
fn disturbance_of_score(run: &Run) -> Option<&Disturbance> {
    let held = run.steps.iter().filter(|step| Some(step.tiles) == run.answer.tiles_held);
    let mut scored = held.filter(|step| step.verdict == Verdict::Passed);
    scored.find_map(|step| step.disturbances.first())
}

/// Changes a miss during other programs' work to inconclusive, as the ladder does with steps.
fn excused(verdict: Verdict, reason: String, beside: Option<&Disturbance>) -> (Verdict, String) {
    match beside {
        Some(disturbance) if verdict == Verdict::Failed => (
            Verdict::Inconclusive,
            format!("{reason}; missed, but the step was disturbed: {disturbance}"),
        ),
        _ => (verdict, reason),
    }
}

/// Judges a time in every repeat of the step. It is missed if one repeat misses it, and met if all
/// repeats meet it.
fn time(
    expectation: &Expectation,
    limit: &(usize, Limit),
    tiles: Option<u32>,
    (plan, run, directory): (&ResolvedPlan, &Run, &Path),
) -> Result<Expected, SeriesError> {
    let meant = tiles.or_else(|| stands_on(run).map(|step| step.tiles));
    let all: Vec<&Step> = run.steps.iter().filter(|step| Some(step.tiles) == meant).collect();
    let unit = "ns".to_owned();
    let Some(first) = all.first() else {
        let counts: Vec<String> = run.steps.iter().map(|step| step.tiles.to_string()).collect();
        let what = tiles.map_or_else(|| "no step".to_owned(), |n| format!("no step of {n} tiles"));
        let why = format!("{what} ran (those that did: {})", counts.join(", "));
        return Ok(Expected { unit, ..told(expectation, Verdict::Inconclusive, why) });
    };
    let fit: Vec<&Step> = all.iter().copied().filter(|step| says_something(step)).collect();
    if fit.is_empty() {
        let why =
            format!("nothing can be said about {}: {}", count(first.tiles, "tile"), first.reason);
        let tiles = Some(first.tiles);
        return Ok(Expected { unit, tiles, ..told(expectation, Verdict::Inconclusive, why) });
    }
    let mut worst: Option<Expected> = None;
    for step in fit {
        let found = in_step(expectation, limit, step, (plan, directory))?;
        let is_worse = |before: &Expected| rank(found.verdict) > rank(before.verdict);
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some(found);
        }
    }
    Ok(worst.expect("at least one step was judged"))
}

/// Returns the severity of a verdict: a miss is most severe, then inconclusive, then met.
const fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Passed => 0,
        Verdict::Inconclusive | Verdict::Interrupted => 1,
        Verdict::Failed => 2,
    }
}

/// Returns the step that the answer is based on: the last one with the held number of tiles, or
/// else the last one.
fn stands_on(run: &Run) -> Option<&Step> {
    let is_held = |step: &&Step| Some(step.tiles) == run.answer.tiles_held;
    run.steps.iter().rev().find(is_held).or(run.steps.last())
}

/// Returns true if a step measured the storage. Even if its limits were undecided, such a step may
/// decide another value.
fn says_something(step: &Step) -> bool {
    match step.verdict {
        Verdict::Passed | Verdict::Failed => true,
        Verdict::Inconclusive => step.cause == Some(Cause::Undecided),
        Verdict::Interrupted => false,
    }
}

fn in_step(
    expectation: &Expectation,
    (position, limit): &(usize, Limit),
    step: &Step,
    (plan, directory): (&ResolvedPlan, &Path),
) -> Result<Expected, SeriesError> {
    // The tile with only this limit, so that the series are judged as a step is.
    let mut tile = plan.tile_set.clone();
    for (at, (workload, _)) in tile.workloads.iter_mut().chain(&mut tile.operations).enumerate() {
        workload.limits = if at == *position { vec![limit.clone()] } else { Vec::new() };
    }
    let mut replayed = Replayed::new(&tile, step, slices_per_block(plan));
    for slice in Slices::of(directory)? {
        let slice = slice?;
        let key = (slice.key.step, slice.key.repeat, slice.key.tiles);
        if key == (step.step, step.repeat, step.tiles) {
            replayed.take(slice);
        }
    }
    let result = replayed.pooled_limit(*position);
    let ns = |value: Option<u64>| value.map(float);
    let of = |value: u64| units::Nanos(value).to_string();
    let found = match (result.measured_ns, result.interval_low_ns, result.interval_high_ns) {
        (Some(found), Some(low), Some(high)) => {
            format!("{} ({} to {})", of(found), of(low), of(high))
        }
        (Some(found), ..) => of(found),
        (None, ..) => "nothing".to_owned(),
    };
    let why = result.reason.as_ref().map_or_else(String::new, |why| format!("; {why}"));
    let reason =
        format!("{found} with {}, {} samples{why}", count(step.tiles, "tile"), result.samples);
    // Limits include their own value; "below" excludes it.
    let is_at =
        expectation.relation == Relation::Below && result.measured_ns == Some(result.limit_ns);
    let verdict = if is_at { Verdict::Failed } else { result.verdict };
    let (verdict, reason) = excused(verdict, reason, step.disturbances.first());
    Ok(Expected {
        unit: "ns".to_owned(),
        found: ns(result.measured_ns),
        low: ns(result.interval_low_ns),
        high: ns(result.interval_high_ns),
        tiles: Some(step.tiles),
        ..told(expectation, verdict, reason)
    })
}

#[expect(clippy::cast_precision_loss, reason = "times of a step are far below 2^53 ns")]
fn float(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use run_store::run::{Figure, Interval, TilesInterval};

    use super::*;

    fn run(held: Option<u32>, interval: Option<(u32, Option<u32>)>) -> Run {
        let mut run = fixtures::run(1, Vec::new());
        run.answer.tiles_held = held;
        run.answer.tiles_interval = interval.map(|(low, high)| TilesInterval {
            low,
            high,
            most_likely: None,
            confidence: 0.95,
        });
        run.answer.edge = Edge::None;
        run
    }

    fn of_tiles(text: &str, run: &Run) -> Verdict {
        let expectation: Expectation = text.parse().expect("an expectation");
        let Quantity::Tiles(wanted) = expectation.quantity else { panic!("{text} is of tiles") };
        tiles(&expectation, wanted, run).verdict
    }

    #[test]
    fn tiles_are_held_by_their_interval() {
        let narrow = run(Some(8), Some((8, Some(9))));
        assert_eq!(of_tiles("tiles >= 8", &narrow), Verdict::Passed);
        assert_eq!(of_tiles("tiles >= 10", &narrow), Verdict::Failed);
        assert_eq!(of_tiles("tiles >= 9", &narrow), Verdict::Inconclusive);
        let open = run(Some(8), None);
        assert_eq!(of_tiles("tiles >= 8", &open), Verdict::Passed, "at least 8");
        assert_eq!(of_tiles("tiles >= 9", &open), Verdict::Inconclusive, "9 were not tried");
        assert_eq!(of_tiles("tiles >= 1", &run(None, None)), Verdict::Inconclusive);
    }

    #[test]
    fn lone_broken_count_is_missed_and_fewer_tiles_are_unknown() {
        let mut broke = run(None, None);
        broke.answer.edge = Edge::LimitBroken;
        let golden = include_str!("../../../base/run-store/tests/golden/run-1.0.json");
        let golden = run_store::run::parse(golden).expect("a run");
        let mut limit = golden.answer.first_broken.expect("the golden run broke a limit");
        limit.tiles = 8;
        broke.answer.first_broken = Some(limit);
        assert_eq!(of_tiles("tiles >= 8", &broke), Verdict::Failed);
        assert_eq!(of_tiles("tiles >= 4", &broke), Verdict::Inconclusive);
    }

    #[test]
    fn a_score_is_held_by_its_interval() {
        let of = |run: &Run| {
            let expectation: Expectation = "score >= 7.5".parse().expect("an expectation");
            score(&expectation, 7.5, run).verdict
        };
        let mut scored = run(Some(8), None);
        scored.answer.score = Figure::of(8.0);
        let interval = |low, high| Interval::new(low, high, 0.95, "made up".to_owned());
        scored.answer.score_interval = interval(7.6, 8.4);
        assert_eq!(of(&scored), Verdict::Passed);
        scored.answer.score_interval = interval(7.4, 8.4);
        assert_eq!(of(&scored), Verdict::Inconclusive);
        scored.answer.score_interval = interval(7.0, 7.4);
        assert_eq!(of(&scored), Verdict::Failed);
        scored.answer.score = Figure::absent("nothing ran");
        assert_eq!(of(&scored), Verdict::Inconclusive);
    }

    #[test]
    fn score_missed_in_a_disturbed_step_is_inconclusive() {
        let of = |run: &Run, text: &str| {
            let expectation: Expectation = text.parse().expect("an expectation");
            let Quantity::Score(wanted) = expectation.quantity else { panic!("of the score") };
            score(&expectation, wanted, run)
        };
        let mut scored = fixtures::run(1, vec![fixtures::disturbed(fixtures::step(8, 1.0))]);
        scored.answer.tiles_held = Some(8);
        scored.answer.score = Figure::of(7.0);
        scored.answer.score_interval = Interval::new(6.9, 7.1, 0.95, "made up".to_owned());
        let missed = of(&scored, "score >= 7.5");
        assert_eq!(missed.verdict, Verdict::Inconclusive, "{missed:?}");
        assert!(missed.reason.contains("most of it cc"), "{}", missed.reason);
        assert_eq!(of(&scored, "score >= 6").verdict, Verdict::Passed, "met beside others is met");
        assert_eq!(of(&scored, "score <= 6").verdict, Verdict::Failed, "more without them");
        scored.steps[0].disturbances.clear();
        assert_eq!(of(&scored, "score >= 7.5").verdict, Verdict::Failed);
    }

    #[test]
    fn miss_beside_other_work_is_excused_and_a_hit_stays() {
        let beside = fixtures::disturbed(fixtures::step(2, 1.0));
        let of =
            |verdict, step: &Step| excused(verdict, "3 ms".to_owned(), step.disturbances.first());
        let (verdict, reason) = of(Verdict::Failed, &beside);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reason.starts_with("3 ms; ") && reason.contains("other processes"), "{reason}");
        let met = (Verdict::Passed, "3 ms".to_owned());
        assert_eq!(of(Verdict::Passed, &beside), met);
        let alone = fixtures::step(2, 1.0);
        assert_eq!(of(Verdict::Failed, &alone).0, Verdict::Failed);
    }
}
