//! A whole run: preflight, disks, ladder, answer, run directory, and cleanup.

mod ahead;
mod answer;
mod climber;
mod confirm;
#[cfg(test)]
mod confirm_tests;
mod document;
mod kept;
mod larger;
mod over;
mod power;
mod prepare;
mod preview;
mod report;
mod reuse;
mod sample;
mod second;
mod simulate;
#[cfg(test)]
mod tests;
mod through;
mod wear;

pub use ahead::{Foresee, Here};
pub use answer::broken_limit;
pub(crate) use answer::{held_of, interval_of, score as score_of};
pub use document::{
    caches, operations_sha256, page_cache, summary, target_facts, tile_sha256, times, warnings,
};
pub use over::CheckedOver;
pub use power::meters;
pub use prepare::{Prepared, prepare};
pub use preview::{Outline, Preview, outline, plan_preview};
pub use report::Reporter;
pub use reuse::{ReusableRun, Reuse, RunPart, kept, nothing as nothing_to_reuse};
pub use sample::sample;
pub use simulate::{SimulateOptions, simulate, simulate_ahead};

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;

use datastore::{Datastore, Removed, Target};
use jiff::Timestamp;
use run_store::run::{LoadHost, Origin, Run, TargetFacts, ToolFacts, Warning};
use run_store::rundir::{RunDir, RunId, SameDevice, files, refuse_device_under_test};
use spec::plan::Profile;
use units::{Bytes, Nanos};

use crate::error::BenchError;
use crate::expect;
use crate::ladder::{Climb, Ladder};
use crate::plan::{ResolvedPlan, ladder_options, store_tile, with_traces};
use crate::progress::{Control, Observer, Overview, Progress, Whole};
use crate::rig::{
    Logins, Machines, RealRig, Reopen, Rig, TierSpec, check_applications, check_machines, reach,
};
pub use crate::run::answer::work_of;
use crate::run::climber::Climber;
pub use crate::run::climber::fill;
use crate::run::document::RunFacts;
use crate::run::second::{Second, device_of};
use crate::run::through::Before;
use crate::run::wear::Wears;
use crate::score::References;
use crate::step::runner::step_at_most;
pub use crate::tile_load::TileLoad;
pub(super) use crate::tile_load::USERS_MAX;

/// Permissions of a run, and directory for its results.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Directory in which the run directory is created.
    pub base: PathBuf,
    /// Permission for `base` to be on the device under test.
    pub same_device: SameDevice,
    /// Identity of the block device whose content may be destroyed.
    pub destroy_data: Option<String>,
    /// Identity of the second datastore's block device whose content may be destroyed.
    pub second_destroy_data: Option<String>,
    /// True if an existing file that is not from this program may be overwritten.
    pub overwrite_file: bool,
    /// True if a directory on a memory, overlay or root file system may be used.
    pub allow_root_fs: bool,
    /// True if the disks stay after the run.
    pub keep: bool,
    /// Selection of an earlier run, whose disks in the directory are used instead of new ones.
    pub reuse: Option<Reuse>,
    /// Settings of a tier on this host through which the disks are reached.
    pub through: Option<TierSpec>,
    /// Export of another server whose directory is the datastore.
    pub export: Option<Arc<::over::MountedExport>>,
    /// Passwords for services and authorities for their certificates, keyed by the name of the
    /// endpoint. They are not part of a plan, because a plan from someone else must not make this
    /// host send the content of a user's file.
    pub logins: Logins,
    /// Version of this program.
    pub tool: ToolFacts,
    /// Executable file of this program, which is also run as the process of web sites.
    pub program: PathBuf,
    /// True if the power policies of this host are read before and after the run. They are never
    /// changed.
    pub power_policies: bool,
    /// Generator of the report for people, if a report is wanted.
    pub reporter: Option<Arc<dyn Reporter>>,
}

