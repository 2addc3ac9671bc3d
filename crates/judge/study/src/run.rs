use std::num::NonZeroUsize;

use parallel::Heard;
use run_store::run::Step;
use spec::study::ResolvedStudy;

use super::evaluate::{Bound, Results};
use super::needs::{Steps, needs};
use super::options::Options;
use super::point::{Point, PointError, Simulate};
use super::real::{Measured, with_reals};
use super::report::Report;
use bench::progress::{Control, Request};
use findings::StudyResult;

/// Reason why a study could not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StudyError {
    /// There is no such claim.
    #[error("the study \"{study}\" has no claim \"{claim}\"")]
    NoClaim {
        /// Name of the study.
        study: String,
        /// Claim as given.
        claim: String,
        /// Text with the nearest claim and all claims.
        hint: String,
    },
}

impl StudyError {
    /// Returns a hint on what to do.
    pub fn hint(&self) -> &str {
        let Self::NoClaim { hint, .. } = self;
        hint
    }
}

/// Progress of a study.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The runs start.
    Begins {
        /// Total number of runs.
        runs: usize,
        /// Number of threads.
        threads: usize,
    },
    /// A run has ended.
    Done {
        /// Number of ended runs, including this one.
        done: usize,
        /// Total number of runs.
        runs: usize,
        /// Point of the run.
        point: &'a Point<'a>,
        /// Step, or the reason why it is missing.
        result: &'a Result<Step, PointError>,
    },
}

/// Runs a study.
///
/// After `control` stops, no further run starts, and runs in progress end as soon as possible. The
/// result then lists the remaining ones as not measured.
///
/// # Errors
///
/// If there is no such claim.
pub fn run(
    study: &ResolvedStudy,
    simulate: &dyn Simulate,
    options: &Options,
    control: &Control,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> Result<StudyResult, StudyError> {
    let (reals, modelled) = (&study.reals, study.configurations.len());
    let extended = options.real.is_some().then(|| with_reals(study));
    let work = Work::new(extended.as_ref().unwrap_or(study), options)?;
    // Points are in the study's order; those on real storage come last, when nothing else runs.
    let split = work.points.partition_point(|point| point.index < modelled);
    let (simulated, real) = work.points.split_at(split);
    let measured = options.real.as_ref();
    let measured = measured.map(|storage| Measured::new(reals, modelled, storage, real));
    let (runs, threads) = (work.points.len(), threads(options, simulated.len()));
    observe(&Progress::Begins { runs, threads });
    let mut told = |told: &EndedRun<'_>| observe(&told.of(0, runs));
    let mut results = all(simulated, simulate, threads, control, &mut told);
    if let Some(measured) = &measured {
        let mut told = |told: &EndedRun<'_>| observe(&told.of(split, runs));
        results.extend(all(real, measured, 1, control, &mut told));
    }
    let mut result = work.result(options, simulate, results);
    result.warnings.extend(measured.iter().flat_map(Measured::warnings));
    Ok(result)
}

/// Work of a study with given options.
pub(super) struct Work<'a> {
    study: &'a ResolvedStudy,
    /// Number of repeats of every step.
    pub repeats: u32,
    /// Seed of random numbers.
    pub seed: u64,
    /// Points: every repeat of every step, in the order of the study.
    pub points: Vec<Point<'a>>,
}

impl<'a> Work<'a> {
    pub fn new(study: &'a ResolvedStudy, options: &Options) -> Result<Self, StudyError> {
        check_only(study, &options.only)?;
        let repeats = options.repeats.unwrap_or(study.study.repeats).max(1);
        let seed = options.seed.unwrap_or(study.study.seed);
        let points = points(study, &wanted(study, options), (repeats, seed));
        Ok(Self { study, repeats, seed, points })
    }

    /// Builds the result from the outcomes of its points, in the order of the points.
    pub fn result(
        &self,
        options: &Options,
        simulate: &dyn Simulate,
        results: Vec<Result<Step, PointError>>,
    ) -> StudyResult {
        let Self { study, repeats, seed, ref points } = *self;
        let mut by_step = Results::new();
        for (point, result) in points.iter().zip(results) {
            by_step.entry((point.index, point.tiles)).or_default().push(result);
        }
        Report { study, options, results: &by_step, simulate, repeats, seed }.result()
    }
}

