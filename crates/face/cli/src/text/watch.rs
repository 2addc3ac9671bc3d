//! Formats the state of a watch store, and the VMs sorted by how much they suffer.

use analyze::USUAL_LIMIT;
use run_store::slice::Direction;
use serde::Serialize;
use units::{Bytes, Nanos, Ratio};
use watch::{LEVELS, LevelState, Load, SetRow, SetSpan, State, Window};

use super::{Table, latency, number};

/// Maximum number of VMs in the text.
pub(super) const ROWS_MAX: usize = 20;

/// The document of `watch status --format json`.
#[derive(Debug, Serialize)]
pub struct Status {
    schema: &'static str,
    host: String,
    /// Bytes of all files of the store.
    bytes: u64,
    levels: Vec<LevelRow>,
    /// Window in seconds since 1970; absent if the store is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_s: Option<u64>,
    /// Time in which a watcher ran, nanoseconds.
    watched_ns: u64,
    /// Events that were lost.
    lost_events: u64,
    /// Latency above which an I/O is slow.
    limit_ns: u64,
    /// Initiators, sorted by their number of slow I/Os, highest first.
    vms: Vec<VmRow>,
}

#[derive(Debug, Serialize)]
struct LevelRow {
    width: &'static str,
    files: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_s: Option<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct VmRow {
    pub(super) vm: String,
    ios_per_s: f64,
    bytes_per_s: f64,
    read_p95_ns: Option<u64>,
    write_p95_ns: Option<u64>,
    flush_p95_ns: Option<u64>,
    /// I/Os slower than the limit.
    slow: u64,
    slow_share: f64,
    failed: u64,
    /// Share of the latency that passed before the device had the I/O.
    queue_share: Option<f64>,
    /// Newest working sets, shortest first; none if the kernel's events do not show the VM's I/O.
    working_sets: Vec<WorkingSet>,
}

#[derive(Debug, Serialize)]
struct WorkingSet {
    /// Interval that the set covers: `1h`, `1d` or `7d`.
    span: &'static str,
    /// Begin of the data behind the set, in seconds since 1970.
    since_s: u64,
    to_s: u64,
    /// True if there is data for the whole span.
    is_whole: bool,
    used_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Standard error of `used_bytes`, as a share of `used_bytes`.
    error: f64,
    text: String,
}

impl Status {
    /// Builds the state of a store, with sums over a window and the newest working sets.
    pub fn new(host: &str, state: &State, window: &Window, sets: &[SetRow]) -> Self {
        let level = |(level, own): (&watch::Level, &LevelState)| {
            let (from_s, to_s) = own.time_s.unzip();
            LevelRow { width: level.name, files: own.segments, from_s, to_s }
        };
        let watched =
            window.slices.iter().fold(Nanos::ZERO, |sum, own| sum.saturating_add(own.watched));
        let loads = Load::by_vm(&window.slices, USUAL_LIMIT);
        let vms = loads.iter().map(|load| VmRow::new(load, watched, sets)).collect();
        Self {
            schema: "tilemark.watch-status/1.0",
            host: host.to_owned(),
            bytes: state.bytes,
            levels: LEVELS.iter().zip(&state.levels).map(level).collect(),
            from_s: window.slices.first().map(|own| own.start_s),
            to_s: window.slices.last().map(|own| own.start_s + own.width_s),
            watched_ns: watched.0,
            lost_events: window.slices.iter().map(|own| own.lost).sum(),
            limit_ns: USUAL_LIMIT.0,
            vms,
        }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        let Some((from, to)) = self.from_s.zip(self.to_s) else {
            return format!("{}: no I/O was seen yet\n", untrusted::shown(&self.host));
        };
        let mut lines = vec![format!(
            "{}: {} to {} (UTC), {} of it watched, {} in total",
            untrusted::shown(&self.host),
            stamp(from),
            stamp(to),
            Nanos(self.watched_ns),
            Bytes::new(self.bytes),
        )];
        if self.lost_events > 0 {
            let lost = super::count(self.lost_events, "event");
            lines.push(format!("{lost} lost: the numbers below are too small"));
        }
        lines.push(String::new());
        let mut table = Table::new(&["slices of", ">files", "from", "to"]);
        for level in self.levels.iter().filter(|own| own.files > 0) {
            let time = |time: Option<u64>| time.map_or_else(String::new, stamp);
            let files = level.files.to_string();
            table.row(vec![level.width.to_owned(), files, time(level.from_s), time(level.to_s)]);
        }
        lines.extend(table.lines());
        lines.push(String::new());
        let mut table = load_table(&["VM"], self.limit_ns);
        for row in self.vms.iter().take(ROWS_MAX) {
            table.row([vec![untrusted::shown(&row.vm).into_owned()], row.cells()].concat());
        }
        lines.extend(table.lines());
        if self.vms.len() > ROWS_MAX {
            lines.push(format!("and {} more", self.vms.len() - ROWS_MAX));
        }
        lines.extend(self.set_lines());
        lines.join("\n") + "\n"
    }