/// End of a run.
#[derive(Debug)]
pub enum End {
    /// The ladder was climbed as far as the plan requires.
    Complete,
    /// A user requested a stop. The measurements so far are stored.
    Interrupted,
    /// An error ended the run. The measurements so far are stored.
    Failed(BenchError),
    /// The run has not ended. The measurements so far are stored in the meantime. No
    /// [`FinishedRun`] has this state.
    NotYet,
}

/// A run that has ended and is stored.
#[derive(Debug)]
pub struct FinishedRun {
    /// Run directory. Its name ends in `.partial` if it could not be completed.
    pub directory: PathBuf,
    /// Results of the run.
    pub run: Run,
    /// End of the run.
    pub end: End,
    /// Paths that were kept because of wrong blocks: the disks, and their verification state if it
    /// is elsewhere.
    pub evidence: Vec<PathBuf>,
    /// Rig that still owns the objects on the target.
    rig: Option<RealRig>,
}

impl FinishedRun {
    /// Removes everything that was created on the target, unless it is to be kept. Dropping does
    /// the same without a report. The result is already stored, so an error here cannot affect it.
    pub fn clear(&mut self) -> Removed {
        self.rig.take().map(RealRig::clear).unwrap_or_default()
    }
}

/// Runs a plan on its datastore.
///
/// # Errors
///
/// The run cannot begin: the plan does not fit, the target is refused, or the run directory cannot
/// be created. After the ladder has begun, errors are in the [`FinishedRun`]. In both cases nothing
/// that this program created remains on the target after the [`FinishedRun`] is cleared or dropped,
/// unless `keep` is set, wrong blocks were found, or it cannot be removed.
pub fn run(
    plan: &ResolvedPlan,
    options: &RunOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    let plan = &*with_traces(plan)?;
    let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
        .map_err(|source| BenchError::Random { source })?;
    let options = &reuse::resolved(plan, options)?;
    let target: Target = plan.datastore.parse().map_err(BenchError::Target)?;
    let store_options = datastore_options(plan, options, id.as_str());
    let plan = &*with_room(plan, &target, &store_options)?;
    // A load without a reference is refused before anything is changed.
    References::of(plan)?;
    let load = TileLoad::of(plan)?;
    let needed = load.needed_first(first_step(plan));
    let second = Second::of(plan, options, (&target, &load, first_step(plan)), id.as_str())?;
    let before = Before::of(plan, options, &target, id.as_str())?;
    // A missing target is reported first, before problems of the place for results.
    datastore::preflight(&target, needed, &store_options)?;
    second.as_ref().map_or(Ok(()), Second::preflight)?;
    before.as_ref().map_or(Ok(()), Before::preflight)?;
    let over = CheckedOver::of(plan, options, &target)?;
    let services = reach(plan, &options.logins)?;
    check_machines(plan)?;
    check_applications(plan, options.export.is_some())?;
    let power = meters(plan)?;
    let targets = std::iter::once(&target).chain(second.as_ref().map(|second| &second.target));
    for device in targets.filter_map(device_of) {
        refuse_device_under_test(&options.base, device, options.same_device)?;
    }
    let store = Datastore::open(&target, needed, &store_options)?;
    let (store, other) = second::open(second.as_ref(), store)?;
    // From here on, dropping the datastore clears it after any error.
    let through = before.as_ref().map(Before::open).transpose()?;
    let preflight = store.preflight().clone();
    let environment = run_store::env::capture(target.path(), options.tool.clone());
    let mut site = Site {
        id,
        target: target_facts(plan, &target, &preflight),
        warnings: warnings(&preflight).collect(),
        caches: caches(plan, &preflight),
        preflight: json_of(&preflight),
        environment: json_of(&environment),
        wear: Some(Wears::before(&environment)),
        hosts: Vec::new(),
    };
    if let (Some(second), Some(other)) = (&second, &other) {
        second::describe(&mut site, plan, (&second.target, other), &options.tool);
    }
    if let (Some(before), Some(through)) = (&before, &through) {
        before.describe(&mut site, through);
    }
    if let Some(over) = &over {
        over.describe(&mut site);
    }
    if let Some(export) = &options.export {
        over::describe_export(export, &mut site);
    }
    let over = over.map(|over| over.into_over(site.id.as_str()));
    let state = options.base.join(format!("{}.verify", site.id));
    let second_state = options.base.join(format!("{}.verify-second", site.id));
    // Until operations are known to be possible, only the disks of an earlier run are kept.
    let mut rig = RealRig::new(store, plan, options.reuse.is_some(), state)?
        .with_second(other, second_state)?
        .with_services(services)
        .with_machines(Machines::of_run(site.id.to_string(), plan))
        .with_servers(site.id.as_str(), &options.program, control.requests())
        .with_tier(through)
        .with_over(over)
        .with_export(options.export.clone())
        .with_power(power);
    if confirm::obstacle(plan, options).is_none() {
        rig = rig.with_reopen(Reopen { target, needed, options: store_options });
    }
    rig.check_operations(plan)?;
    rig.set_keep(options.keep);
    let mut finished = run_over(plan, site, options, &mut rig, control, observer)?;
    if matches!(finished.end, End::Failed(BenchError::Mismatch(_) | BenchError::Check(_))) {
        finished.evidence = rig.keep_evidence();
    }
    finished.rig = Some(rig);
    Ok(finished)
}

