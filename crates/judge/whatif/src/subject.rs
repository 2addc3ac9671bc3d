use std::path::Path;

use run_store::run::Run;
use run_store::rundir::{RunDirError, StoredRun, files, sha256_hex};
use spec::array::Array;
use spec::{ResolvedTile, SpecError};

use super::document::ModelKind;
use super::fit::{FitError, fit, fit_by_playing};
use super::measured::is_finished;
use bench::BenchError;
use bench::plan::{Layer, PlanError, ResolvedPlan, Surroundings, resolve_simulated};
use bench::progress::Control;
use bench::replay::Traces;
use bench::run::tile_sha256;

/// Run with the array that represents its storage.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Stored run.
    pub run: Run,
    /// Plan in the form of a simulation.
    pub plan: ResolvedPlan,
    /// Array of the run, or the model of its storage.
    pub array: Array,
    /// Other models of the storage that answer the run's users as well as the array does.
    pub others: Vec<Array>,
    /// Origin of the array.
    pub model: ModelKind,
}

/// Reason why a run cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// Error of the run directory.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Plan that is missing, or not in the form of this version.
    #[error("the run {run} has no plan that this version can read")]
    NoPlan {
        /// Id of the run.
        run: String,
        /// Error of the plan.
        #[source]
        source: Box<SpecError>,
    },
    /// Run in which events happened to hosts.
    #[error(
        "run {run} has events of hosts, which what-if does not repeat; ask of a run without them"
    )]
    Events {
        /// Id of the run.
        run: String,
    },
    /// Simulation without its array.
    #[error("the simulated run {run} has no array that this version can read")]
    NoArray {
        /// Id of the run.
        run: String,
        /// Error of the array.
        #[source]
        source: Box<SpecError>,
    },
    /// Array file that differs from the simulated array.
    #[error("array.toml of run {run} was changed after the run")]
    OtherArray {
        /// Id of the run.
        run: String,
    },
    /// Tile that cannot be read.
    #[error("the tile \"{tile}\" of run {run} cannot be loaded")]
    NoTile {
        /// Id of the run.
        run: String,
        /// Name of the tile.
        tile: String,
        /// Error of the tile.
        #[source]
        source: Box<SpecError>,
    },
    /// Tile that has changed.
    #[error("the tile \"{tile}\" has changed since run {run} used it")]
    OtherTile {
        /// Id of the run.
        run: String,
        /// Name of the tile.
        tile: String,
    },
    /// Plan with values that a simulation refuses.
    #[error("the plan of run {run} cannot be simulated")]
    Plan {
        /// Id of the run.
        run: String,
        /// Error of the plan.
        #[source]
        source: PlanError,
    },
    /// Run without a model.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// Run without a measurement.
    #[error("the run {run} has no finished step to compare a model with")]
    NoSteps {
        /// Id of the run.
        run: String,
    },
}

impl SubjectError {
    /// Returns a hint on how to solve the problem, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Events { .. } => "ask of a run without events".to_owned(),
            Self::RunDir(RunDirError::Content { .. })
            | Self::NoPlan { .. }
            | Self::NoArray { .. } => {
                "choose a run of this version; `tilemark runs` lists them".to_owned()
            }
            Self::RunDir(error) => return error.hint().map(str::to_owned),
            Self::OtherArray { .. } => {
                "simulate it again, or name the array with --array FILE".to_owned()
            }
            Self::NoTile { .. } => {
                "run the command in the directory in which the run was started".to_owned()
            }
            Self::OtherTile { .. } => {
                "restore the tile's file, or repeat the run with the tile as it is now".to_owned()
            }
            Self::Plan { .. } => return None,
            Self::Fit(_) | Self::NoSteps { .. } => {
                "choose a run with at least one complete step".to_owned()
            }
        })
    }
}