    fn set_lines(&self) -> Vec<String> {
        let vms = self.vms.iter().take(ROWS_MAX);
        let sets: Vec<String> = vms.filter_map(VmRow::set_sentence).collect();
        let head = [String::new(), "Working sets".to_owned()];
        if sets.is_empty() { sets } else { head.into_iter().chain(sets).collect() }
    }
}

impl VmRow {
    #[expect(clippy::cast_precision_loss, reason = "rates are read to a few digits")]
    pub(super) fn new(load: &Load, watched: Nanos, sets: &[SetRow]) -> Self {
        let seconds = watched.as_secs_f64().max(f64::MIN_POSITIVE);
        let p95 = |direction| load.percentile(direction, Ratio::new(0.95)).map(|own| own.0);
        let own = sets.iter().filter(|row| row.vm == load.name);
        Self {
            vm: load.name.to_string(),
            ios_per_s: load.ios as f64 / seconds,
            bytes_per_s: load.bytes as f64 / seconds,
            read_p95_ns: p95(Direction::Read),
            write_p95_ns: p95(Direction::Write),
            flush_p95_ns: p95(Direction::Flush),
            slow: load.slow,
            slow_share: load.slow_share(),
            failed: load.failed,
            queue_share: load.queue_share(),
            working_sets: own.map(WorkingSet::new).collect(),
        }
    }

    /// Returns the numbers in the columns of [`load_table`].
    pub(super) fn cells(&self) -> Vec<String> {
        let queue = self.queue_share.map_or_else(|| "-".to_owned(), percent);
        vec![
            number(self.ios_per_s),
            Bytes::new(whole(self.bytes_per_s)).to_string(),
            latency(self.read_p95_ns),
            latency(self.write_p95_ns),
            latency(self.flush_p95_ns),
            percent(self.slow_share),
            queue,
            self.failed.to_string(),
        ]
    }

    /// Describes the working set of the last day; `None` if it is unknown or empty.
    pub(super) fn set_sentence(&self) -> Option<String> {
        let set = self.working_sets.iter().find(|own| own.span == SetSpan::Day.name())?;
        let vm = untrusted::shown(&self.vm);
        (set.used_bytes > 0).then(|| format!("{vm}: {}", set.text))
    }
}

impl WorkingSet {
    fn new(row: &SetRow) -> Self {
        Self {
            span: row.span.name(),
            since_s: row.since_s,
            to_s: row.end_s(),
            is_whole: row.is_whole(),
            used_bytes: row.used_bytes,
            read_bytes: row.read_bytes,
            written_bytes: row.written_bytes,
            error: row.error(),
            text: row.words(),
        }
    }
}

/// Creates a table of loads with these first columns.
pub(super) fn load_table(first: &[&str], limit_ns: u64) -> Table {
    let slow = format!(">over {}", Nanos(limit_ns));
    let numbers = [
        ">I/Os/s",
        ">bytes/s",
        ">read p95",
        ">write p95",
        ">flush p95",
        &slow,
        ">queued",
        ">failed",
    ];
    Table::new(&[first, &numbers[..]].concat())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Formats a time for people, in UTC.
pub fn stamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|own| jiff::Timestamp::from_second(own).ok());
    let text = time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
    text.unwrap_or_else(|| seconds.to_string())
}
