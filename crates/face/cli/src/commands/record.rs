//! `record`: captures the I/O of disks into a trace.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capture::{
    Capture, CaptureError, Options, Progress, RecordError, Recorded, Recorder, SenderFilter, Turn,
    disks_of, find_running_vm,
};
use run_store::gauge::{Gauge, ScopeKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use trace::store::{self, Writer};
use units::Nanos;
use view::TraceFacts;
use watch::Slice;
use watcher::Probes;

use crate::args::{By, Format, Live, RecordArgs};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::page::Page;
use crate::{output, text};

const SECOND: Nanos = Nanos::SECOND;

/// Records until the duration is over, the command has ended or a signal comes.
pub fn run(args: &RecordArgs) -> Result<Exit, Failure> {
    let stop = stop_flag()?;
    let target = args.out.clone().unwrap_or_else(default_name);
    // The command may start the VM, so the VM need not run yet.
    if let (Some(vm), true) = (&args.vm, args.command.is_empty()) {
        find_running_vm(vm).map_err(|error| failure(&error))?;
    }
    let options = options(args)?;
    let page = page(args.live);
    let capture = Capture::start(options).map_err(|error| failure(&error))?;
    let writer = Writer::create(&target, &capture.info(), store_options())
        .map_err(|error| Failure::from_error(Exit::Refused, &error))?;
    let child = match start(&args.command) {
        Ok(child) => child,
        Err(failure) => {
            // The trace is empty. The reason why the command did not start matters more than an
            // error of the removal.
            let _ = writer.abandon();
            return Err(failure);
        }
    };
    // Started after the command, which would otherwise inherit the recorder's priority.
    let recorder = Recorder::start(capture, writer).map_err(|error| failed(&error))?;
    let mut recording = Recording::new(args, recorder, page);
    recording.begin(&target);
    let (ended, page) = recording.run(child, &stop)?;
    match args.format {
        Format::Text => output::show(&text::recorded(&ended))?,
        Format::Json => output::print_json(&ended)?,
    }
    if let Some(page) = page {
        page.leave();
    }
    Ok(Exit::Success)
}

/// Opens the page of the recording, beside the stored runs, if a page is wanted.
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
        wanted: SenderFilter {
            vm: args.vm.clone(),
            process: args.pid,
            cgroup: args.cgroup.clone(),
        },
        order: capture::Order::Issue,
    })
}

fn store_options() -> store::Options {
    store::Options { host: Some(host()), ..Recorder::store_options() }
}

/// Returns the name of this host.
pub(super) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

pub(super) fn failure(error: &CaptureError) -> Failure {
    let exit = match error {
        CaptureError::Target { .. } | CaptureError::NoVm { .. } => Exit::Usage,
        CaptureError::Io { .. } => Exit::Failure,
        _ => Exit::Refused,
    };
    Failure::from_error(exit, error).hint(error.hint())
}

fn failed(error: &RecordError) -> Failure {
    match error {
        RecordError::Capture(error) => failure(error),
        other => Failure::from_error(Exit::Failure, other),
    }
}

/// Returns a flag that Ctrl-C, SIGTERM or SIGHUP sets, which ends the recording. A second signal
/// ends the program.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, Exit::Interrupted as i32, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| {
                Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
            })?;
    }
    Ok(stop)
}

fn default_name() -> PathBuf {
    PathBuf::from(format!("{}.tmt", stamp()))
}

/// Returns the default name of a recording.
pub(super) fn stamp() -> String {
    format!("record-{}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"))
}