/// Reads the run and its array. `array` represents the run's storage. Without it the array is a
/// simulated run's own, or fitted to a measured run.
///
/// # Errors
///
/// If the run, its plan, its tile or its array cannot be read, or do not belong to the run.
pub fn subject(stored: &StoredRun, array: Option<Array>) -> Result<Subject, SubjectError> {
    let run = stored.run()?.clone();
    let plan = plan(stored.path(), &run)?;
    let (array, model) = match array {
        Some(array) if run.target.is_simulated() => (array, ModelKind::Other),
        Some(array) => (array, ModelKind::Given),
        None if run.target.is_simulated() => (own_array(stored.path(), &run)?, ModelKind::Own),
        None => (fit(&run)?, ModelKind::Fitted),
    };
    if model == ModelKind::Given && !run.steps.iter().any(is_finished) {
        return Err(SubjectError::NoSteps { run: run.id });
    }
    Ok(Subject { run, plan, array, others: Vec::new(), model })
}

impl Subject {
    /// Replaces a model that was fitted by formula by a model that was fitted by simulating the
    /// run's users. Other arrays are unchanged.
    ///
    /// # Errors
    ///
    /// If the tile cannot be simulated, or `control` stops.
    pub fn refine(&mut self, threads: usize, control: &Control) -> Result<(), BenchError> {
        if self.model == ModelKind::Fitted
            && let Some((array, others)) = fit_by_playing(&self.run, &self.plan, threads, control)?
        {
            (self.array, self.others) = (array, others);
        }
        Ok(())
    }
}

fn plan(directory: &Path, run: &Run) -> Result<ResolvedPlan, SubjectError> {
    let no_plan = |source| SubjectError::NoPlan { run: run.id.clone(), source: Box::new(source) };
    let plan = spec::read_plan(&directory.join(files::PLAN)).map_err(no_plan)?;
    let tile = tile(directory, run, plan.tile.as_deref().unwrap_or_default())?;
    let tile = match &plan.operations {
        Some(group) => spec::with_operations(tile, group, directory).map_err(no_plan)?,
        None => tile,
    };
    let layers = [Layer::of_plan(&plan)];
    let here = Surroundings { entropy: run.seed, cores: 1 };
    let traces = Traces::of(&tile).unwrap_or_default();
    let mut resolved = resolve_simulated(&layers, tile, here)
        .map_err(|source| SubjectError::Plan { run: run.id.clone(), source })?;
    // Without its events, the searches would be of another experiment than the run.
    if !resolved.settings.events.is_empty() || resolved.settings.restart.is_some() {
        return Err(SubjectError::Events { run: run.id.clone() });
    }
    resolved.traces = traces;
    resolved.seed = run.seed;
    Ok(resolved)
}

/// Returns the tile of the run: a shipped tile, or a file relative to the working directory or the
/// run's directory.
fn tile(directory: &Path, run: &Run, name: &str) -> Result<ResolvedTile, SubjectError> {
    let found = spec::resolve_tile(name, Path::new(""))
        .or_else(|error| spec::resolve_tile(name, directory).map_err(|_| error));
    let tile = found.map_err(|source| SubjectError::NoTile {
        run: run.id.clone(),
        tile: name.to_owned(),
        source: Box::new(source),
    })?;
    // An unreadable trace is not the run's.
    let traces = Traces::of(&tile).unwrap_or_default();
    if tile_sha256(&traces.identify(&tile)) != run.tile.sha256 {
        return Err(SubjectError::OtherTile { run: run.id.clone(), tile: name.to_owned() });
    }
    Ok(tile)
}

fn own_array(directory: &Path, run: &Run) -> Result<Array, SubjectError> {
    let path = directory.join(files::ARRAY);
    let array = spec::read_array(&path).map_err(|source| SubjectError::NoArray {
        run: run.id.clone(),
        source: Box::new(source),
    })?;
    let text = std::fs::read(&path).unwrap_or_default();
    let is_it = run.target.array_sha256.as_ref().is_none_or(|known| *known == sha256_hex(&text));
    if is_it { Ok(array) } else { Err(SubjectError::OtherArray { run: run.id.clone() }) }
}