/// Facts about a run's target and drivers before its first step.
#[derive(Debug, Clone)]
pub struct Site {
    /// Identifier of the run.
    pub id: RunId,
    /// Target of the run.
    pub target: TargetFacts,
    /// Warnings from the target's examination.
    pub warnings: Vec<Warning>,
    /// Known caches in front of the target.
    pub caches: String,
    /// Result of the target's examination, for `preflight.json`.
    pub preflight: serde_json::Value,
    /// Facts about the host, for `env.json`.
    pub environment: serde_json::Value,
    /// Wear of the target's devices, if this host drives.
    pub wear: Option<Wears>,
    /// Driving hosts, if not only this host drives.
    pub hosts: Vec<LoadHost>,
}

/// Runs a plan, whose traces were read, on an open rig.
///
/// # Errors
///
/// The run cannot begin. After the ladder has begun, errors are in the [`FinishedRun`].
pub fn run_over<R: Rig>(
    plan: &ResolvedPlan,
    site: Site,
    options: &RunOptions,
    rig: &mut R,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    let references = References::of(plan)?;
    let load = TileLoad::of(plan)?;
    let directory = RunDir::create(&options.base, &site.id)?;
    directory.write_text(files::PLAN, &plan.to_toml()?)?;
    store_tile(plan, &directory)?;
    directory.write_json(files::PREFLIGHT, &site.preflight)?;
    let mut environment = site.environment;
    if let Some(wear) = &site.wear {
        wear.describe(&mut environment);
    }
    directory.write_json(files::ENV, &environment)?;
    let mut facts = RunFacts::new(plan, &references, load, &options.tool, &site.id, site.target)?;
    facts.note(site.warnings);
    facts.caches = Some(site.caches);
    facts.hosts = site.hosts;
    facts.wear = site.wear.map(|wear| (wear, environment));
    // Power policies of a host that drives nothing would mean nothing.
    facts.power_policies = options.power_policies && facts.hosts.is_empty();
    if let Some(reuse) = &options.reuse {
        facts.note_reuse(&reuse.to_string());
    }
    facts.reporter.clone_from(&options.reporter);
    facts.kept_small = confirm::obstacle(plan, options);
    run_on(plan, facts, rig, directory, control, observer)
}

fn json_of<T: serde::Serialize>(document: &T) -> serde_json::Value {
    serde_json::to_value(document).unwrap_or_default()
}

/// Minimum number of tiles that must fit in a quick search, so that it ends at a broken limit and
/// not because the datastore is full. It is several times the number that a current disk carries.
const QUICK_TILES: u64 = 256;
/// Minimum disk size, as a share of full size; our choice. A data-centre tile then has 64 MiB,
/// eight per VM. Caches hold even more of them, and the result states that.
const FOOTPRINT_MIN: f64 = 1.0 / 4096.0;

