use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use parallel::Heard;
use run_store::run::{Step, Verdict};
use spec::array::Array;

use super::answer::Answered;
use super::climb::{Climbed, SearchInput};
use super::document::{ModelKind, WhatIf};
use super::measured;
use super::options::Options;
use super::work::{Cost, Far, Work};
use super::{Changed, Subject};
use bench::BenchError;
use bench::progress::{Control, Request};
use bench::rig::{Rig, SimRig};
use bench::run::TileLoad;
use bench::simulate::Stage;

/// Progress of the search.
#[derive(Debug)]
pub enum Progress {
    /// The search has begun.
    Begins {
        /// Seeds of each side.
        seeds: u32,
        /// Number of threads.
        threads: usize,
    },
    /// A step has ended.
    Step {
        /// Side: `as it is` or `changed`.
        side: &'static str,
        /// Number of the seed, from 1.
        seed: usize,
        /// Number of tiles.
        tiles: u32,
        /// Verdict of the step.
        verdict: Verdict,
        /// Progress of the whole.
        far: Far,
    },
}

/// Names of the two sides.
const SIDES: [&str; 2] = ["as it is", "changed"];

/// Computation for a thread.
#[derive(Debug, Clone, Copy)]
enum Job {
    /// Edge of a side with a seed, from a guess if there is one.
    Climb { side: usize, seed: usize, guess: Option<u32> },
    /// Step of the unchanged array with the run's own seed.
    Step { tiles: u32 },
}

/// Step that has ended, as a thread reports it.
struct EndedStep {
    side: usize,
    seed: usize,
    tiles: u32,
    verdict: Verdict,
}

#[derive(Debug)]
enum Done {
    Climbed(Box<Climbed>),
    Step(Box<Step>),
}

/// Searches the largest number of tiles of an array, unchanged and with changes, with the same
/// seeds.
///
/// The run's own seed is the first, and is searched as in a run; the others begin at its edge. The
/// same subject, changes and options give the same answer, on any number of threads. If time ends
/// the search, seeds without both sides are left out.
///
/// # Errors
///
/// If an array has no room for one tile, a simulation cannot continue, `control` stops, or time
/// ends it before there is an answer.
pub fn what_if(
    subject: &Subject,
    changed: &Changed,
    options: &Options,
    control: &Control,
    observe: &mut dyn FnMut(&Progress),
) -> Result<WhatIf, BenchError> {
    let plan = &subject.plan;
    let stage = Stage::new(&plan.tile_set, &options.settings(plan))?;
    let load = TileLoad::of(plan)?;
    let arrays = [&subject.array, &changed.array];
    let others = [&subject.others, &changed.others];
    let most = |array: &Array| -> Result<u32, BenchError> {
        let rig = SimRig::new(array, plan);
        match rig.tiles_that_fit(&load) {
            0 => rig.has_room(1, load.bytes).map(|()| 1),
            fits => Ok(load.tiles_max(options.tiles_max, fits).max(1)),
        }
    };
    let tiles_max = [most(arrays[0])?, most(arrays[1])?];
    let seeds = seeds(plan.seed, options.repeats);
    let ways = [0, 1].map(|side| SearchInput {
        stage: &stage,
        arrays: std::iter::once(arrays[side]).chain(others[side]).collect(),
        tiles_max: tiles_max[side],
        control,
    });
    let threads = options.threads.or_else(|| std::thread::available_parallelism().ok());
    let pool = Pool { ways: &ways, seeds: &seeds, threads: threads.map_or(1, NonZeroUsize::get) };
    observe(&Progress::Begins { seeds: options.repeats, threads: pool.threads });

    let counts = measured_counts(subject, tiles_max[0]);
    let guess = subject.run.answer.tiles_held;
    let first = [0, 1].map(|side| Job::Climb { side, seed: 0, guess: None });
    let mut work = Work::new(guess, options.repeats, &counts);
    let mut done = Collected::default();
    done.add(&first, pool.all(&first, control, (&mut *observe, &mut work))?);
    let Some(guesses) = done.first_edges() else { return Err(BenchError::Interrupted) };
    let known = |tiles: &u32| done.climbed[&(0, 0)].steps.contains_key(tiles);
    let missing = counts.iter().filter(|tiles| !known(tiles));
    // The steps for the model's error come first, because there is no answer without it.
    let steps = missing.map(|tiles| Job::Step { tiles: *tiles });
    let later = (1..seeds.len())
        .flat_map(|seed| [0, 1].map(|side| Job::Climb { side, seed, guess: Some(guesses[side]) }));
    let jobs: Vec<Job> = steps.chain(later).collect();
    work.left(jobs.iter().map(|job| match job {
        Job::Climb { guess, .. } => Cost::of_climb_from(guess.unwrap_or(0)),
        Job::Step { tiles } => Cost::of_step(*tiles),
    }));
    done.add(&jobs, pool.all(&jobs, control, (observe, &mut work))?);
    let modelled = done.modelled(&counts).ok_or(BenchError::Interrupted)?;
    let (seeds, sides) = done.pairs(&seeds);
    let answered = Answered { subject, changed, options, load, seeds, sides, tiles_max, modelled };
    Ok(answered.document())
}

