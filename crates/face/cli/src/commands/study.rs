//! `study`: lists, shows, runs and merges studies.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ::study::{
    MergeError, Options, Progress, RealStorage, Shard, Simulated, StudyError, StudyPart,
};
use bench::progress::Control;
use findings::StudyResult;
use run_store::rundir::default_base;
use serde_json::json;
use spec::study::{Kind, ResolvedReal, ResolvedStudy, resolve_study};

use crate::args::{
    Format, StudyAction, StudyArgs, StudyFormat, StudyMergeArgs, StudyResultArgs, StudyRunArgs,
};
use crate::commands::run::tool;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::{Table, count};
use crate::{output, signals, text};

/// Lists studies, shows one, runs one or merges its parts.
pub fn study(args: &StudyArgs) -> Result<Exit, Failure> {
    match &args.action {
        None => list(Format::Text)?,
        Some(StudyAction::List { format }) => list(*format)?,
        Some(StudyAction::Show { study, toml, format }) => show(study, *toml, *format)?,
        Some(StudyAction::Run(args)) => return run(args),
        Some(StudyAction::Merge(args)) => return merge(args),
    }
    Ok(Exit::Success)
}

fn resolved(name: &str) -> Result<ResolvedStudy, Failure> {
    resolve_study(name).map_err(|error| Failure::from_definition(&error))
}

fn list(format: Format) -> Result<(), Failure> {
    let studies =
        spec::shipped::study_names().map(resolved).collect::<Result<Vec<_>, Failure>>()?;
    if format == Format::Json {
        let rows: Vec<_> = studies
            .iter()
            .map(|study| {
                json!({
                    "name": study.study.name, "title": study.study.title,
                    "configurations": configurations(study),
                    "claims": study.study.claims.len(), "predicted": predicted(study),
                })
            })
            .collect();
        return output::print_json(&rows);
    }
    let mut table =
        Table::new(&["study", ">configurations", ">claims", ">predicted", "what it is"]);
    for study in &studies {
        table.row(vec![
            study.study.name.clone(),
            configurations(study).to_string(),
            study.study.claims.len().to_string(),
            predicted(study).to_string(),
            study.study.title.clone(),
        ]);
    }
    output::show(&(table.lines().join("\n") + "\n"))
}

/// Counts the configurations, modelled and on real storage.
fn configurations(study: &ResolvedStudy) -> usize {
    study.configurations.len() + study.reals.len()
}

fn predicted(study: &ResolvedStudy) -> usize {
    study.study.claims.iter().filter(|claim| claim.kind == Kind::Predicted).count()
}

fn show(name: &str, toml: bool, format: Format) -> Result<(), Failure> {
    let study = resolved(name)?;
    if toml {
        return output::print(&study.file.text);
    }
    match format {
        Format::Text => output::show(&shown(&study)),
        Format::Json => output::print_json(&study.study),
    }
}

fn shown(study: &ResolvedStudy) -> String {
    let file = &study.study;
    let mut lines = vec![format!("{}: {}", file.name, file.title)];
    lines.push(format!("source: {}", file.source.trim().replace('\n', "\n        ")));
    lines.push(String::new());
    let mut table = Table::new(&["configuration", "array", "tile", "tiles", "what it is"]);
    for each in &study.configurations {
        table.row(vec![
            each.name.clone(),
            each.array_name.clone(),
            each.tile_name.clone(),
            tiles(&each.tiles),
            each.title.clone(),
        ]);
    }
    for each in &study.reals {
        table.row(vec![
            each.name.clone(),
            on_real(each),
            each.tile_name.clone(),
            tiles(&each.tiles),
            each.title.clone(),
        ]);
    }
    lines.extend(table.lines());
    lines.push(String::new());
    let mut table = Table::new(&["claim", "kind", "published", "tolerance", "what is said"]);
    for claim in &file.claims {
        table.row(vec![
            claim.id.clone(),
            claim.kind.name().to_owned(),
            findings::published_text(&claim.published, claim.unit.as_deref()),
            findings::tolerance_text(claim.tolerance),
            claim.text.clone(),
        ]);
    }
    lines.extend(table.lines());
    lines.join("\n") + "\n"
}

