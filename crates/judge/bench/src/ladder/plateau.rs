//! Plateau of throughput: more tiles do no more work, although all limits are met.
//!
//! A tile counts as long as it adds a minimum share of the work of a single tile
//! (`LadderOptions::gain_min`). The saturation curve through all passed steps (`stats::Saturation`)
//! shows where that ends. The uncertainty comes from their scatter. The plateau is accepted
//! ([`SHOWN`]) once it is very probably below the largest tested number of tiles.
//!
//! The work of a disturbed step may be too low, so disturbed steps do not influence the curve. But
//! if a disturbed step did more work than all others, the others show no plateau.

use std::collections::BTreeMap;

use run_store::run::Stop;
use stats::{Saturation, Work};

use crate::ladder::rung::{Judgement, Rung, StepResult};

/// Probability at which a plateau below the largest number of tiles is accepted; our choice. Beyond
/// a true plateau, every doubling of the tiles raises the probability.
const SHOWN: f64 = 0.9;

/// Relative scatter of steps without an error of their own. With one seed in virtual time, a step
/// is exact, and only the curve differs slightly from the storage.
const CERTAIN: f64 = 0.005;

/// Minimum share of linear scaling above which each tile still adds most of its own work.
const LINEAR: f64 = 0.85;

/// Number of standard deviations by which work must exceed the previous maximum to be significant.
const MORE: f64 = 2.0;

/// Maximum number of runs of one number of tiles for a plateau. The remaining uncertainty then
/// comes from the shape of the curve.
const RUNS_MAX: usize = 3;

/// Work of the passed steps, and the curve fitted to it.
#[derive(Debug, Clone)]
pub(super) struct Plateau {
    curve: Saturation,
    /// Tested numbers of tiles.
    counts: Vec<u32>,
}

impl Plateau {
    /// Fits the plateau of these steps. `None` if work still grows with the tiles, or if fewer than
    /// three numbers of tiles did scored work, because any curve fits two points.
    pub fn of(rungs: &BTreeMap<u32, Rung>, gain_min: f64) -> Option<Self> {
        let (beside, calm): (Vec<_>, Vec<_>) =
            passed(rungs).partition(|(_, rung)| rung.is_disturbed());
        let work_of = |(tiles, rung): &(&u32, &Rung)| Some((**tiles, rung.throughput()?));
        let points: Option<Vec<(u32, f64)>> = calm.iter().map(work_of).collect();
        let points = points.filter(|points| points.len() > 2)?;
        let (most, work) = *points.last()?;
        if work >= LINEAR * own_work(rungs)? * f64::from(most) {
            return None;
        }
        let said = |run: &&StepResult| run.failed.is_some();
        let runs = || {
            calm.iter()
                .flat_map(|(tiles, rung)| rung.counted().filter(said).map(|run| (**tiles, run)))
        };
        let steps: Option<Vec<Work>> =
            runs().map(|(tiles, run)| Some(Work { tiles, work: run.throughput? })).collect();
        let errors = runs().filter_map(|(_, run)| Some(run.throughput_error? / run.throughput?));
        let squares: Vec<f64> = errors.map(|e| e * e).filter(|e| e.is_finite()).collect();
        let scatter = stats::mean(&squares).map_or(CERTAIN, |mean| mean.sqrt().max(CERTAIN));
        let greatest = points.iter().map(|(_, work)| *work).fold(work, f64::max);
        let is_more = |(_, work): (u32, f64)| work > greatest * (1.0 + MORE * scatter);
        if beside.iter().filter_map(work_of).any(is_more) {
            return None;
        }
        let counts = points.into_iter().map(|(tiles, _)| tiles).collect();
        Some(Self { curve: Saturation::of(&steps?, scatter, gain_min)?, counts })
    }

    /// Returns true if there is a plateau below the largest tested number of tiles.
    pub fn is_shown(&self) -> bool {
        self.counts.last().is_some_and(|most| 1.0 - self.chance_of_adding(*most) >= SHOWN)
    }

    /// Returns true if the steps do not decide if this many tiles still add work.
    pub fn is_undecided(&self, tiles: u32) -> bool {
        let chance = self.chance_of_adding(tiles);
        1.0 - SHOWN < chance && chance < SHOWN
    }

    /// Returns the probability that this many tiles still add work.
    pub fn chance_of_adding(&self, tiles: u32) -> f64 {
        self.curve.chance_of_adding(tiles)
    }

    /// Returns the first tested number of tiles above `held` that probably adds no work.
    pub fn stop(&self, held: u32) -> Option<Stop> {
        let adds_nothing = |tiles: &u32| *tiles > held && self.chance_of_adding(*tiles) < 0.5;
        let tiles = self.counts.iter().copied().find(adds_nothing)?;
        Some(Stop::Flat { tiles, gain: self.curve.gain(tiles) })
    }

    /// Returns the most informative of these numbers of tiles about the curve that has not run too
    /// often.
    pub fn most_telling(
        &self,
        rungs: &BTreeMap<u32, Rung>,
        counts: impl IntoIterator<Item = u32>,
    ) -> Option<u32> {
        let is_open = |tiles: &u32| rungs.get(tiles).is_none_or(|rung| rung.runs.len() < RUNS_MAX);
        let open = counts.into_iter().filter(is_open);
        let told = open.map(|tiles| (tiles, self.curve.disagreement(tiles)));
        told.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(tiles, _)| tiles)
    }
}

/// Returns true if a step with this many tiles and this work adds to the work of fewer tiles.
pub(super) fn adds(
    rungs: &BTreeMap<u32, Rung>,
    (tiles, work): (u32, Option<f64>),
    gain_min: f64,
) -> bool {
    let mut below = passed(rungs).rev().skip_while(|(count, _)| **count >= tiles);
    let before = below.find_map(|(count, rung)| Some((*count, rung.throughput()?)));
    let own = own_work(rungs).unwrap_or(1.0);
    before.zip(work).is_none_or(|((count, before), work)| {
        (work - before) / f64::from(tiles - count) >= gain_min * own
    })
}

fn passed(rungs: &BTreeMap<u32, Rung>) -> impl DoubleEndedIterator<Item = (&u32, &Rung)> {
    rungs.iter().filter(|(_, rung)| rung.judgement() == Judgement::Passed)
}

/// Returns the work of a single tile, in tiles' worth, at the smallest number of tiles that passed.
/// Users without pauses do many times the work of the reference, so a share of the reference would
/// be too little for them.
fn own_work(rungs: &BTreeMap<u32, Rung>) -> Option<f64> {
    let (tiles, rung) = passed(rungs).next()?;
    Some(rung.throughput()? / f64::from(*tiles)).filter(|own| *own > 0.0)
}
