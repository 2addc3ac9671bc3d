//! Fits a workload to the I/O of one VM.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ::fit::{FitError, IoSelection};
use trace::{CountedOnce, OpenOptions, TraceError};

use super::run_directory;
use crate::args::{AnalyzeArgs, AnalyzeFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Fits the workload, writes the file and prints its distances from the trace.
pub fn run(args: &AnalyzeArgs, file: &Path) -> Result<Exit, Failure> {
    check(args, file)?;
    let wanted = IoSelection {
        trace: args.trace.display().to_string(),
        vm: args.vm.first().cloned(),
        from: args.from,
        to: args.to,
    };
    let options = OpenOptions { format: args.trace_format, max_bad: args.max_bad };
    let source = trace::open(&args.trace, &options).map_err(|error| failed(&error.into()))?;
    let observed =
        ::fit::gather(&mut CountedOnce(source), &wanted).map_err(|error| failed(&error))?;
    let tool = format!("tilemark {}", env!("CARGO_PKG_VERSION"));
    let fitted = ::fit::fit(&observed, &tool, args.seed).map_err(|error| failed(&error))?;
    // A workload that does not load is a bug of this program. No existing file is overwritten for
    // it.
    let name = file.display().to_string();
    spec::load_workload(&name, &fitted.toml).map_err(|error| Failure::from_definition(&error))?;
    fs::write(file, &fitted.toml).map_err(|error| cannot_write(file, &error))?;
    crate::say!("{}", file.display());
    match args.format {
        AnalyzeFormat::Json => output::print_json(&fitted.report)?,
        _ => output::show(&::fit::fit_text(&fitted.report))?,
    }
    Ok(Exit::Success)
}

fn check(args: &AnalyzeArgs, file: &Path) -> Result<(), Failure> {
    let wrong = |message: String| Err(Failure::new(Exit::Usage, message));
    if run_directory::open(&args.trace).is_some() {
        return wrong(format!(
            "{} is a run; it holds histograms, but fitting a workload needs single I/Os",
            args.trace.display()
        ));
    }
    if args.vm.len() > 1 {
        return wrong(format!("--to-workload fits one VM, but --vm names {}", args.vm.len()));
    }
    let is_other = !matches!(args.format, AnalyzeFormat::Text | AnalyzeFormat::Json);
    let others = [
        (!args.view.is_empty(), "--view"),
        (!args.device.is_empty(), "--device"),
        (args.direction.is_some(), "--direction"),
        (args.limit.is_some(), "--limit"),
        (args.out.is_some(), "--out"),
        (is_other, "--format csv, parquet or vscsistats"),
    ];
    if let Some((_, option)) = others.iter().find(|(is_given, _)| *is_given) {
        return wrong(format!("{option} cannot be used with --to-workload"));
    }
    if file.extension().is_none_or(|end| end != "toml") {
        return wrong(format!(
            "{} does not end in .toml, which a tile requires of workload files",
            file.display()
        ));
    }
    if !args.force && file.symlink_metadata().is_ok() {
        return wrong(format!("{} exists already and is not overwritten", file.display()))
            .map_err(|failure| failure.hint(Some("choose another name, or add --force")));
    }
    Ok(())
}

/// Returns the failure for a fit. A trace that cannot be fitted is a definition error; other errors
/// are run-time failures.
fn failed(error: &FitError) -> Failure {
    let exit = match error {
        FitError::Trace(TraceError::Io { .. }) | FitError::Build(_) | FitError::Run(_) => {
            Exit::Failure
        }
        _ => Exit::Usage,
    };
    if let FitError::Trace(error) = error {
        return super::read::failed(error);
    }
    Failure::from_error(exit, error).hint(error.hint())
}

fn cannot_write(file: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Exit::Failure, format!("{}: {error}", file.display()));
    let hint = (error.kind() == ErrorKind::NotFound).then_some("its directory does not exist");
    failure.hint(hint)
}
