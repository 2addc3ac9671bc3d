//! `lab`: mounts a modelled array as a file system, in real time.

use std::path::Path;
use std::time::Duration;

use lab::{Backing, LabError, Mounted, Options, Report, Schedule};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use units::Nanos;

use crate::args::{Format, LabAction, LabArgs, LabMountArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{open_files, output, plan_source};

/// Interval of the checks that the file system is still mounted; another program may unmount it.
const LOOK: Duration = Duration::from_millis(200);
/// Lateness above which a warning is printed, because it is no longer small beside an array's
/// response time. Our choice.
const LATE: Nanos = Nanos::from_millis(1);

/// Runs the subcommand.
pub fn run(args: &LabArgs) -> Result<Exit, Failure> {
    match &args.action {
        LabAction::Mount(args) => mount(args),
    }
}

fn mount(args: &LabMountArgs) -> Result<Exit, Failure> {
    let array = plan_source::modelled(&args.array, &args.with)?;
    let schedule = args.faults.as_deref().map(Schedule::read).transpose().map_err(failure)?;
    let title = format!("{}: {}", array.name, array.title);
    let options = Options {
        schedule: schedule.unwrap_or_default(),
        seed: args.seed.unwrap_or_else(|| plan_source::entropy() >> 1),
        size: args.size,
        backing: backing(&args.backing),
        truth: args.truth.clone(),
        ..Options::new(array)
    };
    open_files::raise();
    // Watches signals before the mount, so that no signal leaves the mount behind.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let mounted = Mounted::new(&args.point, &options).map_err(failure)?;
    let point = args.point.display();
    crate::say!(
        "simulated slow array: {} mounted on {point}, seed {}",
        mounted.size(),
        options.seed
    );
    crate::say!("playing {title}");
    match options.schedule.rules.len() {
        0 => {}
        rules => crate::say!(
            "it returns wrong data on purpose, by {}",
            crate::text::count(rules as u64, "rule")
        ),
    }
    crate::say!("data written there is lost at the end; Ctrl-C unmounts");
    while mounted.is_mounted() && signals.pending().next().is_none() {
        std::thread::sleep(LOOK);
    }
    let (report, was_busy) = mounted.unmount().map_err(failure)?;
    if was_busy {
        crate::say!(
            "warning: {point} was in use; programs with open files there get errors from now on"
        );
    }
    match args.format {
        Format::Text => output::show(&text(&report))?,
        Format::Json => output::print_json(&as_json(&report))?,
    }
    Ok(Exit::Success)
}

fn backing(path: &Path) -> Backing {
    if path == Path::new("memory") { Backing::Memory } else { Backing::Directory(path.to_owned()) }
}

fn failure(error: LabError) -> Failure {
    let exit = match &error {
        LabError::Schedule { .. } | LabError::Plant { .. } => Exit::Usage,
        LabError::Mount { .. } | LabError::Unmount { .. } | LabError::Thread(_) => Exit::Failure,
        _ => Exit::Refused,
    };
    Failure::from_error(exit, &error).hint(error.hint())
}

fn text(report: &Report) -> String {
    let Report { elapsed, lateness, model, faults, wrong_reads } = report;
    let mut text = format!(
        "unmounted after {elapsed}: {} requests completed, late by {} at p50, {} at p99, {} \
        maximum\n",
        lateness.answers, lateness.p50, lateness.p99, lateness.max
    );
    if lateness.p99 > LATE {
        text += "warning: this host was too busy to complete requests on time: latencies measured \
            here are longer than the array's\n";
    }
    text += &format!("{faults} faults injected, {wrong_reads} reads returned wrong data\n");
    for part in &model.parts {
        text += &format!(
            "{:<28} {:>4.0} % busy, {:.0} I/Os per second\n",
            part.name,
            part.utilisation * 100.0,
            part.iops
        );
    }
    text
}

fn as_json(report: &Report) -> serde_json::Value {
    let Report { elapsed, lateness, model, faults, wrong_reads } = report;
    json!({
        "elapsed_ns": elapsed.0,
        "answers": lateness.answers,
        "late_ns_p50": lateness.p50.0,
        "late_ns_p99": lateness.p99.0,
        "late_ns_max": lateness.max.0,
        "faults": faults,
        "wrong_reads": wrong_reads,
        "model": model,
    })
}
