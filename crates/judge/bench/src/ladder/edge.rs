use std::collections::BTreeMap;

use run_store::run::Stop;
use stats::{EdgeEstimate, EdgeModel, Trial};

use crate::ladder::plateau::Plateau;
use crate::ladder::rung::{Judgement, Rung};

/// Confidence level of the interval of held tiles.
pub const CONFIDENCE: f64 = 0.95;

/// Edge of the storage, estimated from all steps. The order of the steps does not matter. A step
/// that passed or failed by chance is outvoted by its neighbours ([`EdgeModel`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Largest tested number of tiles that passed and at which all limits are probably met; 0 if
    /// there is none.
    pub held: u32,
    /// Confidence interval of the largest number of tiles at which all limits are met.
    pub interval: EdgeEstimate,
    /// Result above the held number of tiles; `None` if nothing above was tested.
    pub stop: Option<Stop>,
}

impl Edge {
    /// Computes the edge from these steps. None of them has more tiles than `tiles_max`.
    pub fn of(rungs: &BTreeMap<u32, Rung>, gain_min: f64, tiles_max: u32) -> Self {
        let plateau = Plateau::of(rungs, gain_min).filter(Plateau::is_shown);
        let model = model(rungs, tiles_max);
        let adds = |tiles| plateau.as_ref().map_or(1.0, |plateau| plateau.chance_of_adding(tiles));
        let holds = |tiles: u32, rung: &Rung| {
            rung.judgement() == Judgement::Passed
                && model.chance_of_failing(tiles) < 0.5
                && adds(tiles) >= 0.5
        };
        let tested = rungs.iter().filter(|(tiles, rung)| holds(**tiles, rung));
        let held = tested.map(|(tiles, _)| *tiles).max().unwrap_or(0);
        let mut interval = model.estimate(CONFIDENCE);
        if plateau.is_some() {
            let tail = (1.0 - CONFIDENCE) / 2.0;
            let most = |share: f64| {
                let chance = |tiles| model.chance_of_holding(tiles) * adds(tiles);
                greatest(tiles_max.saturating_add(1), |tiles| chance(tiles) >= share)
            };
            let high = most(tail);
            interval = EdgeEstimate {
                low: most(1.0 - tail),
                most_likely: most(0.5),
                high: (high <= tiles_max).then_some(high),
            };
        }
        interval.low = interval.low.min(held);
        interval.high = interval.high.map(|high| high.max(held).min(tiles_max));
        let high = interval.high.unwrap_or(tiles_max).max(interval.low);
        interval.most_likely = interval.most_likely.clamp(interval.low, high);
        let flat = plateau.and_then(|plateau| plateau.stop(held));
        Self { held, interval, stop: stop(rungs, held, flat) }
    }
}

/// Returns the nearest failed or flat step above, or else the nearest inconclusive one.
fn stop(rungs: &BTreeMap<u32, Rung>, held: u32, flat: Option<Stop>) -> Option<Stop> {
    let above = || rungs.range(held + 1..);
    let first = |wanted: Judgement| {
        above().find(|(_, rung)| rung.judgement() == wanted).map(|(tiles, _)| *tiles)
    };
    let limit = first(Judgement::Failed).map(|tiles| Stop::Limit { tiles });
    let nearest = limit.into_iter().chain(flat).min_by_key(|stop| stop.tiles());
    nearest.or_else(|| first(Judgement::Inconclusive).map(|tiles| Stop::Inconclusive { tiles }))
}

/// Returns the largest number of tiles up to `last` for which `is_true` is true, as it is for all
/// smaller numbers; 0 if there is none.
fn greatest(last: u32, is_true: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = high - (high - low) / 2;
        if is_true(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

/// Returns the edge model of all steps and their limits.
pub(super) fn model(rungs: &BTreeMap<u32, Rung>, tiles_max: u32) -> EdgeModel {
    let trials = rungs.iter().flat_map(|(tiles, rung)| {
        let failed = rung.runs.iter().filter_map(|run| run.failed);
        failed.map(|failed| Trial { tiles: *tiles, failed })
    });
    EdgeModel::new(tiles_max).after(trials)
}
