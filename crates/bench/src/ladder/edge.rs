use std::collections::BTreeMap;

use crate::ladder::{Judgement, Rung};

/// A plateau is believed when even the upper end of the work's interval adds less than this
/// per added tile, in tiles' worth. Our choice: a quarter, which the steps of a search reach
/// on a real plateau after one doubling or two, because they add many tiles at once; near an
/// edge, where one tile is added, a few seconds of work vary by more than a tile.
const GAIN_HIGH_MAX: f64 = 0.25;

/// Why the walk up the ladder ended.
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
        /// Work added per added tile, in tiles' worth; may be negative.
        gain: f64,
    },
    /// Nothing can be said about this many tiles.
    Inconclusive {
        /// The step without a verdict.
        tiles: u32,
    },
}

impl Stop {
    /// The step at which the walk ended.
    pub const fn tiles(self) -> u32 {
        match self {
            Self::Limit { tiles } | Self::Flat { tiles, .. } | Self::Inconclusive { tiles } => {
                tiles
            }
        }
    }
}

/// Where the walk up the tested steps ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// The greatest tested count with no stop at or below it; 0 if the first step stopped.
    pub held: u32,
    /// The greatest tested count below `held`, or 0.
    pub below: u32,
    /// Why it went no further; absent if the last tested step was fine.
    pub stop: Option<Stop>,
}

impl Edge {
    /// Walks up the tested steps until one stops it. A step that passes above one that
    /// failed is not held: more tiles do not make a user's wait acceptable again, and near
    /// the edge passing is partly luck.
    pub fn of(rungs: &BTreeMap<u32, Rung>, gain_min: f64) -> Self {
        let mut edge = Self { held: 0, below: 0, stop: None };
        for (&tiles, rung) in rungs {
            edge.stop = stop_at(tiles, rung, edge.held, rungs, gain_min);
            if edge.stop.is_some() {
                break;
            }
            (edge.below, edge.held) = (edge.held, tiles);
        }
        edge
    }

    /// An untested count that would narrow the edge, or nothing if it is sharp.
    ///
    /// A plateau that shows between two steps may have begun below the lower one, so that
    /// side is halved first.
    pub fn gap(&self) -> Option<u32> {
        let stop = self.stop?;
        let middle = |low: u32, high: u32| (high - low > 1).then(|| low + (high - low) / 2);
        let lower = match stop {
            Stop::Flat { .. } => middle(self.below, self.held),
            _ => None,
        };
        lower.or_else(|| middle(self.held, stop.tiles()))
    }
}

fn stop_at(
    tiles: u32,
    rung: &Rung,
    held: u32,
    rungs: &BTreeMap<u32, Rung>,
    gain_min: f64,
) -> Option<Stop> {
    match rung.judgement() {
        Judgement::Failed => Some(Stop::Limit { tiles }),
        Judgement::Inconclusive => Some(Stop::Inconclusive { tiles }),
        Judgement::Passed => {
            let before = rungs.get(&held)?.throughput()?;
            let per_tile = |work: f64| (work - before) / f64::from(tiles - held);
            let (gain, gain_high) =
                (per_tile(rung.throughput()?), per_tile(rung.throughput_high()?));
            // One tile more near the edge adds less than a short step's work varies.
            let is_shown = gain_high < GAIN_HIGH_MAX;
            (gain < gain_min && is_shown).then_some(Stop::Flat { tiles, gain })
        }
    }
}
