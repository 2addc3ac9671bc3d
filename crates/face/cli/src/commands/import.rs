//! `import`: converts a trace to Tilemark's format.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench::progress::{Control, Request};
use serde::Serialize;
use trace::derive::Derived;
use trace::store::{self, Options, Written};
use trace::{Losses, OpenOptions, Source, TraceError};
use units::Bytes;
use units::print::count;

use crate::args::{Format, ImportArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, signals};

/// Interval of progress lines.
const SAY_EVERY: Duration = Duration::from_secs(2);

/// Finished import. This is the document of `--format json`.
#[derive(Debug, Serialize)]
struct Imported {
    /// Name and version of this document.
    schema: &'static str,
    trace: PathBuf,
    /// Format of the source trace.
    from: &'static str,
    out: PathBuf,
    records: u64,
    /// Size of the Parquet files.
    bytes: u64,
    parts: usize,
    first_issue_ns: Option<u64>,
    last_issue_ns: Option<u64>,
    /// True if the source has times; otherwise only the order of I/Os is known.
    has_times: bool,
    vms: usize,
    devices: usize,
    has_latency: bool,
    /// Bad lines that were left out.
    bad: u64,
    /// Events that the source itself reports as lost.
    dropped: u64,
    /// Records that were too far out of order. Each got the time of the record before it.
    disordered: u64,
    /// Rows that are not separate I/Os.
    skipped: u64,
}

/// Reads the trace, derives columns and stores the result.
pub fn run(args: &ImportArgs) -> Result<Exit, Failure> {
    let options = OpenOptions { format: args.from, max_bad: args.max_bad };
    let source = trace::open(&args.trace, &options).map_err(|error| unreadable(&error))?;
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    signals.hush();
    crate::say!("reading {} as {}", args.trace.display(), source.info().format);
    let mut source = Derived::new(source);
    let mut said = Instant::now();
    let written = store::save_while(&mut source, &args.out, Options::default(), |records| {
        if said.elapsed() >= SAY_EVERY {
            said = Instant::now();
            crate::say!("{records} I/Os so far");
        }
        control.request() == Request::GoOn
    });
    let Some(written) = written.map_err(|error| failed(&error))? else {
        crate::say!("interrupted; the output is removed");
        return Ok(signals.exit());
    };
    let info = source.info();
    tell(&info.losses);
    let imported = imported(args, info, written);
    match args.format {
        Format::Text => output::show(&text(&imported))?,
        Format::Json => output::print_json(&imported)?,
    }
    Ok(Exit::Success)
}

fn imported(args: &ImportArgs, info: &trace::TraceInfo, written: Written) -> Imported {
    let losses = &info.losses;
    Imported {
        schema: "tilemark.import/1.0",
        trace: args.trace.clone(),
        from: info.format,
        out: written.directory,
        records: written.records,
        bytes: written.bytes,
        parts: written.parts,
        first_issue_ns: written.issued.map(|issued| issued.0.0),
        last_issue_ns: written.issued.map(|issued| issued.1.0),
        has_times: matches!(info.clock, trace::Clock::Real { .. }),
        vms: info.vms.len(),
        devices: info.devices.len(),
        has_latency: info.has_latency,
        bad: losses.bad,
        dropped: losses.dropped,
        disordered: losses.disordered,
        skipped: losses.skipped,
    }
}

/// Prints losses on stderr, so that they are seen even if stdout goes to a file.
fn tell(losses: &Losses) {
    for example in &losses.examples {
        crate::say!("left out: {example}");
    }
    if losses.dropped > 0 {
        crate::say!("{} events were lost before the trace was written", losses.dropped);
    }
}

fn text(imported: &Imported) -> String {
    let span = match (imported.first_issue_ns, imported.last_issue_ns) {
        // Without times, the time columns hold sequence numbers.
        _ if !imported.has_times => "in their original order, without times".to_owned(),
        (Some(first), Some(last)) => format!("over {}", units::Nanos(last - first)),
        _ => "over no time".to_owned(),
    };
    let latency = if imported.has_latency { "with latencies" } else { "without latencies" };
    format!(
        "{} of {} ({latency}) {span}, {}, {}\nleft out: {} bad, {} that are not separate I/Os; out \
         of order: {}\nwritten: {} ({} in {})\n",
        count(imported.records, "I/O"),
        imported.from,
        count(imported.vms as u64, "VM"),
        count(imported.devices as u64, "device"),
        imported.bad,
        imported.skipped,
        imported.disordered,
        imported.out.display(),
        Bytes::new(imported.bytes),
        count(imported.parts as u64, "file"),
    )
}

/// Makes the failure for a trace that cannot be read.
fn unreadable(error: &TraceError) -> Failure {
    let exit = match error {
        TraceError::Io { source, .. } if source.kind() != ErrorKind::NotFound => Exit::Failure,
        _ => Exit::Usage,
    };
    Failure::from_error(exit, error).hint(error.hint())
}

fn failed(error: &TraceError) -> Failure {
    let exit = match error {
        TraceError::Exists { .. } => Exit::Refused,
        _ => Exit::Failure,
    };
    Failure::from_error(exit, error).hint(error.hint())
}
