//! `analyze`: explains a trace.

mod fit;
mod histograms;
mod hosts;
mod read;
mod run_directory;
mod wanted;
mod write;

use ::analyze::{Limit, Options, View};
use run_store::slice::Direction;
use units::Nanos;

use crate::args::{AnalyzeArgs, AnalyzeFormat, DirectionName, ViewName};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Shortest time slice.
const SLICE_MIN: Nanos = Nanos::from_millis(1);

/// Views shown by default.
const USUAL: [View; 5] = [View::Findings, View::Overview, View::Sizes, View::Latency, View::Time];

/// Reads a trace, analyzes it and prints the answer.
pub fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    if args.seen.hosts.is_empty()
        && args.trace_format.is_none()
        && trace::vscsi_stats::is_likely(&args.trace)
    {
        return histograms::run(args);
    }
    if let Some(file) = args.to_workload.as_ref().filter(|_| args.seen.hosts.is_empty()) {
        check_times(args)?;
        return fit::run(args, file);
    }
    check(args)?;
    let mut views = views(&args.view);
    if args.format == AnalyzeFormat::Vscsistats {
        views = vec![View::Histograms];
    }
    if !args.seen.hosts.is_empty() {
        return hosts::run(args, &views);
    }
    let (fold, subject, filter) = read::read(args)?;
    if fold.records() == 0 {
        crate::say!("{} has no I/O that matches the options", args.trace.display());
    }
    let options = Options {
        tool: format!("tilemark {}", env!("CARGO_PKG_VERSION")),
        views: views.clone(),
        limit: args.limit.map_or_else(Limit::usual, Limit::asked),
        filter,
    };
    let answer = ::analyze::analyse(fold, &subject, &options);
    match (args.format, &args.out) {
        (AnalyzeFormat::Text, _) => output::show(&::analyze::text(&answer, &views))?,
        (AnalyzeFormat::Json, _) => output::print_json(&answer)?,
        (AnalyzeFormat::Vscsistats, _) => output::print(&::analyze::vscsi_stats(&answer))?,
        (format, Some(out)) => write::tables(&answer, format, out)?,
        (_, None) => {}
    }
    Ok(Exit::Success)
}

fn check(args: &AnalyzeArgs) -> Result<(), Failure> {
    let wrong = |message: String| Err(Failure::new(Exit::Usage, message));
    let is_tables = matches!(args.format, AnalyzeFormat::Csv | AnalyzeFormat::Parquet);
    if is_tables && args.out.is_none() {
        return wrong("--format csv and parquet write a file for each list".to_owned())
            .map_err(|failure| failure.hint(Some("name the output directory with --out DIR")));
    }
    if !is_tables && args.out.is_some() {
        return wrong("--out is for --format csv and parquet".to_owned());
    }
    let is_other = args.view.iter().any(|view| *view != ViewName::Histograms);
    if args.format == AnalyzeFormat::Vscsistats && is_other {
        return wrong("--format vscsistats supports only --view histograms".to_owned());
    }
    if args.slice < SLICE_MIN {
        return wrong(format!("--slice {} is below the minimum of {SLICE_MIN}", args.slice));
    }
    if args.force {
        return wrong("--force is for --to-workload".to_owned());
    }
    check_times(args)
}

fn check_times(args: &AnalyzeArgs) -> Result<(), Failure> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        let message = format!("--from {from} is not before --to {to}");
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(())
}

fn views(names: &[ViewName]) -> Vec<View> {
    if names.is_empty() {
        return USUAL.to_vec();
    }
    if names.contains(&ViewName::All) {
        return View::ALL.to_vec();
    }
    names.iter().filter_map(|name| view(*name)).collect()
}

fn view(name: ViewName) -> Option<View> {
    Some(match name {
        ViewName::Overview => View::Overview,
        ViewName::Sizes => View::Sizes,
        ViewName::Latency => View::Latency,
        ViewName::Matrix => View::Matrix,
        ViewName::WorkingSet => View::WorkingSet,
        ViewName::Histograms => View::Histograms,
        ViewName::Time => View::Time,
        ViewName::Findings => View::Findings,
        ViewName::All => return None,
    })
}

fn direction(args: &AnalyzeArgs) -> Option<Direction> {
    args.direction.map(|direction| match direction {
        DirectionName::Read => Direction::Read,
        DirectionName::Write => Direction::Write,
    })
}