/// Starts the command and redirects its stdout, because stdout carries only the result.
pub(super) fn start(command: &[std::ffi::OsString]) -> Result<Option<Child>, Failure> {
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

/// Recording in progress.
struct Recording {
    recorder: Recorder,
    duration: Option<Nanos>,
    live: Live,
    page: Option<Page>,
    /// Time, I/Os and bytes at the last printed line.
    told: (Nanos, u64, u64),
    /// Samplers of the VMs' CPU use. `read` is the time of the last sample.
    probes: Probes,
    read: Nanos,
}

impl Recording {
    fn new(args: &RecordArgs, recorder: Recorder, page: Option<Page>) -> Self {
        let told = (Nanos::ZERO, 0, 0);
        let mut probes = Probes::default();
        probes.sample(&[], &mut Slice::default());
        let (live, read) = (live(args.live), Nanos::ZERO);
        Self { recorder, duration: args.duration, live, page, told, probes, read }
    }

    fn begin(&mut self, target: &Path) {
        let info = self.recorder.info();
        if let Some(page) = &mut self.page {
            let (facts, duration) = (TraceFacts::new(target, &info, Some(&host())), self.duration);
            page.record(page_server::Recording { facts, info: info.clone(), duration });
            crate::say!("page       {}", page.url());
        }
        if self.live != Live::Off {
            let names: Vec<&str> = info.devices.iter().map(|have| have.name.as_str()).collect();
            crate::say!("recording {}; Ctrl-C ends it", names.join(", "));
        }
    }

    fn run(
        mut self,
        mut child: Option<Child>,
        stop: &AtomicBool,
    ) -> Result<(Recorded, Option<Page>), Failure> {
        loop {
            let turn = self.recorder.turn().map_err(|error| failed(&error))?;
            self.read_processors(turn.progress.elapsed);
            show(&mut self.page, &turn);
            if !turn.is_taken {
                break;
            }
            self.tell(&turn.progress);
            let is_over = self.duration.is_some_and(|duration| turn.progress.elapsed >= duration);
            if is_over || stop.load(Ordering::Relaxed) || has_ended(&mut child) {
                break;
            }
        }
        self.end_line();
        let page = &mut self.page;
        let ended = self.recorder.finish(|turn| show(page, turn));
        let mut ended = ended.map_err(|error| failed(&error))?;
        ended.command = child.and_then(|mut child| child.wait().ok()).map(|end| end.to_string());
        if let Some(page) = &mut self.page {
            page.recorded(&ended.trace);
        }
        Ok((ended, self.page))
    }

    /// Samples once a second the CPU time that the VMs use and wait for.
    fn read_processors(&mut self, elapsed: Nanos) {
        let width = elapsed.saturating_sub(self.read);
        if width < SECOND {
            return;
        }
        let (start, mut slice) = (self.read, Slice::default());
        self.read = elapsed;
        self.probes.sample(&[], &mut slice);
        let of_vms = slice.gauges.iter().filter(|((name, _), _)| name.scope() == ScopeKind::Vm);
        for ((name, scope), folded) in of_vms {
            self.recorder.gauges().add(start, name.name(), scope, folded.value);
            if let Some(page) = &mut self.page {
                let (name, value, scope) = (*name, folded.value, scope.to_string());
                page.gauges([(start, width, Gauge { name, scope, value })]);
            }
        }
    }

    /// Prints one line each second.
    fn tell(&mut self, progress: &Progress) {
        let (since, count, bytes) = self.told;
        if self.live == Live::Off || progress.elapsed.saturating_sub(since) < SECOND {
            return;
        }
        let tally = self.recorder.tally();
        let (now, now_bytes, longest) = tally.totals();
        // The rate is over the time in which the I/Os were issued, not in which the kernel reported
        // them.
        let rate = tally.window().map(|issued| {
            let span = issued.max(SECOND);
            format!(
                "{} I/Os/s  {}",
                text::number(per_second(now - count, span)),
                units::decimal_and_binary(per_second(now_bytes - bytes, span))
            )
        });
        let rate = rate.unwrap_or_else(|| "no I/O recorded yet".to_owned());
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

/// Returns the form of the live lines: full only where a line can change in place.
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

fn show(page: &mut Option<Page>, turn: &Turn) {
    if let Some(page) = page {
        page.seen(turn.info.as_ref(), &turn.records, turn.progress.elapsed);
    }
}

pub(super) fn has_ended(child: &mut Option<Child>) -> bool {
    child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
}

#[expect(clippy::cast_precision_loss, reason = "printed with three digits")]
fn per_second(count: u64, span: Nanos) -> f64 {
    count as f64 / span.as_secs_f64()
}