fn check_only(study: &ResolvedStudy, only: &[String]) -> Result<(), StudyError> {
    let known: Vec<&str> = study.study.claims.iter().map(|claim| claim.id.as_str()).collect();
    match only.iter().find(|id| !known.contains(&id.as_str())) {
        None => Ok(()),
        Some(id) => Err(StudyError::NoClaim {
            study: study.study.name.clone(),
            claim: id.clone(),
            hint: spec::did_you_mean(id, &known, "claims"),
        }),
    }
}

/// Returns the steps that the requested claims and tables need.
fn wanted(study: &ResolvedStudy, options: &Options) -> Steps {
    let mut steps = Steps::new();
    if options.all {
        for (index, each) in study.configurations.iter().enumerate() {
            steps.extend(each.tiles.iter().map(|tiles| (index, *tiles)));
        }
    }
    for (claim, formula) in study.study.claims.iter().zip(&study.claims) {
        if let Some(formula) = formula
            && (options.only.is_empty() || options.only.contains(&claim.id))
        {
            needs(study, &formula.root, Bound::default(), &mut steps);
        }
    }
    if options.only.is_empty() {
        for (table, formula) in study.study.tables.iter().zip(&study.tables) {
            for (configuration, tiles) in super::report::cells(study, table) {
                let bound = Bound { configuration: Some(configuration), tiles: Some(tiles) };
                needs(study, &formula.root, bound, &mut steps);
            }
        }
    }
    steps
}

/// Returns every repeat of every step, in the order of the study.
fn points<'a>(
    study: &'a ResolvedStudy,
    steps: &Steps,
    (repeats, seed): (u32, u64),
) -> Vec<Point<'a>> {
    steps
        .iter()
        .flat_map(|(index, tiles)| {
            let configuration = &study.configurations[*index];
            let point =
                |repeat| Point { index: *index, configuration, tiles: *tiles, repeat, seed };
            (1..=repeats).map(point)
        })
        .collect()
}

pub(super) fn threads(options: &Options, runs: usize) -> usize {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    options.threads.unwrap_or_else(cores).get().min(runs).max(1)
}

pub(super) struct EndedRun<'a> {
    /// Number of ended runs, including this one.
    done: usize,
    point: &'a Point<'a>,
    result: &'a Result<Step, PointError>,
}

impl<'a> EndedRun<'a> {
    /// Returns the progress among `runs` runs in total, of which `before` were done before.
    pub fn of(&self, before: usize, runs: usize) -> Progress<'a> {
        let &Self { done, point, result } = self;
        Progress::Done { done: before + done, runs, point, result }
    }
}

/// Returns the order in which points are started. Points with the most tiles come first, so that no
/// thread is left alone with a long one at the end.
pub(super) fn begun_first(points: &[Point<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(points[*index].tiles));
    order
}

/// Runs all points and returns their outcomes in the order of the points.
pub(super) fn all(
    points: &[Point<'_>],
    simulate: &dyn Simulate,
    threads: usize,
    control: &Control,
    observe: &mut dyn FnMut(&EndedRun<'_>),
) -> Vec<Result<Step, PointError>> {
    let order = begun_first(points);
    let goes_on = || control.request() == Request::GoOn;
    let mut done = 0;
    let work = |index: &usize, _: &dyn Fn(())| simulate.step(&points[*index], control);
    let found = parallel::run(&order, threads, &goes_on, work, |heard: Heard<'_, (), _>| {
        if let Heard::Ended(place, result) = heard {
            done += 1;
            observe(&EndedRun { done, point: &points[order[place]], result });
        }
    });
    let mut results: Vec<Result<Step, PointError>> =
        points.iter().map(|_| Err(PointError::Interrupted)).collect();
    for (index, result) in order.iter().zip(found) {
        results[*index] = result.unwrap_or(Err(PointError::Interrupted));
    }
    results
}
