use std::collections::BTreeMap;

use run_store::run::{Step, Verdict};
use spec::array::Array;

use super::climb::Climbed;
use super::document::{
    Bottleneck, Broken, ModelError, ModelKind, Point, SCHEMA, SeedEdge, Side, Stopped, WhatIf,
};
use super::model_error::model_error;
use super::options::Options;
use super::utilisation::bottleneck;
use super::{Changed, Subject};
use bench::run::{TileLoad, broken_limit, times, work_of};

/// Utilisation below which a part is no bottleneck; our choice.
const HALF: f64 = 0.5;

/// Results of all computations for an answer.
pub(super) struct Answered<'a> {
    pub subject: &'a Subject,
    pub changed: &'a Changed,
    pub options: &'a Options,
    pub load: TileLoad,
    /// Seeds with both sides searched.
    pub seeds: Vec<u64>,
    pub sides: [Vec<Climbed>; 2],
    pub tiles_max: [u32; 2],
    /// Measured tile counts, simulated on the unchanged array.
    pub modelled: BTreeMap<u32, Step>,
}

impl Answered<'_> {
    pub fn document(&self) -> WhatIf {
        let Subject { run, array, model, .. } = self.subject;
        let error = (!run.target.is_simulated())
            .then(|| model_error((run, *model), &self.modelled, edges(&self.sides[0])));
        let calibrated = || array.calibration.as_ref()?.factors();
        let measured = error.as_ref().map(|error| (error.low_factor, error.high_factor));
        let factors = measured.or_else(calibrated).unwrap_or((1.0, 1.0));
        let base = side(&self.sides[0], array, self.tiles_max[0], factors);
        let mut changed = side(&self.sides[1], &self.changed.array, self.tiles_max[1], factors);
        if self.changed.changes.iter().any(|change| change.may_do_nothing) {
            (changed.low, changed.high) = (changed.low.min(base.low), changed.high.max(base.high));
        }
        let refused = error.as_ref().and_then(|error| error.refused.clone());
        let refused = refused.or_else(|| undecided(&changed, self.options.lengthen_max));
        let known = array.calibration.as_ref().filter(|_| error.is_none());
        let too_far = known.filter(|known| known.is_too_far_off());
        let refused = refused.or_else(|| too_far.map(|known| known.sentence()));
        WhatIf {
            schema: SCHEMA.to_owned(),
            tool: self.options.tool.clone(),
            run: run.id.clone(),
            run_said: run.sentence(),
            run_simulated: run.target.is_simulated(),
            tile: run.tile.name.clone(),
            vms_per_tile: self.load.vms,
            model: *model,
            array: array.title.clone(),
            changes: self.changed.changes.iter().map(|change| change.words.clone()).collect(),
            conclusive: refused.is_none(),
            estate: run.tile.estate.filter(|_| refused.is_none()).map(|own| {
                let carries =
                    |side: &Side| own.machines(side.low, (!side.at_least).then_some(side.high));
                format!(
                    "of the estate it would carry {} instead of {}",
                    carries(&changed),
                    carries(&base)
                )
            }),
            sentence: match refused {
                Some(why) => format!("this model cannot answer: {why}"),
                None => self.sentence(&base, &changed, error.as_ref()),
            },
            assumptions: self.assumptions(&base),
            base,
            changed,
            model_error: error,
            seeds: self.seeds.clone(),
        }
    }

    fn sentence(&self, base: &Side, changed: &Side, error: Option<&ModelError>) -> String {
        let words: Vec<String> =
            self.changed.changes.iter().map(|change| change.words.clone()).collect();
        let subject = match self.subject.model {
            ModelKind::Own | ModelKind::Other => "this array",
            ModelKind::Given | ModelKind::Fitted => "this storage",
        };
        let instead = match error.and_then(|error| Some((error, error.measured_tiles?))) {
            Some((error, measured)) if error.reproduced && !error.measured_at_least => {
                format!("the measured {measured}")
            }
            Some((_, measured)) => {
                format!("the measured {measured} (the model says {})", range(base))
            }
            None => range(base),
        };
        let rough = match self.subject.model {
            ModelKind::Fitted => "a rough guess from the run alone: ",
            ModelKind::Own | ModelKind::Other | ModelKind::Given => "",
        };
        format!(
            "{rough}with {} {subject} would hold {} ({}) instead of {instead}; {}; {}{}",
            listed(&words),
            held(changed),
            interval(changed),
            breaks(changed),
            busiest(changed.bottleneck.as_ref()),
            self.left_out()
        )
    }

    /// Returns a note on seeds that were left out because the time had ended; empty if there are
    /// none.
    fn left_out(&self) -> String {
        let (done, all) = (self.seeds.len(), self.options.repeats);
        match self.options.within {
            Some(within) if done < all as usize => {
                format!("; the time of {within} ended after {done} of {all} seeds")
            }
            _ => String::new(),
        }
    }

    /// Returns sentences about the array that represents the storage of the run.
    fn stand_in(&self) -> Vec<String> {
        let Subject { array, model, .. } = self.subject;
        match model {
            ModelKind::Own => vec!["the array is that of the run, every key of it".to_owned()],
            ModelKind::Other => {
                vec![format!("the array is \"{}\", not that of the run", array.name)]
            }
            ModelKind::Given => vec![format!(
                "the array \"{}\" stands for the measured storage; its calibration is used \
                unchanged",
                array.name
            )],
            ModelKind::Fitted => [
                "the storage is modelled as equal servers or as hard disks, some behind a link or \
                 memory; the model is fitted to latency and throughput of the run's steps",
                "a model from a run alone is rough. On simulated storages its intervals contained \
                 the true result, but they were wide (docs/what-if-proof.md). An array with the \
                 parts of the storage (--array) is more exact",
            ]
            .map(str::to_owned)
            .to_vec(),
        }
    }

    fn assumptions(&self, base: &Side) -> Vec<String> {
        let Subject { run, array, model, .. } = self.subject;
        let mut assumed: Vec<String> =
            self.changed.changes.iter().flat_map(|change| change.assumed.clone()).collect();
        assumed.extend(self.stand_in());
        if let Some(known) = &array.calibration {
            assumed.push(format!("the array is calibrated: {}", known.sentence()));
        }
        if matches!(model, ModelKind::Given | ModelKind::Fitted) && array.hosts.is_none() {
            assumed.push(
                "the hosts' processors are never overloaded: CPU steps take their nominal time"
                    .to_owned(),
            );
        }
        assumed.push(
            "users arrive, think and pick addresses as the tile says; its locality decides what a \
             cache holds"
                .to_owned(),
        );
        assumed.push("caches are warm when measuring begins, and nothing fails".to_owned());
        let scale = &run.scale;
        if scale.footprint < 1.0 {
            assumed.push(format!(
                "disks have {:.4} of their full size, as in the run: a cache holds a larger share \
                 of them than at full size",
                scale.footprint
            ));
        }
        let spread = match self.seeds.len() {
            1 => "only one seed ran, so the spread between seeds is unknown".to_owned(),
            many => format!(
                "the interval spans the smallest and the largest result of {many} seeds, the same \
                for both arrays"
            ),
        };
        assumed.push(format!(
            "{spread}{}",
            if run.target.is_simulated() && array.calibration.is_none() {
                ""
            } else {
                ", widened by the error of the model"
            }
        ));
        if *model == ModelKind::Own && run.answer.tiles_held.is_some_and(|held| held != base.tiles)
        {
            assumed.push(format!(
                "the run itself held {}: a step of the run passes only if all its repeats pass",
                run.answer.tiles_held.unwrap_or(0)
            ));
        }
        assumed
    }
}

