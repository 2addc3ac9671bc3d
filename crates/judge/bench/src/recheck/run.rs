use std::path::Path;

use crate::error::Absent;
use run_store::run::{ReferenceOrigin, Run, Step, Verdict};
use run_store::rundir::{ChecksumProblem, RunDirError, StoredRun, files, sha256_hex};
use run_store::series::{SeriesError, Slices, StepKey};
use serde_json::{Value, json};

use crate::BenchError;
use crate::fleet::OPERATIONS;
use crate::ladder::{Ladder, StepResult};
use crate::plan::{
    Layer, ResolvedPlan, Surroundings, ladder_options, resolve, resolve_simulated, with_traces,
};
use crate::recheck::document::{Agreement, Item, NotRechecked, Recheck, SCHEMA, StepRecheck};
use crate::replayed::Replayed;
use crate::run::{held_of, interval_of, operations_sha256, score_of, tile_sha256, work_of};
use crate::score::{Reference, References};
use crate::step::checks::repeats_within_3_percent;
use crate::step::course::slices_per_block;
use crate::verdict::Judged;

/// Error when rechecking a stored run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecheckError {
    /// Error of the run directory.
    #[error(transparent)]
    RunDir(#[from] RunDirError),
    /// Error of the stored series.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// Error of the tile's definition.
    #[error(transparent)]
    Tile(Box<spec::SpecError>),
}

/// Rechecks a stored run from its series. `tile` is the path of the tile's definition, if it
/// differs from the path in the run's plan.
///
/// # Errors
///
/// `run.json` or the series cannot be read. Differences in their content are reported in the
/// document.
pub fn recheck(stored: &StoredRun, tile: Option<&str>) -> Result<Recheck, RecheckError> {
    let run = stored.run()?;
    let mut recheck = Recheck {
        schema: SCHEMA.to_owned(),
        run: run.id.clone(),
        result: Agreement::NotRechecked,
        files: sums(stored)?,
        definitions: Vec::new(),
        steps: Vec::new(),
        answer: Vec::new(),
        not_rechecked: beyond_the_series(run),
    };
    let mut is_judged = false;
    match definitions(stored, run, tile, &mut recheck) {
        Ok(plan) => {
            let again = steps(stored, run, &plan, &mut recheck)?;
            answer(run, &plan, &again, &mut recheck);
            is_judged = again.iter().all(|(_, _, strangers)| *strangers == 0);
        }
        Err(why) => recheck.not_rechecked.push(NotRechecked::new(
            "every step, limit and score",
            format!("the load is unknown: {why}"),
        )),
    }
    let differs = recheck.items().any(Item::differs);
    recheck.result = match differs {
        true => Agreement::Differs,
        false if is_judged => Agreement::Agrees,
        false => Agreement::NotRechecked,
    };
    Ok(recheck)
}

/// Returns one item for each file that changed since the run was written. If none changed, or there
/// are no checksums, a single item says so.
fn sums(stored: &StoredRun) -> Result<Vec<Item>, RunDirError> {
    if !stored.path().join(files::SUMS).exists() {
        let what = files::SUMS.to_owned();
        let (stored, computed) = (json!("absent"), Value::Null);
        return Ok(vec![Item {
            what,
            result: Agreement::NotRechecked,
            stored,
            computed,
            decides: false,
        }]);
    }
    let problems = stored.check()?;
    if problems.is_empty() {
        return Ok(vec![Item::compare("all files", "as summed", "as summed")]);
    }
    let item = |problem: ChecksumProblem| {
        let (what, found) = match problem {
            ChecksumProblem::Changed { name } => (name, "other content"),
            ChecksumProblem::Missing { name } => (name, "it is gone"),
            ChecksumProblem::Added { name } => (name, "the file is missing"),
            ChecksumProblem::Unreadable { line } => {
                (format!("{} line {line}", files::SUMS), "it cannot be read")
            }
        };
        Item::compare(what, "as summed", found)
    };
    Ok(problems.into_iter().map(item).collect())
}

/// Maximum number of workloads in all tiles of a step. A tile from someone else may have any number
/// of copies, and a hundred thousand times the ten workloads of a shipped tile would not fit into
/// memory.
const MEMBERS_MAX: u64 = 1 << 20;