/// Results of the jobs so far.
#[derive(Debug, Default)]
struct Collected {
    /// Searches by seed and side.
    climbed: BTreeMap<(usize, usize), Climbed>,
    steps: BTreeMap<u32, Step>,
}

impl Collected {
    /// Adds the jobs that ended in time.
    fn add(&mut self, jobs: &[Job], done: Vec<Option<Done>>) {
        for (job, done) in jobs.iter().zip(done) {
            match (job, done) {
                (Job::Climb { side, seed, .. }, Some(Done::Climbed(climbed))) => {
                    self.climbed.insert((*seed, *side), *climbed);
                }
                (Job::Step { tiles }, Some(Done::Step(step))) => {
                    self.steps.insert(*tiles, *step);
                }
                _ => {}
            }
        }
    }

    /// Returns the edges of both sides with the run's own seed.
    fn first_edges(&self) -> Option<[u32; 2]> {
        let held = |side| self.climbed.get(&(0, side)).map(|one| one.edge.held);
        Some([held(0)?, held(1)?])
    }

    /// Returns the steps of the unchanged array at these counts; `None` if one of them did not end.
    fn modelled(&self, counts: &[u32]) -> Option<BTreeMap<u32, Step>> {
        let first = self.climbed.get(&(0, 0))?;
        let step = |tiles: &u32| {
            let found = first.steps.get(tiles).or_else(|| self.steps.get(tiles));
            Some((*tiles, found?.clone()))
        };
        counts.iter().map(step).collect()
    }

    /// Returns the seeds for which both sides have ended, and their searches.
    fn pairs(mut self, seeds: &[u64]) -> (Vec<u64>, [Vec<Climbed>; 2]) {
        let (mut own, mut sides) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (at, seed) in seeds.iter().enumerate() {
            let both = (self.climbed.remove(&(at, 0)), self.climbed.remove(&(at, 1)));
            if let (Some(base), Some(changed)) = both {
                own.push(*seed);
                sides[0].push(base);
                sides[1].push(changed);
            }
        }
        (own, sides)
    }
}

/// Returns the tile counts at which a model is compared with the measurement.
fn measured_counts(subject: &Subject, tiles_max: u32) -> Vec<u32> {
    if matches!(subject.model, ModelKind::Own | ModelKind::Other) {
        return Vec::new();
    }
    let counts = measured::counts(&subject.run).into_iter();
    counts.filter(|tiles| *tiles <= tiles_max).collect()
}

/// Returns the run's own seed and further seeds of 53 bits.
fn seeds(own: u64, count: u32) -> Vec<u64> {
    let others = state_machine::SplitMix(own).map(|number| number >> 11);
    std::iter::once(own).chain(others).take(count.max(1) as usize).collect()
}

/// Threads that share the jobs.
struct Pool<'a> {
    ways: &'a [SearchInput<'a>; 2],
    seeds: &'a [u64],
    threads: usize,
}

impl Pool<'_> {
    /// Returns the jobs' results in the order of the jobs, or the first error. A job that did not
    /// end in time has `None`.
    fn all(
        &self,
        jobs: &[Job],
        control: &Control,
        (observe, far): (&mut dyn FnMut(&Progress), &mut Work),
    ) -> Result<Vec<Option<Done>>, BenchError> {
        let goes_on = || control.request() == Request::GoOn;
        let work = |job: &Job, tell: &dyn Fn(EndedStep)| self.one(*job, tell);
        let results = parallel::run(jobs, self.threads, &goes_on, work, |heard| match heard {
            Heard::Ended(..) => far.job_is_done(),
            Heard::Said(EndedStep { side, seed, tiles, verdict }) => {
                let (side, far) = (SIDES[side], far.step_is_done(tiles));
                observe(&Progress::Step { side, seed: seed + 1, tiles, verdict, far });
            }
        });
        let in_time = |result: Option<Result<Done, BenchError>>| match result {
            Some(Ok(done)) => Ok(Some(done)),
            Some(Err(BenchError::Interrupted)) | None if control.is_out_of_time() => Ok(None),
            Some(Err(error)) => Err(error),
            None => Err(BenchError::Interrupted),
        };
        results.into_iter().map(in_time).collect()
    }

    fn one(&self, job: Job, say: &dyn Fn(EndedStep)) -> Result<Done, BenchError> {
        let tell = |side: usize, seed: usize, step: &Step| {
            say(EndedStep { side, seed, tiles: step.tiles, verdict: step.verdict });
        };
        match job {
            Job::Climb { side, seed, guess } => self.ways[side]
                .climb((seed, self.seeds[seed]), guess, &|step| tell(side, seed, step))
                .map(|climbed| Done::Climbed(Box::new(climbed))),
            Job::Step { tiles } => {
                let step = self.ways[0].step(tiles, (0, self.seeds[0]))?;
                tell(0, 0, &step);
                Ok(Done::Step(Box::new(step)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_seed_is_the_run_s_own_and_no_two_are_equal() {
        let seeds = seeds(7, 50);
        assert_eq!((seeds[0], seeds.len()), (7, 50));
        let mut different = seeds.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), seeds.len());
        assert!(seeds.iter().all(|seed| *seed < 1 << 53), "JSON readers keep 53 bits");
    }
}
