//! `record`: captures the I/O of disks into a trace.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use capture::{Capture, CaptureError, Options, Progress, Report, Wanted, disks_of};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use trace::store::{self, Writer, Written};
use trace::{IoRecord, TraceError, TraceInfo};
use units::Nanos;
use view::TraceFacts;

use crate::args::{By, Format, Live, RecordArgs};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::page::Page;
use crate::recording::{NotRecorded, Recorded, Tally};
use crate::{output, text};

/// Between two looks at the kernel's buffers: short beside the time in which one fills (8 MiB
/// take about half a second of 200,000 I/Os each second).
const TURN: Duration = Duration::from_millis(25);
const SECOND: Nanos = Nanos::SECOND;
/// Batches between reading and writing at most; when the trace's disk is slower than that, the
/// kernel's buffers fill and what is lost is counted.
const BATCHES_MAX: usize = 64;
/// Nice value while recording: before ordinary programs, behind real-time ones.
const PRIORITY: i32 = -15;
/// What a killed recording loses at most.
const PART_SPAN: Nanos = Nanos::from_secs(60);

/// Records until it is told to stop.
pub fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let stop = stop_flag()?;
    let target = args.out.clone().unwrap_or_else(default_name);
    let options = options(args)?;
    let page = page(args.live);
    let capture = Capture::start(options).map_err(|error| failure(&error))?;
    let writer = Writer::create(&target, &capture.info(), store_options())
        .map_err(|error| Failure::from_error(Exit::Refused, &error))?;
    let child = match start(&args.command) {
        Ok(child) => child,
        Err(failure) => {
            // Nothing is in it; why there is no command matters more than what is left.
            let _ = writer.abandon();
            return Err(failure);
        }
    };
    // After the command, which would inherit it: on a busy machine the buffers are to be read in
    // time. It is not allowed to everybody, and not needed.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    let mut recording = Recording::new(args, Writing::start(writer)?, page);
    recording.begin(&target, &capture);
    let (ended, page) = recording.run(capture, child, &stop)?;
    match args.format {
        Format::Text => output::print(&text::recorded(&ended))?,
        Format::Json => output::print_json(&ended)?,
    }
    if let Some(page) = page {
        page.leave();
    }
    Ok(Exit::Success)
}

/// The page, where one is wanted, beside the stored runs.
fn page(live: Live) -> Option<Page> {
    let named = std::env::var_os("TILEMARK_RUNS").map(PathBuf::from);
    crate::live::page(live, &runs::base(named.as_deref()).ok()?)
}

fn options(args: &RecordArgs) -> Result<Options, Failure> {
    Ok(Options {
        disks: disks_of(&args.targets).map_err(|error| failure(&error))?,
        buffer: args.buffer,
        by: match args.by {
            By::Name => capture::By::Name,
            By::Process => capture::By::Process,
            By::Cgroup => capture::By::Cgroup,
        },
        wanted: Wanted { vm: args.vm.clone(), process: args.pid, cgroup: args.cgroup.clone() },
    })
}

fn store_options() -> store::Options {
    let (part_span_max, host) = (Some(PART_SPAN), Some(host()));
    store::Options { part_span_max, host, ..store::Options::default() }
}

/// This machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn failure(error: &CaptureError) -> Failure {
    let exit = match error {
        CaptureError::Target { .. } => Exit::Usage,
        CaptureError::Io { .. } => Exit::Failure,
        _ => Exit::Refused,
    };
    Failure::from_error(exit, error).hint(error.hint())
}

/// Set by Ctrl-C and its like, which are how a recording ends; a second one ends the program.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| {
                Failure::new(Exit::Failure, format!("watching for Ctrl-C: {error}"))
            })?;
    }
    Ok(stop)
}

fn default_name() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S");
    PathBuf::from(format!("record-{now}.tmt"))
}

/// Starts the command; stdout is ours alone.
fn start(command: &[std::ffi::OsString]) -> Result<Option<Child>, Failure> {
    let Some((program, arguments)) = command.split_first() else { return Ok(None) };
    let child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::from(std::io::stderr()))
        .spawn()
        .map_err(|error| {
            let program = Path::new(program).display();
            Failure::new(Exit::Usage, format!("starting {program}: {error}"))
        })?;
    Ok(Some(child))
}

/// New names of senders, and records, which the page is shown as well.
type Batch = (Option<TraceInfo>, Arc<Vec<IoRecord>>);

/// Records on their way to the trace, written by a thread of its own.
struct Writing {
    batches: SyncSender<Batch>,
    thread: JoinHandle<Result<Writer, TraceError>>,
}

impl Writing {
    fn start(mut writer: Writer) -> Result<Self, Failure> {
        let (batches, received): (_, Receiver<Batch>) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("trace".to_owned()).spawn(move || {
            for (info, records) in received {
                if let Some(info) = info {
                    writer.update(&info);
                }
                writer.write(&records)?;
            }
            Ok(writer)
        });
        let thread = thread.map_err(|error| {
            Failure::new(Exit::Failure, format!("starting the thread that writes: {error}"))
        })?;
        Ok(Self { batches, thread })
    }

    /// Whether it is still taken.
    fn send(&self, info: Option<TraceInfo>, records: Arc<Vec<IoRecord>>) -> bool {
        self.batches.send((info, records)).is_ok()
    }