/// Returns the plan of a run. Checks that it and the tile are the ones that the run names. Without
/// the tile that was run, nothing can be rechecked, and the error says so.
fn definitions(
    stored: &StoredRun,
    run: &Run,
    tile: Option<&str>,
    recheck: &mut Recheck,
) -> Result<ResolvedPlan, Absent> {
    let text = stored.plan().map_err(|error| error.to_string())?;
    let sum = sha256_hex(text.as_bytes());
    recheck.definitions.push(Item::compare("hash of plan.toml", &run.plan_sha256, &sum));
    let path = stored.path().join(files::PLAN);
    let plan = spec::read_plan(&path).map_err(|error| error.to_string())?;
    let name = tile.or(plan.tile.as_deref()).unwrap_or_default();
    let base = if tile.is_some() { Path::new("") } else { stored.path() };
    let tile_set = spec::resolve_tile(name, base).map_err(|error| error.to_string())?;
    let tile_set = match &plan.operations {
        Some(group) => spec::with_operations(tile_set, group, stored.path())
            .map_err(|error| error.to_string())?,
        None => tile_set,
    };
    for step in &run.steps {
        let copies = tile_set.workloads.iter().map(|(_, copies)| u64::from(*copies));
        let found = u64::from(step.tiles).saturating_mul(copies.sum());
        if found > MEMBERS_MAX {
            return Err(format!(
                "the {} tiles of step {} have {found} workloads, but a recheck supports at most \
                 {MEMBERS_MAX}",
                step.tiles, step.step
            )
            .into());
        }
    }
    let layers = [Layer::of_plan(&plan)];
    let here = Surroundings { entropy: run.seed, cores: run.engine.workers.max(1) };
    let simulated = || resolve_simulated(&layers, tile_set.clone(), here).ok();
    let resolved = run.target.is_simulated().then(simulated).flatten();
    let resolved = match resolved {
        Some(plan) => plan,
        None => resolve(&layers, tile_set, here).map_err(|error| error.to_string())?,
    };
    let resolved = match with_traces(&resolved) {
        Ok(plan) => plan.into_owned(),
        Err(error) => {
            let what = "the trace that was played";
            recheck.not_rechecked.push(NotRechecked::new(what, error.to_string()));
            return Ok(resolved);
        }
    };
    let sum = tile_sha256(&resolved.traces.identify(&resolved.tile_set));
    if sum != run.tile.sha256 && tile.is_none() {
        return Err(format!(
            "tile \"{name}\" is not the tile of the run (SHA-256 {sum}, the run has {}). Use the \
             tilemark version that made the run, or name the tile's file",
            run.tile.sha256
        )
        .into());
    }
    recheck.definitions.push(Item::compare("hash of the tile", &run.tile.sha256, &sum));
    if let Some(facts) = &run.tile.operations {
        let sum = operations_sha256(&resolved.tile_set);
        recheck.definitions.push(Item::compare("hash of the operations", &facts.sha256, &sum));
    }
    Ok(resolved)
}

/// A rechecked step, its judgement, and the number of rows of unknown workloads.
type Again = (Step, Judged, u64);

fn steps(
    stored: &StoredRun,
    run: &Run,
    plan: &ResolvedPlan,
    recheck: &mut Recheck,
) -> Result<Vec<Again>, SeriesError> {
    let references = references(run, plan, recheck);
    let slices_per_block = slices_per_block(plan);
    let beside: Vec<u32> =
        run.resized.iter().flat_map(|own| own.steps.iter().map(|step| step.step)).collect();
    if !beside.is_empty() {
        recheck.not_rechecked.push(NotRechecked::new(
            "steps with disks of another size",
            "the plan does not match the run's own steps",
        ));
    }
    let mut slices = Slices::of(stored.path())?
        .filter(|slice| !slice.as_ref().is_ok_and(|slice| beside.contains(&slice.key.step)))
        .peekable();
    let mut all: Vec<Again> = Vec::new();
    for step in &run.steps {
        let mut replayed = Replayed::new(&plan.tile_set, step, slices_per_block);
        let is_own = |key: &StepKey| {
            (key.step, key.repeat, key.tiles) == (step.step, step.repeat, step.tiles)
        };
        while let Some(slice) = slices.next_if(|slice| match slice {
            Ok(slice) => is_own(&slice.key),
            Err(_) => true,
        }) {
            replayed.take(slice?);
        }
        let strangers = replayed.strangers;
        let (mut again, judged) = replayed.conclude(step, &references, run.seed);
        let before = all.iter().map(|(step, _, _)| step);
        let before = before.filter(|before| before.tiles == step.tiles);
        let scores: Option<Vec<f64>> = before.chain([&again]).map(work_of).collect();
        again.checks.extend(scores.and_then(|scores| repeats_within_3_percent(&scores)));
        recheck.steps.push(compare(step, &again, strangers, &mut recheck.not_rechecked));
        all.push((again, judged, strangers));
    }
    if let Some(rest) = slices.next().transpose()? {
        let StepKey { step, repeat, .. } = rest.key;
        let found = format!("step {step}, repeat {repeat}");
        recheck.answer.push(Item::compare("slices that belong to no step", "none", &found));
    }
    Ok(all)
}

