use std::time::{Duration, Instant};

use bench::progress::{LimitSoFar, Observer, Overview, Progress, Tick};
use run_store::run::{Step, Verdict};
use units::{Bytes, Nanos, decimal_and_binary};

use super::FinalWarnings;
use crate::page::url_of;
use crate::text::{closest, count, number, step_line};
use crate::time_left::TimeLeft;

/// View with one plain line for each event; ticks are thinned out.
#[derive(Debug)]
pub struct Lines {
    last_prefill: Option<Instant>,
    /// Time of the last tick line, and whether its slice was measured (not warm-up).
    last_tick: Option<(Nanos, bool)>,
    /// Real time of the last line.
    last_said: Option<Instant>,
    pace: Pace,
    left: TimeLeft,
    warnings: FinalWarnings,
    /// First part of the page's address, if there is a page.
    address: Option<String>,
}

/// Speed of a simulation: virtual seconds per real second. Not printed for real storage.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_simulated: bool,
    begun: Option<Instant>,
}

impl Pace {
    /// Records whether the run is a simulation, and the start of a step.
    pub(super) fn hear(&mut self, event: &Progress<'_>) {
        match event {
            Progress::Planned(overview) => self.is_simulated = overview.is_simulated,
            Progress::StepBegins { .. } => self.begun = Some(Instant::now()),
            _ => {}
        }
    }

    /// Returns true if the run is in virtual time, not on real storage.
    pub(super) fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    /// Returns the virtual seconds of the step per real second; `None` on real storage.
    fn speed(&self, tick: &Tick) -> Option<f64> {
        let begun = self.begun.filter(|_| self.is_simulated)?;
        Some(tick.elapsed.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-3))
    }
}

/// Interval of lines about a running step.
const TICK_EVERY: Nanos = Nanos::from_secs(5);
/// Interval of lines about filling.
const PREFILL_EVERY: Duration = Duration::from_secs(2);
/// Interval of lines about a simulated step, in real time.
const SIMULATED_EVERY: Duration = Duration::from_secs(2);

impl Observer for Lines {
    fn event(&mut self, event: &Progress<'_>) {
        self.pace.hear(event);
        self.left.hear(event, Instant::now());
        match event {
            Progress::Planned(overview) => overview_lines(overview, self.address.as_deref())
                .iter()
                .for_each(|line| crate::say!("{line}")),
            Progress::Prefill { done, total, bytes_per_s } => {
                self.prefill(*done, *total, *bytes_per_s)
            }
            Progress::LargerDisks { .. } => crate::say!("{}", larger_line(event)),
            Progress::StepBegins { .. } => {
                self.last_tick = None;
                crate::say!("{}{}", begin_line(event), of_all(&self.left));
            }
            Progress::Slice { .. } => {}
            Progress::Tick(tick) => self.tick(tick),
            Progress::StepEnds(step) => {
                self.warnings.of_step().iter().for_each(|line| crate::say!("{line}"));
                crate::say!("step: {}: {}", step.verdict.name(), step.reason);
            }
            Progress::Warning(warning) => self.warnings.add(warning),
            Progress::Finished { directory } => {
                self.warnings.of_run().iter().for_each(|line| crate::say!("{line}"));
                crate::say!("run directory: {}", directory.display());
            }
        }
    }
}

impl Lines {
    /// Creates a view that prints all events. It prints only those warnings that the result does
    /// not repeat.
    pub fn new(warnings: FinalWarnings, address: Option<String>) -> Self {
        Self {
            last_prefill: None,
            last_tick: None,
            last_said: None,
            pace: Pace::default(),
            left: TimeLeft::default(),
            warnings,
            address,
        }
    }

    /// Prints the first and the last line of filling, and some between.
    fn prefill(&mut self, done: Bytes, total: Bytes, bytes_per_s: f64) {
        let is_due = self.last_prefill.is_none_or(|last| last.elapsed() >= PREFILL_EVERY);
        if is_due || done == total {
            crate::say!("{}", prefill_line(done, total, bytes_per_s));
            self.last_prefill = Some(Instant::now());
        }
        if done == total {
            self.last_prefill = None;
        }
    }

    fn tick(&mut self, tick: &Tick) {
        let is_time = |last: Nanos| match self.pace.is_simulated() {
            true => self.last_said.is_none_or(|said| said.elapsed() >= SIMULATED_EVERY),
            false => tick.elapsed.saturating_sub(last) >= TICK_EVERY,
        };
        let is_due = self
            .last_tick
            .is_none_or(|(last, was_measured)| is_time(last) || was_measured != tick.is_measured);
        if is_due {
            self.last_tick = Some((tick.elapsed, tick.is_measured));
            self.last_said = Some(Instant::now());
            let worst =
                worst(tick).map_or_else(String::new, |limit| format!("; {}", limit_line(limit)));
            let (phase, rate) = (phase_line(tick), rate_line(tick, &self.pace));
            let beside = in_the_way(tick).map_or_else(String::new, |text| format!("; {text}"));
            crate::say!("  {phase}: {rate}{worst}{beside}");
        }
    }
}