    fn finish(self) -> Result<Written, Failure> {
        drop(self.batches);
        let failed = |error: TraceError| Failure::from_error(Exit::Failure, &error);
        match self.thread.join() {
            Ok(writer) => writer.and_then(Writer::finish).map_err(failed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A recording while it goes on.
struct Recording {
    writing: Writing,
    tally: Tally,
    duration: Option<Nanos>,
    live: Live,
    page: Option<Page>,
    /// What was told last: when, I/Os and bytes.
    told: (Nanos, u64, u64),
    names_sent: usize,
}

impl Recording {
    fn new(args: &RecordArgs, writing: Writing, page: Option<Page>) -> Self {
        let (tally, told) = (Tally::new(), (Nanos::ZERO, 0, 0));
        let live = live(args.live);
        Self { writing, tally, duration: args.duration, live, page, told, names_sent: 0 }
    }

    fn begin(&mut self, target: &Path, capture: &Capture) {
        let info = capture.info();
        if let Some(page) = &mut self.page {
            let (facts, duration) = (TraceFacts::new(target, &info, Some(&host())), self.duration);
            page.record(server::Recording { facts, info: info.clone(), duration });
            crate::say!("page       {}", page.url());
        }
        if self.live != Live::Off {
            let names: Vec<&str> = info.devices.iter().map(|have| have.name.as_str()).collect();
            crate::say!("recording {}; Ctrl-C ends it", names.join(", "));
        }
    }

    fn run(
        mut self,
        mut capture: Capture,
        mut child: Option<Child>,
        stop: &AtomicBool,
    ) -> Result<(Recorded, Option<Page>), Failure> {
        loop {
            std::thread::sleep(TURN);
            let mut records = Vec::new();
            let progress = capture.step(&mut records).map_err(|error| failure(&error))?;
            let names = capture.info_if_more_than(self.names_sent);
            if !self.take(names, records, progress.elapsed) {
                break;
            }
            self.tell(&progress);
            let is_over = self.duration.is_some_and(|duration| progress.elapsed >= duration);
            if is_over || stop.load(Ordering::Relaxed) || has_ended(&mut child) {
                break;
            }
        }
        let mut records = Vec::new();
        let report = capture.finish(&mut records).map_err(|error| failure(&error))?;
        self.take(Some(report.info.clone()), records, report.progress.elapsed);
        self.end_line();
        let written = self.writing.finish()?;
        let command = match child {
            Some(mut child) => child.wait().ok().map(|status| status.to_string()),
            None => None,
        };
        if let Some(page) = &mut self.page {
            page.recorded(&written.directory);
        }
        Ok((recorded(&report, &written, &self.tally, command), self.page))
    }

    /// Hands records on; whether they are still taken.
    fn take(&mut self, info: Option<TraceInfo>, records: Vec<IoRecord>, elapsed: Nanos) -> bool {
        self.tally.add(&records);
        let records = Arc::new(records);
        if let Some(page) = &mut self.page {
            page.seen(info.as_ref(), &records, elapsed);
        }
        self.names_sent = info.as_ref().map_or(self.names_sent, |info| info.vms.len());
        (records.is_empty() && info.is_none()) || self.writing.send(info, records)
    }

    /// One line each second.
    fn tell(&mut self, progress: &Progress) {
        let (since, count, bytes) = self.told;
        if self.live == Live::Off || progress.elapsed.saturating_sub(since) < SECOND {
            return;
        }
        let (now, now_bytes, longest) = self.tally.totals();
        // By the time in which they were issued, not by that in which they became known.
        let rate = self.tally.window().map(|issued| {
            let span = issued.max(SECOND);
            format!(
                "{} I/Os/s  {}",
                text::number(per_second(now - count, span)),
                units::decimal_and_binary(per_second(now_bytes - bytes, span))
            )
        });
        let rate = rate.unwrap_or_else(|| "no I/O became known".to_owned());
        let line = format!(
            "{:>5.0} s  {rate}  longest so far {longest}  lost events {}",
            progress.elapsed.as_secs_f64(),
            progress.lost,
        );
        self.told = (progress.elapsed, now, now_bytes);
        if self.live == Live::Full {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\u{1b}[K{line}").and_then(|()| stderr.flush());
        } else {
            crate::say!("{line}");
        }
    }

    fn end_line(&self) {
        if self.live == Live::Full && self.told.0 > Nanos::ZERO {
            crate::say!("");
        }
    }
}

/// Full only where a line can change in place.
fn live(asked: Live) -> Live {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_terminal = std::io::stderr().is_terminal();
    match asked {
        Live::Auto if is_set("CI") || std::env::var("TERM").is_ok_and(|term| term == "dumb") => {
            Live::Line
        }
        Live::Auto | Live::Full if is_terminal => Live::Full,
        Live::Auto | Live::Full => Live::Line,
        Live::Web if is_terminal => Live::Full,
        Live::Web => Live::Line,
        other => other,
    }
}

fn has_ended(child: &mut Option<Child>) -> bool {
    child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
}

#[expect(clippy::cast_precision_loss, reason = "printed with three digits")]
fn per_second(count: u64, span: Nanos) -> f64 {
    count as f64 / span.as_secs_f64()
}

fn recorded(
    report: &Report,
    written: &Written,
    tally: &Tally,
    command: Option<String>,
) -> Recorded {
    let (progress, counts) = (report.progress, report.progress.counts);
    Recorded {
        schema: "tilemark.record/1.0",
        trace: written.directory.clone(),
        trace_bytes: written.bytes,
        elapsed_ns: progress.elapsed.0,
        records: written.records,
        events: progress.events,
        lost_events: progress.lost,
        not_recorded: NotRecorded {
            unwanted: counts.unwanted,
            unmatched: counts.unmatched,
            unfinished: counts.unfinished,
            abandoned: counts.abandoned,
        },
        cpu_ns: report.cpu.0,
        core_percent: per_second(report.cpu.0, progress.elapsed) / 1e7,
        operations: tally.operations(),
        devices: tally.devices(&report.info.devices),
        senders: tally.senders(&report.info.vms),
        command,
    }
}