/// Returns the reason for a missing answer if most searches of the changed array ended at an
/// undecided step, although every step was simulated for its maximum time. Undecided steps of the
/// unchanged array only widen the interval of that array, because its edge was measured.
fn undecided(changed: &Side, lengthen_max: u32) -> Option<String> {
    let all = changed.edges.len();
    let stopped = changed.edges.iter().filter(|edge| edge.stopped == Stopped::Inconclusive);
    let open = stopped.count();
    (2 * open > all).then(|| {
        format!(
            "{open} of {all} searches of the changed array ended at an undecided step, even \
             measured for {lengthen_max} times as long"
        )
    })
}

/// Returns the range of the edges. If a search ended at an undecided step, its edge is between that
/// step and the last count that passed.
fn edges(climbs: &[Climbed]) -> (u32, u32) {
    let held = climbs.iter().map(|climb| climb.edge.held);
    let open = climbs.iter().filter_map(Climbed::undecided);
    (held.clone().min().unwrap_or(0), held.chain(open).max().unwrap_or(0))
}

fn side(climbs: &[Climbed], array: &Array, tiles_max: u32, factors: (f64, f64)) -> Side {
    let edges: Vec<SeedEdge> = climbs.iter().map(Climbed::seed_edge).collect();
    let mut held: Vec<u32> = edges.iter().map(|edge| edge.tiles).collect();
    held.sort_unstable();
    let tiles = held.get(held.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    let (low, high) = self::edges(climbs);
    let typical = climbs.iter().find(|climb| climb.edge.held == tiles);
    let last = typical.and_then(Climbed::last_step);
    Side {
        tiles,
        low: times(low, factors.0, f64::floor),
        high: times(high, factors.1, f64::ceil).min(tiles_max.max(high)),
        at_least: typical.is_some_and(|climb| climb.edge.stop.is_none()),
        tiles_max,
        breaks: last.filter(|step| step.tiles > tiles).map(|step| Broken {
            tiles: step.tiles,
            reason: reason(step),
            limit: broken_limit(step),
        }),
        bottleneck: last.and_then(|step| bottleneck(step, array)),
        points: points(climbs),
        edges,
    }
}

fn reason(step: &Step) -> String {
    match step.verdict {
        Verdict::Passed => "the last tile adds no work".to_owned(),
        _ => step.reason.clone(),
    }
}

fn points(climbs: &[Climbed]) -> Vec<Point> {
    let mut points: Vec<Point> = climbs
        .iter()
        .flat_map(|climb| climb.steps.values().map(|step| (climb.seed, step)))
        .map(|(seed, step)| Point {
            tiles: step.tiles,
            seed,
            verdict: step.verdict,
            reason: step.reason.clone(),
            work: work_of(step),
            operations_per_s: step.throughput.operations_per_s,
        })
        .collect();
    // Stable sort, so that the seeds stay in their order.
    points.sort_by_key(|point| point.tiles);
    points
}

/// Joins words as a list: `a`, `a and b`, `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn held(side: &Side) -> String {
    let least = if side.at_least { "at least " } else { "" };
    format!("{least}{} tile{}", side.tiles, if side.tiles == 1 { "" } else { "s" })
}