/// Returns the plan with disks that are small enough for a quick search, unless their size was
/// chosen. For a refused target the plan is unchanged, so that the refusal shows the sizes of the
/// profile.
pub(crate) fn with_room<'a>(
    plan: &'a ResolvedPlan,
    target: &Target,
    options: &datastore::Options,
) -> Result<Cow<'a, ResolvedPlan>, BenchError> {
    let mut roomy = Cow::Borrowed(plan);
    if !is_open(plan) {
        return Ok(roomy);
    }
    let Ok(found) = datastore::preflight(target, Bytes::ZERO, options) else { return Ok(roomy) };
    fit(&mut roomy, found.capacity_bytes)?;
    Ok(roomy)
}

fn fit(plan: &mut Cow<'_, ResolvedPlan>, capacity: u64) -> Result<(), BenchError> {
    while plan.footprint / 2.0 >= FOOTPRINT_MIN
        && TileLoad::of(plan)?.bytes.get().saturating_mul(QUICK_TILES) > capacity
    {
        plan.to_mut().footprint /= 2.0;
    }
    Ok(())
}

/// Returns the plan for a datastore with this capacity: disks are small enough for a quick search,
/// unless their size was chosen.
///
/// # Errors
///
/// The tile cannot be built at such a scale.
pub fn fitted(plan: &ResolvedPlan, capacity: Bytes) -> Result<Cow<'_, ResolvedPlan>, BenchError> {
    let mut fitted = Cow::Borrowed(plan);
    if is_open(plan) {
        fit(&mut fitted, capacity.get())?;
    }
    Ok(fitted)
}

/// Returns true if a quick search may choose the size of the disks.
fn is_open(plan: &ResolvedPlan) -> bool {
    plan.profile == Profile::Quick
        && plan.origin("scale.footprint") == Origin::Profile
        && plan.climb == Climb::Search
}

/// Returns the number of tiles in the first step.
pub(crate) fn first_step(plan: &ResolvedPlan) -> u32 {
    plan.climb.range().map_or(1, |(first, _)| first)
}

pub(crate) fn datastore_options(
    plan: &ResolvedPlan,
    options: &RunOptions,
    run_id: &str,
) -> datastore::Options {
    datastore::Options {
        buffered: plan.settings.engine.buffered,
        write: true,
        space_max: plan.settings.engine.space_max,
        destroy_data: options.destroy_data.clone(),
        overwrite_file: options.overwrite_file,
        allow_root_fs: options.allow_root_fs,
        run_id: run_id.to_owned(),
        adopt: options.reuse.as_ref().map(ToString::to_string),
    }
}

