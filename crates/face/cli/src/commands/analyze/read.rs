//! Reads and sums a trace: the parts of a store on several threads, other sources on one thread.

use std::num::NonZeroUsize;

use ::analyze::{Filter, Fold, Remark, Subject};
use trace::store::{self, Store};
use trace::{BATCH, OpenOptions, Source, TraceError, TraceInfo};

use super::run_directory;
use super::wanted::{check_names, filter, settings};
use crate::args::AnalyzeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Reads the trace at the path, whatever its kind.
pub fn read(args: &AnalyzeArgs) -> Result<(Fold, Subject, Filter), Failure> {
    if let Some(run) = run_directory::open(&args.trace) {
        return run_directory::read(args, &run);
    }
    if args.trace_format.is_none() && store::is_store(&args.trace) {
        let store = store::open(&args.trace).map_err(|error| failed(&error))?;
        return of_store(args, &store);
    }
    let options = OpenOptions { format: args.trace_format, max_bad: args.max_bad };
    let source = trace::open(&args.trace, &options).map_err(|error| failed(&error))?;
    of_source(args, source)
}

/// Makes the failure for a trace that cannot be read. Bad content is a definition error; an I/O
/// error is a run-time failure.
pub(super) fn failed(error: &TraceError) -> Failure {
    let exit = match error {
        TraceError::Io { .. } => Exit::Failure,
        _ => Exit::Usage,
    };
    let hint = match error {
        // The hint of `trace` names --from, which is a time in this command.
        TraceError::Unrecognised { .. } => {
            Some("if the file has one of these formats, name the format with --trace-format NAME")
        }
        error => error.hint(),
    };
    Failure::from_error(exit, error).hint(hint)
}

fn subject(args: &AnalyzeArgs, info: &TraceInfo) -> Subject {
    let name = args.trace.display().to_string();
    Subject { name, info: info.clone(), remarks: Vec::new() }
}

fn of_source(
    args: &AnalyzeArgs,
    mut source: Box<dyn Source>,
) -> Result<(Fold, Subject, Filter), Failure> {
    let mut filter = filter(args, source.info());
    let mut fold = Fold::new(&settings(args, &filter));
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        source.read(&mut batch).map_err(|error| failed(&error))?;
        if !args.vm.is_empty() || !args.device.is_empty() {
            filter = super::wanted::filter(args, source.info());
            fold.set_filter(&filter);
        }
        if batch.is_empty() {
            break;
        }
        fold.push(&batch);
    }
    check_names(args, source.info())?;
    Ok((fold, subject(args, source.info()), filter))
}

fn of_store(args: &AnalyzeArgs, store: &Store) -> Result<(Fold, Subject, Filter), Failure> {
    check_names(args, store.info())?;
    let filter = filter(args, store.info());
    let settings = settings(args, &filter);
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = args.threads.map_or_else(cores, NonZeroUsize::get);
    let whole = Fold::of_store(store, &settings, threads).map_err(|error| failed(&error))?;
    let mut subject = subject(args, store.info());
    subject.info.format = "store";
    subject.remarks.extend(store.is_unfinished().then(Remark::unfinished));
    Ok((whole, subject, filter))
}