fn tiles(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    words.join(" ")
}

/// Describes the real storage of a configuration.
fn on_real(each: &ResolvedReal) -> String {
    let over = each.over.map_or_else(String::new, |over| format!(", over {over}"));
    format!("real storage, {}{over}", each.limits.describe())
}

fn run(args: &StudyRunArgs) -> Result<Exit, Failure> {
    let study = resolved(&args.study)?;
    let options = Options {
        only: each_once(&args.only),
        all: args.all,
        threads: args.threads,
        repeats: args.repeats,
        seed: args.seed,
        real: real(args),
        tool: Some(tool()),
    };
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    signals.hush();
    let begun = Instant::now();
    let mut told = |progress: &Progress<'_>| tell(progress, begun);
    if !args.hosts.is_empty() {
        let result = on_hosts(args, &study, options, &control, &mut told)?;
        return told_result(&result, &args.result, signals.exit());
    }
    let simulated = Simulated::new(&study.configurations);
    if let Some(shard) = args.shard {
        let part = ::study::run_shard(&study, &simulated, &options, shard, &control, &mut told);
        return keep_part(part.map_err(|error| wrong(&error))?, shard, args, signals.exit());
    }
    let result = ::study::run(&study, &simulated, &options, &control, &mut told)
        .map_err(|error| wrong(&error))?;
    told_result(&result, &args.result, signals.exit())
}

#[cfg(not(feature = "hosts"))]
fn on_hosts(
    _: &StudyRunArgs,
    _: &ResolvedStudy,
    _: Options,
    _: &Control,
    _: &mut dyn FnMut(&Progress<'_>),
) -> Result<StudyResult, Failure> {
    Err(crate::gathering::absent())
}

/// Runs a study on hosts.
#[cfg(feature = "hosts")]
fn on_hosts(
    args: &StudyRunArgs,
    study: &ResolvedStudy,
    options: Options,
    control: &Control,
    told: &mut dyn FnMut(&Progress<'_>),
) -> Result<StudyResult, Failure> {
    use crate::gathering;

    let hosts = gathering::options(&args.hosts, bench::plan::Origin::Flag, &args.reach)?;
    let mut invite = gathering::invite(&args.reach);
    let lost = |what: &str| crate::say!("{what}");
    let workers = many_hosts::Workers::gather(study, &hosts, &tool(), control, &mut invite, &lost)?;
    let options = Options { threads: Some(workers.threads()), ..options };
    ::study::run(study, &workers, &options, control, told).map_err(|error| wrong(&error))
}

fn wrong(error: &StudyError) -> Failure {
    Failure::from_error(Exit::Usage, error).hint(Some(error.hint()))
}

/// Stores a part and prints its path on stdout. A part of an interrupted run is dropped, because it
/// cannot be merged.
fn keep_part(
    part: Option<StudyPart>,
    shard: Shard,
    args: &StudyRunArgs,
    interrupted: Exit,
) -> Result<Exit, Failure> {
    let Some(part) = part else {
        crate::say!("interrupted: shard {shard} wrote no part; run it again");
        return Ok(interrupted);
    };
    let unkept = |error: String| Failure::new(Exit::Failure, format!("saving the part: {error}"));
    let base = base(&args.result).map_err(unkept)?;
    let path = part.store(&base).map_err(|error| unkept(error.to_string()))?;
    output::print(&format!("{}\n", path.display()))?;
    Ok(Exit::Success)
}

fn merge(args: &StudyMergeArgs) -> Result<Exit, Failure> {
    let study = resolved(&args.study)?;
    let parts = args.parts.iter().map(|path| Ok((path.display().to_string(), part(path)?)));
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let simulated = Simulated::new(&study.configurations);
    let result = ::study::merge(&study, &simulated, tool(), parts).map_err(|error| {
        let hint = match &error {
            MergeError::Missing { .. } => {
                Some("`tilemark study run` with --shard N/COUNT writes each part")
            }
            MergeError::Other { .. } | MergeError::OtherCount { .. } => {
                Some("all parts of a result need the same study, options and program")
            }
            _ => None,
        };
        Failure::from_error(Exit::Usage, &error).hint(hint)
    })?;
    told_result(&result, &args.result, Exit::Success)
}

fn part(path: &Path) -> Result<StudyPart, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("cannot read {}: {error}", path.display()))
    };
    let text = untrusted::read_named_text(path).map_err(|error| failed(&error))?;
    StudyPart::parse(&text).map_err(|error| failed(&error))
}