/// Climbs the ladder on a rig, and stores the results.
fn run_on<R: Rig>(
    plan: &ResolvedPlan,
    mut facts: RunFacts<'_>,
    rig: &mut R,
    directory: RunDir,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, BenchError> {
    let fits = rig.tiles_that_fit(&facts.load);
    first_step_fits(plan, facts.load, fits, rig.capacity())?;
    facts.fits = fits;
    let tiles_max = facts.load.tiles_max(plan.settings.ladder.tiles_max, fits);
    let overview = overview(plan, &facts, &directory, tiles_max);
    observer.event(&Progress::Planned(&overview));
    let mut ladder = Ladder::new(ladder_options(plan, tiles_max, rig.can_rest()));
    let reporter = facts.reporter.take();
    let wear = facts.wear.take();
    let larger = OnceCell::new();
    let mut climber = Climber::new(plan, facts, rig, &directory, control, &mut *observer)?;
    let climbed = confirm::climb(&mut climber, &mut ladder, plan, &larger);
    let climbed = climber.verified(climbed);
    let end = match climbed {
        Ok(()) => End::Complete,
        Err(BenchError::Interrupted) if control.is_out_of_time() => {
            ladder.end_for_time();
            End::Complete
        }
        Err(BenchError::Interrupted | BenchError::Aborted) => End::Interrupted,
        Err(error) => End::Failed(error),
    };
    let (mut run, stored) = climber.finish(&ladder, &end);
    let stored = stored.and_then(|()| match wear {
        Some(wear) => wear::note(wear, &directory, &mut run),
        None => Ok(()),
    });
    let stored = stored.and_then(|()| {
        if plan.settings.expect.is_empty() {
            return Ok(());
        }
        run.expectations = {
            let base = directory.path().parent().unwrap_or(directory.at());
            expect::judged(plan, &run, directory.at(), base)?
        };
        Ok(directory.write_run(&run)?)
    });
    let stored = stored.and_then(|()| match &reporter {
        Some(reporter) => report::add(reporter.as_ref(), &directory, &mut run, observer),
        None => Ok(()),
    });
    let partial = directory.path().to_owned();
    let (directory, end) = match stored.and_then(|()| Ok(directory.finish()?)) {
        Ok(directory) => {
            observer.event(&Progress::Finished { directory: directory.clone() });
            (directory, end)
        }
        // Measurements that could not be stored are still returned to the caller.
        Err(error) => match end {
            End::Failed(first) => (partial, End::Failed(first)),
            _ => (partial, End::Failed(error)),
        },
    };
    Ok(FinishedRun { directory, run, end, evidence: Vec::new(), rig: None })
}

fn first_step_fits(
    plan: &ResolvedPlan,
    load: TileLoad,
    fits: u32,
    capacity: Bytes,
) -> Result<(), BenchError> {
    let tiles = first_step(plan);
    if fits >= tiles {
        return Ok(());
    }
    Err(BenchError::TooLarge { tiles, per_tile: load.bytes, capacity })
}

fn overview(
    plan: &ResolvedPlan,
    facts: &RunFacts<'_>,
    directory: &RunDir,
    tiles_max: u32,
) -> Overview {
    Overview {
        id: facts.id.clone(),
        datastore: plan.datastore.clone(),
        target_summary: facts.target.summary.clone(),
        tile: plan.tile_set.tile.name.clone(),
        vms_per_tile: facts.load.vms,
        bytes_per_tile: facts.load.bytes,
        capacity: facts.target.capacity_bytes.map(Bytes::new),
        tiles_max,
        ladder: ladder_words(plan),
        step_at_most: step_time(plan),
        whole: facts.within.map_or_else(|| whole(plan), Whole::Time),
        seed: plan.seed,
        is_simulated: facts.target.is_simulated(),
        directory: directory.path().to_owned(),
    }
}

/// Returns the extent of the whole run.
fn whole(plan: &ResolvedPlan) -> Whole {
    let repeats = plan.repeats;
    match (plan.climb.range(), plan.method.budget) {
        (Some((first, last)), _) => {
            Whole::Runs(last.saturating_sub(first).saturating_add(1).saturating_mul(repeats))
        }
        (None, Some(time)) => Whole::Time(time),
        (None, None) => Whole::Search(repeats),
    }
}

/// Returns the maximum duration of a step with all repeats.
pub(crate) fn step_time(plan: &ResolvedPlan) -> Nanos {
    Nanos(step_at_most(plan).0.saturating_mul(u64::from(plan.repeats)))
}

/// Describes the strategy of the ladder in words.
pub(crate) fn ladder_words(plan: &ResolvedPlan) -> String {
    match plan.climb {
        Climb::Search | Climb::Bisect => format!(
            "grow until a limit breaks, then the steps that tell most about the edge, until it is \
             known to {:.0} %",
            plan.method.precision * 100.0
        ),
        Climb::Range { first, last } | Climb::Every { first, last } if first == last => {
            let runs = answer::count(plan.repeats, "run");
            format!("{}, {runs}", answer::count(first, "tile"))
        }
        Climb::Range { first, last } => {
            format!("{first} to {last} tiles, {} each", answer::count(plan.repeats, "run"))
        }
        Climb::Every { first, last } => {
            let runs = answer::count(plan.repeats, "run");
            format!("{first} to {last} tiles, beyond the edge too, {runs} each")
        }
    }
}