/// Formats the plan, which is printed before anything is done.
pub(super) fn overview_lines(overview: &Overview, address: Option<&str>) -> Vec<String> {
    let capacity = overview.capacity.filter(|_| !overview.is_simulated);
    let capacity = capacity.map_or_else(String::new, |bytes| format!(", at most {bytes} of files"));
    let target = if overview.is_simulated { "array    " } else { "datastore" };
    let mut lines = vec![
        format!("run        {}", overview.id),
        format!("{target}  {}  {}", overview.datastore, overview.target_summary),
        format!(
            "tile       {}: {}, {} of disks{capacity}",
            overview.tile,
            count(u64::from(overview.vms_per_tile), "VM"),
            overview.bytes_per_tile
        ),
        format!(
            "ladder     {}; room for {}; a step takes at most {}{}; seed {}",
            overview.ladder,
            count(u64::from(overview.tiles_max), "tile"),
            overview.step_at_most,
            if overview.is_simulated { " of virtual time" } else { "" },
            overview.seed
        ),
    ];
    lines.extend(address.map(|address| format!("page       {}", url_of(address, &overview.id))));
    lines
}

/// Describes the time left of the run: `; about 4 min left of the run`.
pub(super) fn of_all(left: &TimeLeft) -> String {
    left.told(Instant::now()).map_or_else(String::new, |told| format!("; {told} of the run"))
}

pub(super) fn begin_line(event: &Progress<'_>) -> String {
    let Progress::StepBegins { tiles, vms, repeat, repeats, at_most } = event else {
        return String::new();
    };
    let of = if *repeats == 1 { String::new() } else { format!(", repeat {repeat} of {repeats}") };
    let (tiles, vms) = (count(u64::from(*tiles), "tile"), count(u64::from(*vms), "VM"));
    format!("step: {tiles}, {vms}{of}, at most {at_most}")
}

/// Describes the edge so far (tiles that passed and that failed), and the disk size with which the
/// edge is confirmed.
pub(super) fn larger_line(event: &Progress<'_>) -> String {
    let Progress::LargerDisks { held, failed, before, after } = event else {
        return String::new();
    };
    let held = count(u64::from(*held), "tile");
    format!(
        "edge: with {before} of disks per tile {held} passed and {failed} failed; the edge is \
         confirmed with {after} per tile"
    )
}

pub(super) fn prefill_line(done: Bytes, total: Bytes, bytes_per_s: f64) -> String {
    let rate = if bytes_per_s > 0.0 {
        format!(" at {}", decimal_and_binary(bytes_per_s))
    } else {
        String::new()
    };
    format!("prefill: {done} of {total}{rate}")
}

/// Describes the current phase of the step.
pub(super) fn phase_line(tick: &Tick) -> String {
    let state = match (tick.is_measured, tick.is_longer) {
        (false, _) => "warming up",
        (true, false) => "measuring",
        // Otherwise the time left would seem to run backwards.
        (true, true) => "measuring for longer, because the result was undecided",
    };
    format!("{state}, {} left", tick.left)
}

/// Describes the rates and the state of the load generator.
pub(super) fn rate_line(tick: &Tick, pace: &Pace) -> String {
    let maker = match pace.speed(tick) {
        Some(speed) => {
            format!("at {} of virtual time, {} x real time", tick.elapsed, number(speed))
        }
        None => format!("busiest worker {:.0} % CPU", tick.worker_cpu * 100.0),
    };
    let p99 = tick.service_p99.map_or_else(|| "-".to_owned(), |time| time.to_string());
    let calls = tick.calls_per_s.map(|calls| format!("{} calls/s", number(calls)));
    match (tick.operations_per_s > 0.0, calls) {
        (false, None) => format!("no I/O, {maker}"),
        (false, Some(calls)) => format!("{calls}, p99 {p99}, {maker}"),
        (true, calls) => format!(
            "{} IOPS ({:.0} % reads), {}, p99 {p99}, {}{maker}",
            number(tick.operations_per_s),
            tick.read_share * 100.0,
            decimal_and_binary(tick.bytes_per_s),
            calls.map_or_else(String::new, |calls| calls + ", "),
        ),
    }
}

/// Returns the limit of which the largest share is used.
pub(super) fn worst(tick: &Tick) -> Option<&LimitSoFar> {
    tick.limits
        .iter()
        .filter(|limit| limit.measured.is_some())
        .max_by(|a, b| a.share().total_cmp(&b.share()))
}

/// Returns the first disturbance of the step so far.
pub(super) fn in_the_way(tick: &Tick) -> Option<String> {
    tick.disturbances.first().map(|own| format!("disturbed by: {own}"))
}

pub(super) fn limit_line(limit: &LimitSoFar) -> String {
    let measured =
        limit.measured.map_or_else(|| "no sample yet".to_owned(), |time| time.to_string());
    format!("{} {measured} of {} ({:.0} %)", limit.name, limit.limit, limit.share() * 100.0)
}

/// Returns the lines of a judged step: the verdict, and if it is undecided the reason below.
pub(super) fn judged(step: &Step) -> Vec<String> {
    let mut lines = vec![judged_line(step)];
    if matches!(step.verdict, Verdict::Inconclusive | Verdict::Interrupted) {
        lines.push(format!("             because {}", step.reason));
    }
    lines
}

fn judged_line(step: &Step) -> String {
    let cells = step_line(step);
    let (tiles, vms) = (u64::from(step.tiles), u64::from(step.vms));
    let limit = closest(step).map_or_else(String::new, |limit| format!("; {limit}"));
    format!(
        "{:<12} {} ({}): {} IOPS, {} MiB/s, score {}{limit}",
        cells[3],
        count(tiles, "tile"),
        count(vms, "VM"),
        cells[4],
        cells[5],
        cells[6],
    )
}