/// Returns the reference of each workload: recomputed, or as stored if that is not possible.
fn references(run: &Run, plan: &ResolvedPlan, recheck: &mut Recheck) -> References {
    References::of(plan).unwrap_or_else(|error| {
        recheck.not_rechecked.push(NotRechecked::new(
            "one tile's worth of each workload",
            format!("{}; the stored values are used", BenchError::from(error)),
        ));
        let of = |name: &str| {
            let results = run.steps.iter().flat_map(|step| &step.workloads);
            let found = results.into_iter().find(|own| own.workload == name);
            found.map_or(Reference { value: None, origin: ReferenceOrigin::None }, |own| {
                let metric = &own.metric;
                Reference { value: metric.reference.value, origin: metric.reference_origin }
            })
        };
        References(plan.tile_set.all().map(|(own, _)| of(&own.name)).collect())
    })
}

fn compare(
    stored: &Step,
    again: &Step,
    strangers: u64,
    not_rechecked: &mut Vec<NotRechecked>,
) -> StepRecheck {
    let mut items = Vec::new();
    if stored.verdict == Verdict::Interrupted {
        let what = format!("verdict of step {}, repeat {}", stored.step, stored.repeat);
        let why = "the step was not finished, and the series do not have the reason";
        not_rechecked.push(NotRechecked::new(what, why));
    } else {
        items.push(Item::compare("verdict", &stored.verdict, &again.verdict).deciding());
        items.push(Item::compare("reason", &stored.reason, &again.reason));
    }
    items.push(Item::compare("waits of the broken action", &stored.waits, &again.waits));
    items.push(Item::compare("measured time", &stored.measured_ns, &again.measured_ns));
    items.push(Item::compare("limits", &stored.limits.len(), &again.limits.len()));
    for (stored, again) in stored.limits.iter().zip(&again.limits) {
        items.push(Item::compare(format!("limit {}", stored.name()), stored, again).deciding());
    }
    for (stored, again) in stored.hosts.iter().zip(&again.hosts) {
        let what = format!("limits of host {}", stored.host);
        items.push(Item::compare(what, &stored.limits, &again.limits).deciding());
    }
    items.push(Item::compare("score", &stored.score, &again.score).deciding());
    items.push(Item::compare("throughput", &stored.throughput, &again.throughput));
    items.push(Item::compare("I/O", &stored.io, &again.io));
    items.push(Item::compare("actions", &stored.actions, &again.actions));
    items.push(Item::compare("workloads", &stored.workloads.len(), &again.workloads.len()));
    for (stored, again) in stored.workloads.iter().zip(&again.workloads) {
        let mut item = Item::compare(workload_name(stored), stored, again);
        if !item.differs() {
            // Values that are equal are left out: a hundred tiles of them would bury the rest.
            (item.stored, item.computed) = (Value::Null, Value::Null);
        }
        items.push(item);
    }
    let (mut of_stored, mut of_again) = (stored.generator.clone(), again.generator.clone());
    for health in [&mut of_stored, &mut of_again] {
        let absent = || run_store::run::Figure::absent("not in the series");
        (health.cpu_user_us_per_io, health.cpu_system_us_per_io) = (absent(), absent());
    }
    items.push(Item::compare("load generator", &of_stored, &of_again));
    for check in &stored.checks {
        let found = again.checks.iter().find(|own| own.id == check.id);
        if let Some(found) = found {
            items.push(Item::compare(format!("check {}", check.id), check, found));
        }
    }
    if strangers > 0 {
        let found = format!("{strangers} rows");
        items.push(Item::compare("rows of workloads that the tile does not have", "none", &found));
    }
    let (step, repeat, tiles) = (stored.step, stored.repeat, stored.tiles);
    StepRecheck { step, repeat, tiles, items }
}

