use std::collections::BTreeMap;

use stats::{EdgeEstimate, EdgeModel, Trial};

use crate::ladder::{Judgement, Rung, StepResult};

/// Confidence of the interval of tiles held.
pub const CONFIDENCE: f64 = 0.95;

/// A plateau is believed when even the upper end of the work's interval adds less than this
/// per added tile, as a share of a tile's own work. Our choice: a quarter, which the steps of a search reach
/// on a real plateau after one doubling or two, because they add many tiles at once; near an
/// edge, where one tile is added, a few seconds of work vary by more than a tile.
const GAIN_HIGH_MAX: f64 = 0.25;

/// What is above the tiles held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stop {
    /// A limit was broken at this many tiles.
    Limit {
        /// The step that failed.
        tiles: u32,
    },
    /// This many tiles did no more work than the step before.
    Flat {
        /// The step that added nothing.
        tiles: u32,
        /// Work added per added tile, as a share of a tile's own work; may be negative.
        gain: f64,
    },
    /// Nothing can be said about this many tiles.
    Inconclusive {
        /// The step without a verdict.
        tiles: u32,
    },
}

impl Stop {
    /// The step that is meant.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}

/// Where the steps put the edge: every step counts, in whatever order they ran, and one that
/// passed or failed by luck is outvoted by its neighbours ([`EdgeModel`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The greatest tested count that passed and is more likely to hold than not; 0 if there is
    /// none.
    pub held: u32,
    /// The interval of the count that holds.
    pub interval: EdgeEstimate,
    /// What is above it; absent if nothing above was tested.
    pub stop: Option<Stop>,
}

impl Edge {
    /// The edge of these steps, none of which has more tiles than `tiles_max`.
    pub fn of(rungs: &BTreeMap<u32, Rung>, gain_min: f64, tiles_max: u32) -> Self {
        let flat = plateau(rungs, gain_min);
        let model = model(rungs, flat, tiles_max);
        let holds = |tiles: u32, rung: &Rung| {
            rung.judgement() == Judgement::Passed && model.chance_of_failing(tiles) < 0.5
        };
        let tested = rungs.iter().filter(|(tiles, rung)| holds(**tiles, rung));
        let held = tested.map(|(tiles, _)| *tiles).max().unwrap_or(0);
        let mut interval = model.estimate(CONFIDENCE);
        interval.low = interval.low.min(held);
        interval.high = interval.high.map(|high| high.max(held).min(tiles_max));
        let high = interval.high.unwrap_or(tiles_max).max(interval.low);
        interval.most_likely = interval.most_likely.clamp(interval.low, high);
        Self { held, interval, stop: stop(rungs, held, flat) }
    }
}

/// The nearest step above that failed, else one about which nothing can be said.
fn stop(rungs: &BTreeMap<u32, Rung>, held: u32, flat: Option<Stop>) -> Option<Stop> {
    let above = || rungs.range(held + 1..);
    let first = |wanted: Judgement| {
        above().find(|(_, rung)| rung.judgement() == wanted).map(|(tiles, _)| *tiles)
    };
    let limit = first(Judgement::Failed).map(|tiles| Stop::Limit { tiles });
    let flat = flat.filter(|flat| flat.tiles() > held);
    let nearest = limit.into_iter().chain(flat).min_by_key(|stop| stop.tiles());
    nearest.or_else(|| first(Judgement::Inconclusive).map(|tiles| Stop::Inconclusive { tiles }))
}

/// What all steps say together; passing beyond a plateau is not holding more.
pub(super) fn model(rungs: &BTreeMap<u32, Rung>, flat: Option<Stop>, tiles_max: u32) -> EdgeModel {
    let flat = flat.map_or(u32::MAX, Stop::tiles);
    let trials = rungs.iter().flat_map(|(tiles, rung)| {
        let failed = rung.runs.iter().filter_map(|run| run.failed);
        failed.map(|failed| Trial {
            tiles: *tiles,
            failed: if *tiles >= flat { 1.0 } else { failed },
        })
    });
    EdgeModel::new(tiles_max).after(trials)
}

