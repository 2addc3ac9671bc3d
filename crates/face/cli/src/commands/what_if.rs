//! `what-if`: runs a run's tile on its array with one thing changed.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bench::BenchError;
use bench::progress::{Control, about};
use run_store::rundir::{self, RunDirError, StoredRun};
use spec::array::{Array, TierPlace, WriteMode};
use units::Nanos;
use whatif::{
    self, ChangeError, Changes, ModelKind, Options, Pace, Progress, Subject, SubjectError,
};

use crate::args::{CacheAt, Format, WhatIfArgs, Write};
use crate::commands::{run, runs, simulate, what_if_watched};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{deadline, output, signals, text};

/// Maximum number of runs listed after a name that was not found.
const NAMED_MAX: usize = 8;

/// Prints the answer, or the reason why there is none.
pub fn run(args: &WhatIfArgs) -> Result<Exit, Failure> {
    if let (Some(vm), Some(cache)) = (&args.watch, args.cache) {
        return what_if_watched::run(args, vm, cache);
    }
    let stored = open(args)?;
    let array = args.array.as_deref().map(array).transpose()?;
    let mut subject = whatif::subject(&stored, array).map_err(|error| unfit(&error))?;
    // A mistake in the changes is told before a model is fitted, which takes a while.
    changes(args).apply_to(&subject).map_err(|error| unchanged(&error))?;
    let options = options(args, simulate::is_at_terminal());
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    signals.hush();
    deadline::after(args.within, &control)?;
    if subject.model == ModelKind::Fitted {
        crate::say!("fitting models: the run's users are simulated on each");
    }
    let threads = args.threads.or_else(|| std::thread::available_parallelism().ok());
    let refined = subject.refine(threads.map_or(1, NonZeroUsize::get), &control);
    let changed = changes(args).apply_to(&subject).map_err(|error| unchanged(&error))?;
    let begun = Instant::now();
    let mut pace = Pace::default();
    let mut told = |progress: &Progress| tell(progress, &subject, &mut pace, begun);
    let answer =
        refined.and_then(|()| whatif::what_if(&subject, &changed, &options, &control, &mut told));
    match answer {
        Err(BenchError::Interrupted) if control.is_out_of_time() => Err(too_short(args.within)),
        Err(BenchError::Interrupted | BenchError::Aborted) => {
            crate::say!("interrupted; there is no answer");
            Ok(signals.exit())
        }
        Err(error) => Err(Failure::from(error)),
        Ok(answer) => {
            match args.stored.format {
                Format::Text => output::show(&text::what_if(&answer))?,
                Format::Json => output::print_json(&answer)?,
            }
            Ok(if answer.conclusive { Exit::Success } else { Exit::Inconclusive })
        }
    }
}

/// Returns the options of the search: quick on a terminal, where a person waits for the answer.
fn options(args: &WhatIfArgs, is_at_terminal: bool) -> Options {
    let is_quick = args.quick || is_at_terminal && !args.standard;
    if is_quick && !args.quick {
        crate::say!("profile quick, because this is a terminal; --standard uses five seeds");
    }
    let (repeats, lengthen_max) = match is_quick {
        true => (Options::REPEATS_QUICK, Options::LENGTHEN_MAX_QUICK),
        false => (Options::REPEATS, Options::LENGTHEN_MAX),
    };
    Options {
        repeats: args.repeats.unwrap_or(repeats),
        tiles_max: args.tiles_max,
        threads: args.threads,
        lengthen_max,
        within: args.within,
        tool: run::tool(),
    }
}

fn too_short(within: Option<Nanos>) -> Failure {
    let within = within.unwrap_or_default();
    let text = format!(
        "the time limit of {within} passed before both arrays were searched with one seed; there \
         is no answer"
    );
    let hint = "allow more time, or search less: --tiles-max N";
    Failure::new(Exit::Inconclusive, text).hint(Some(hint))
}

/// Opens the run. For an unknown name the latest runs are listed.
fn open(args: &WhatIfArgs) -> Result<StoredRun, Failure> {
    let base = runs::base(args.stored.out.as_deref())?;
    let run = args.run.as_deref().unwrap_or_default();
    rundir::open(&base, run).map_err(|error| match error {
        RunDirError::NotFound { .. } => {
            let known = known_runs(&base);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let hint = spec::did_you_mean(run, &known, "runs");
            Failure::from_error(Exit::Usage, &error).hint(Some(hint))
        }
        other => runs::failure(other),
    })
}

/// Returns the names of the latest runs.
fn known_runs(base: &Path) -> Vec<String> {
    let runs = rundir::list(base).unwrap_or_default();
    let ids = runs.iter().rev().take(NAMED_MAX).map(|run| run.id().as_str().to_owned());
    ids.collect()
}

fn array(name: &str) -> Result<Array, Failure> {
    spec::resolve_array_with(&crate::user_arrays::find(name), Path::new(""), &[])
        .map_err(|error| Failure::from_definition(&error))
}

fn changes(args: &WhatIfArgs) -> Changes {
    Changes {
        cache: args.cache,
        cache_at: args.cache_at.map(|at| match at {
            CacheAt::Host => TierPlace::Host,
            CacheAt::Array => TierPlace::Array,
        }),
        policy: args.policy.clone(),
        page: args.page,
        write: args.write.map(|write| match write {
            Write::Through => WriteMode::Through,
            Write::Back => WriteMode::Back,
            Write::Around => WriteMode::Around,
            Write::Only => WriteMode::Only,
        }),
        disks: args.disks,
        disk: args.disk.clone(),
        link: args.link.clone(),
        memory: args.memory,
        with: args.with.clone(),
    }
}

fn unfit(error: &SubjectError) -> Failure {
    let exit = match error {
        SubjectError::RunDir(_) => Exit::Failure,
        _ => Exit::Usage,
    };
    Failure::from_error(exit, error).hint(error.hint())
}

fn unchanged(error: &ChangeError) -> Failure {
    match error {
        ChangeError::Spec(error) => Failure::from_definition(error),
        other => Failure::from_error(Exit::Usage, other).hint(other.hint()),
    }
}

/// Prints a line on stderr for each event.
fn tell(progress: &Progress, subject: &Subject, pace: &mut Pace, begun: Instant) {
    match progress {
        Progress::Begins { seeds, threads } => {
            crate::say!(
                "{} as it is and changed, {seeds} seeds each, {threads} threads",
                subject.array.title
            );
        }
        Progress::Step { side, seed, tiles, verdict, far } => {
            let left = pace.time_left(far, begun.elapsed().into());
            crate::say!(
                "{:>3} of {} done, about {} left  {side}, seed {seed}, {}: {}",
                far.jobs_done,
                far.jobs,
                about(left),
                units::print::count(u64::from(*tiles), "tile"),
                verdict.name()
            );
        }
    }
}