fn workload_name(own: &run_store::run::WorkloadResult) -> String {
    let of = own.tile.map_or_else(|| OPERATIONS.to_owned(), |tile| format!("tile {}", tile + 1));
    match own.copy {
        0 => format!("{of} {}", own.workload),
        copy => format!("{of} {} {}", own.workload, copy + 1),
    }
}

/// Compares the answer by climbing the ladder again with the same rules.
fn answer(run: &Run, plan: &ResolvedPlan, again: &[Again], recheck: &mut Recheck) {
    let most = run.steps.iter().map(|step| step.tiles).max().unwrap_or(0);
    let tiles_max = run.answer.tiles_max.unwrap_or(most);
    let mut ladder = Ladder::new(ladder_options(plan, tiles_max, !run.target.is_simulated()));
    for ((step, _, _), stored) in again.iter().zip(&run.steps) {
        if stored.verdict != Verdict::Interrupted {
            ladder.record(step.tiles, StepResult::of(step, units::Nanos::ZERO));
        }
    }
    let edge = ladder.edge();
    let held = held_of(&edge);
    recheck.answer.push(Item::compare("tiles held", &run.answer.tiles_held, &held));
    if run.answer.tiles_max.is_some() {
        let (stored, computed) = (&run.answer.tiles_interval, interval_of(&edge));
        recheck.answer.push(Item::compare("interval of tiles held", stored, &computed));
    } else {
        recheck.not_rechecked.push(NotRechecked::new(
            "interval of tiles held",
            "an earlier version stored the run, without the number of tiles that could have been \
            tried",
        ));
    }
    let computed: Vec<Step> = again.iter().map(|(step, _, _)| step.clone()).collect();
    let (score, interval) = score_of(plan, edge.held, &computed);
    recheck.answer.push(Item::compare("score", &run.answer.score, &score));
    recheck.answer.push(Item::compare(
        "interval of the score",
        &run.answer.score_interval,
        &interval,
    ));
    if let Some(broken) = &run.answer.first_broken {
        let of = |step: &Step| (step.tiles, step.repeat) == (broken.tiles, broken.repeat);
        let judged = again.iter().find(|(step, _, _)| of(step)).map(|(_, judged, _)| judged);
        let found = judged.and_then(|judged| judged.broken.as_ref()).map(|(_, limit)| limit);
        recheck.answer.push(Item::compare("first broken limit", &Some(&broken.limit), &found));
    }
}

/// Lists the parts of `run.json` that do not come from the series.
fn beyond_the_series(run: &Run) -> Vec<NotRechecked> {
    let mut all = vec![
        NotRechecked::new(
            "when each warm-up ended",
            "the rule is not applied again; the phases of the series are taken as they are",
        ),
        NotRechecked::new(
            "the generator's CPU time per I/O",
            "the stored value covers the whole process, but the series have only its worker \
            threads",
        ),
        NotRechecked::new("check submitted-is-completed", "it includes I/Os after the last slice"),
        NotRechecked::new("sentences and warnings of the answer", "they are words, not numbers"),
    ];
    if run.steps.iter().any(|step| step.model.is_some()) {
        all.push(NotRechecked::new(
            "figures of modelled parts, tiers and hosts",
            "the series do not have them; the same plan, array and seed give them again",
        ));
    }
    if run.steps.iter().any(|step| step.replay.is_some()) {
        all.push(NotRechecked::new("lateness of replayed I/Os", "the series do not have it"));
    }
    if !run.hosts.is_empty() {
        all.push(NotRechecked::new(
            "comparison of hosts' generators, clocks and I/Os",
            "the series have only the sum of all generators",
        ));
    }
    if run.prefill.is_some() {
        all.push(NotRechecked::new("the speed of the prefill", "the series do not have it"));
    }
    all
}