/// The first step that passed and did no more work than the one that passed before it, although
/// nobody was in the way, and above which no other did either.
pub(super) fn plateau(rungs: &BTreeMap<u32, Rung>, gain_min: f64) -> Option<Stop> {
    let own = own_work(rungs).unwrap_or(1.0);
    gains(rungs).into_iter().find_map(|Gain { below, tiles, gain, gain_high }| {
        let before = rungs[&below].throughput()?;
        let adds = |(count, rung): (&u32, &Rung)| {
            let added = rung.throughput().unwrap_or(before) - before;
            added / f64::from(*count - below) >= gain_min * own
        };
        // One tile more near the edge adds less than a short step's work varies; what is done
        // above says whether less was chance.
        let goes_on = passed(rungs).filter(|(count, _)| **count > tiles).any(adds);
        let is_shown = gain_high < GAIN_HIGH_MAX && !rungs[&tiles].is_disturbed() && !goes_on;
        (gain < gain_min && is_shown).then_some(Stop::Flat { tiles, gain })
    })
}

/// Whether a disturbed step kept its limits only because it did no more work than fewer tiles
/// had done: then it neither holds nor shows a plateau.
pub(super) fn says_nothing(
    rungs: &BTreeMap<u32, Rung>,
    (tiles, run): (u32, &StepResult),
    gain_min: f64,
) -> bool {
    let mut below = passed(rungs).rev().skip_while(|(count, _)| **count >= tiles);
    let before = below.find_map(|(count, rung)| Some((*count, rung.throughput()?)));
    let own = own_work(rungs).unwrap_or(1.0);
    let adds = before.zip(run.throughput).is_none_or(|((count, before), work)| {
        (work - before) / f64::from(tiles - count) >= gain_min * own
    });
    run.disturbed && run.judgement == Judgement::Passed && !adds
}

/// An untested count between two that passed, where the upper one did so little more work that
/// a plateau probably begins between them. One tested there did not pass, and the curve over all
/// steps says where to go on.
pub(super) fn knee(rungs: &BTreeMap<u32, Rung>) -> Option<u32> {
    gains(rungs).into_iter().find_map(|Gain { below, tiles, gain, .. }| {
        let is_untested = rungs.range(below + 1..tiles).next().is_none();
        let is_knee = gain < KNEE_GAIN && tiles - below > 1 && is_untested;
        is_knee.then(|| below + (tiles - below) / 2)
    })
}

/// Below this gain for each tile more, a quarter of them may have added nothing.
const KNEE_GAIN: f64 = 0.75;

/// Work added between two neighbouring steps that passed, for each tile more, as a share of what
/// a tile does where there are the fewest.
struct Gain {
    below: u32,
    tiles: u32,
    gain: f64,
    gain_high: f64,
}

fn passed(rungs: &BTreeMap<u32, Rung>) -> impl DoubleEndedIterator<Item = (&u32, &Rung)> {
    rungs.iter().filter(|(_, rung)| rung.judgement() == Judgement::Passed)
}

/// What a tile does by itself, in tiles' worth, at the fewest tiles that passed. Users without
/// pauses do many times what the reference does, and a share of that is nothing to them.
fn own_work(rungs: &BTreeMap<u32, Rung>) -> Option<f64> {
    let (tiles, rung) = passed(rungs).next()?;
    Some(rung.throughput()? / f64::from(*tiles)).filter(|own| *own > 0.0)
}

fn gains(rungs: &BTreeMap<u32, Rung>) -> Vec<Gain> {
    let passed: Vec<(&u32, &Rung)> = passed(rungs).collect();
    let own = own_work(rungs).unwrap_or(1.0);
    let of = |pair: &[(&u32, &Rung)]| {
        let [(below, before), (tiles, rung)] = pair else { return None };
        let before = before.throughput()?;
        let per_tile = |work: f64| (work - before) / f64::from(*tiles - *below) / own;
        let (gain, gain_high) = (per_tile(rung.throughput()?), per_tile(rung.throughput_high()?));
        Some(Gain { below: **below, tiles: **tiles, gain, gain_high })
    };
    passed.windows(2).filter_map(of).collect()
}
