//! Where more tiles do no more work, although every limit is kept.
//!
//! A tile is worth adding as long as it adds a share of what a tile does by itself
//! (`LadderOptions::gain_min`). Where that ends, the saturation curve through all steps that
//! passed says (`stats::Saturation`), with what their scatter leaves open. It is believed
//! ([`SHOWN`]) once it surely lies below the greatest count.
//!
//! What was done beside somebody else's work bends no curve: it may be less than it could be. But
//! where such a step did more than all others, they show no plateau.

use std::collections::BTreeMap;

use run_store::run::Stop;
use stats::{Saturation, Work};

use crate::ladder::rung::{Judgement, Rung, StepResult};

/// A plateau is believed when it begins below the greatest count with this chance; our choice.
/// Beyond a true plateau every doubling makes it surer.
const SHOWN: f64 = 0.9;

/// The scatter of steps that say nothing of it: one seed in virtual time, in which a step is what
/// it is and only the curve is not quite the storage's.
const CERTAIN: f64 = 0.005;

/// Where the most tiles do at least this share of what as many single ones would, each of them
/// still adds most of its own.
const LINEAR: f64 = 0.85;

/// So many standard deviations more than the greatest work are no accident.
const MORE: f64 = 2.0;

/// No count runs more often for a plateau: what is left open then is the curve's shape.
const RUNS_MAX: usize = 3;

/// The work of the steps that passed, and the curve through it.
#[derive(Debug, Clone)]
pub(super) struct Plateau {
    curve: Saturation,
    /// Tested counts.
    counts: Vec<u32>,
}

impl Plateau {
    /// Where the plateau of these steps probably begins; nothing if work still grows with the tiles,
    /// or fewer than three counts did scored work, through which any curve goes.
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

    /// Whether there is one below the greatest count.
    pub fn is_shown(&self) -> bool {
        self.counts.last().is_some_and(|most| 1.0 - self.chance_of_adding(*most) >= SHOWN)
    }

    /// Whether the steps leave open if so many tiles still add something.
    pub fn is_undecided(&self, tiles: u32) -> bool {
        let chance = self.chance_of_adding(tiles);
        1.0 - SHOWN < chance && chance < SHOWN
    }

    /// The chance that so many tiles still add something.
    pub fn chance_of_adding(&self, tiles: u32) -> f64 {
        self.curve.chance_of_adding(tiles)
    }

    /// The first tested count beyond those held that probably adds nothing.
    pub fn stop(&self, held: u32) -> Option<Stop> {
        let adds_nothing = |tiles: &u32| *tiles > held && self.chance_of_adding(*tiles) < 0.5;
        let tiles = self.counts.iter().copied().find(adds_nothing)?;
        Some(Stop::Flat { tiles, gain: self.curve.gain(tiles) })
    }

    /// The count of these that says most of the curve and has not run too often for that.
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

/// Whether a step of so many tiles and this much work adds to what fewer tiles did.
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

/// What a tile does by itself, in tiles' worth, at the fewest tiles that passed. Users without
/// pauses do many times what the reference does, and a share of that is nothing to them.
fn own_work(rungs: &BTreeMap<u32, Rung>) -> Option<f64> {
    let (tiles, rung) = passed(rungs).next()?;
    Some(rung.throughput()? / f64::from(*tiles)).filter(|own| *own > 0.0)
}