/// Stores a result and prints it.
fn told_result(
    result: &StudyResult,
    args: &StudyResultArgs,
    interrupted: Exit,
) -> Result<Exit, Failure> {
    keep(result, args);
    match args.format {
        StudyFormat::Text => output::show(&text::study(result))?,
        StudyFormat::Json => output::print_json(result)?,
        StudyFormat::Csv => output::print(&findings::csv(result))?,
        StudyFormat::Markdown => output::print(&findings::markdown(result))?,
    }
    Ok(end(result, args.strict, interrupted))
}

/// Returns the directory of results.
fn base(args: &StudyResultArgs) -> Result<PathBuf, String> {
    args.out.clone().map_or_else(default_base, Ok).map_err(|error| error.to_string())
}

/// Stores a result. A failure is only printed, because the result itself still is.
fn keep(result: &StudyResult, args: &StudyResultArgs) {
    let kept = base(args).and_then(|base| {
        let now = jiff::Timestamp::now();
        findings::store::store(result, &base, now).map_err(|error| error.to_string())
    });
    match kept {
        Ok(directory) => crate::say!("kept in {}", directory.display()),
        Err(error) => crate::say!("the result was not saved: {error}"),
    }
}

fn real(args: &StudyRunArgs) -> Option<RealStorage> {
    let directory = args.real.clone()?;
    Some(RealStorage { directory, allow_root_fs: args.allow_root_fs })
}

/// Prints a line on stderr for each event.
fn tell(progress: &Progress<'_>, begun: Instant) {
    match progress {
        Progress::Begins { runs, threads } => {
            let (runs, threads) = (count_of(*runs, "run"), count_of(*threads, "thread"));
            crate::say!("{runs} on {threads}");
        }
        Progress::Done { done, runs, point, result } => {
            let what = match result {
                Ok(step) => step.verdict.name().to_owned(),
                Err(error) => error.to_string(),
            };
            let seconds = begun.elapsed().as_secs();
            crate::say!(
                "{seconds:>4} s  {done:>3}/{runs}  {} {}, run {}: {what}",
                point.configuration.name,
                count(u64::from(point.tiles), "tile"),
                point.repeat
            );
        }
    }
}

fn count_of(number: usize, noun: &str) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), noun)
}

fn end(result: &StudyResult, strict: bool, interrupted: Exit) -> Exit {
    let missed = result.claims.iter().any(|claim| claim.kind == Kind::Predicted && !claim.met);
    if !result.complete {
        interrupted
    } else if strict && missed {
        Exit::ObjectiveFailed
    } else {
        Exit::Success
    }
}

/// Returns the distinct claims in the order of their first mention, without surrounding spaces.
fn each_once(named: &[String]) -> Vec<String> {
    let mut once: Vec<String> = Vec::new();
    for id in named.iter().map(|id| id.trim()).filter(|id| !id.is_empty()) {
        if !once.iter().any(|known| known == id) {
            once.push(id.to_owned());
        }
    }
    once
}