fn range(side: &Side) -> String {
    let least = if side.at_least { "at least " } else { "" };
    let lowest = side.edges.iter().map(|edge| edge.tiles).min().unwrap_or(0);
    let highest = side.edges.iter().map(|edge| edge.tiles).max().unwrap_or(0);
    if lowest == highest {
        format!("{least}{}", side.tiles)
    } else {
        format!("{least}{} ({lowest} to {highest})", side.tiles)
    }
}

/// Returns a text such as `interval 4 to 6`, or `interval 4 or more` if a search ended because no
/// more tiles fit. One seed has no interval, except by the error of the model.
fn interval(side: &Side) -> String {
    match side.edges.len() {
        1 if side.low == side.high => "one seed, so without an interval".to_owned(),
        _ => format!("interval {}", side.interval()),
    }
}

fn breaks(side: &Side) -> String {
    match &side.breaks {
        Some(broken) => {
            format!("with {}, the first limit to break is: {}", broken.tiles, broken.reason)
        }
        None => format!("no limit breaks up to the {} that were tried", side.tiles_max),
    }
}

fn busiest(part: Option<&Bottleneck>) -> String {
    let Some(part) = part else { return "no part of it reports its utilisation".to_owned() };
    if part.utilisation < HALF {
        return format!(
            "no part is busy more than {:.0} % ({}), so queueing is not the limit",
            part.utilisation * 100.0,
            part.part
        );
    }
    format!(
        "bottleneck by the utilisation law U = X x D: {}, {:.0} % = {:.2} tiles' worth x {:.1} %, \
         full at {:.1}",
        part.part,
        part.utilisation * 100.0,
        part.work,
        part.demand * 100.0,
        part.tiles_full
    )
}

#[cfg(test)]
mod tests {
    use bench::ladder::{Climb, Edge, Ladder, LadderOptions};
    use run_store::run::Stop;

    use super::*;

    fn climbed(held: u32, stop: Stop) -> Climbed {
        let ladder = Ladder::new(LadderOptions {
            climb: Climb::Bisect,
            repeats: 1,
            precision: 0.0,
            in_real_time: false,
            first: 1,
            tiles_max: 20,
            gain_min: LadderOptions::GAIN_MIN,
            budget: None,
        });
        let mut edge = ladder.edge();
        (edge.held, edge.stop) = (held, Some(stop));
        Climbed { seed: 1, edge, steps: BTreeMap::new() }
    }

    #[test]
    fn interval_reaches_to_a_step_that_stays_undecided() {
        let limit = |held| climbed(held, Stop::Limit { tiles: held + 1 });
        let open = |held, tiles| climbed(held, Stop::Inconclusive { tiles });
        let array = spec::shipped::array("hdd-raid10").expect("it is shipped");
        let side = |climbs: &[Climbed]| side(climbs, &array, 20, (1.0, 1.0));

        let one = side(&[limit(5), limit(5), open(4, 7)]);
        assert_eq!((one.tiles, one.low, one.high), (5, 4, 7));
        assert_eq!(interval(&one), "interval 4 to 7");
        assert_eq!(undecided(&one, 4), None, "one of three");

        let full = || Climbed { edge: Edge { held: 20, stop: None, ..limit(5).edge }, ..limit(5) };
        let room = side(&[limit(17), full(), full()]);
        assert_eq!((room.tiles, room.at_least), (20, true));
        assert_eq!(interval(&room), "interval 17 or more", "20 was all the room");

        let most = side(&[open(5, 6), open(5, 6), limit(5)]);
        assert!(undecided(&most, 4).is_some(), "two of three");
    }
}
