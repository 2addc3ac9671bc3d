//! State of a watch store, and the VMs by how much they suffer.

use std::collections::BTreeMap;

use analyze::USUAL_LIMIT;
use run_store::slice::Direction;
use serde::Serialize;
use units::{Bytes, Nanos, Ratio};
use watch::{LEVELS, Latencies, LevelState, State, Window};

use super::{Table, latency, number};

/// Most VMs in the text.
const ROWS_MAX: usize = 20;

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
    /// Time in which somebody watched.
    watched_ns: u64,
    /// Events that were lost.
    lost_events: u64,
    /// Limit of a slow I/O.
    limit_ns: u64,
    /// Senders, those with the most slow I/Os first.
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
struct VmRow {
    vm: String,
    ios_per_s: f64,
    bytes_per_s: f64,
    read_p95_ns: Option<u64>,
    write_p95_ns: Option<u64>,
    flush_p95_ns: Option<u64>,
    /// I/Os slower than the limit.
    slow: u64,
    slow_share: f64,
    failed: u64,
    /// Part of the waiting that passed before the device had the I/O.
    queue_share: Option<f64>,
}

#[derive(Default)]
struct Sum {
    ways: [Latencies; Direction::ALL.len()],
    bytes: u64,
    failed: u64,
    latency_ns: u64,
    queue_ns: Option<u64>,
    is_begun: bool,
}

impl Status {
    /// State of a store, and the sums over a window of it.
    pub fn new(host: &str, state: &State, window: &Window) -> Self {
        let level = |(level, own): (&watch::Level, &LevelState)| {
            let (from_s, to_s) = own.time_s.unzip();
            LevelRow { width: level.name, files: own.segments, from_s, to_s }
        };
        let watched =
            window.slices.iter().fold(Nanos::ZERO, |sum, own| sum.saturating_add(own.watched));
        let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
        let once = window.slices.iter().flat_map(|slice| &slice.io);
        for (key, cell) in once.filter(|(key, _)| !key.is_guest_side()) {
            let sum = sums.entry(&key.vm).or_default();
            let queue_ns = if sum.is_begun { sum.queue_ns } else { Some(0) };
            sum.queue_ns = queue_ns.zip(cell.queue_ns).map(|(own, more)| own.saturating_add(more));
            sum.is_begun = true;
            sum.ways[key.direction as usize].merge(&cell.latencies);
            sum.bytes = sum.bytes.saturating_add(cell.bytes);
            sum.failed = sum.failed.saturating_add(cell.errors);
            sum.latency_ns = sum.latency_ns.saturating_add(cell.latency_ns);
        }
        let mut vms: Vec<VmRow> = sums.iter().map(|(vm, sum)| sum.row(vm, watched)).collect();
        vms.sort_by(|left, right| {
            right.slow.cmp(&left.slow).then(right.ios_per_s.total_cmp(&left.ios_per_s))
        });
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

    /// Text for people.
    pub fn text(&self) -> String {
        let Some((from, to)) = self.from_s.zip(self.to_s) else {
            return format!("{}: nothing was seen yet\n", untrusted::shown(&self.host));
        };
        let mut lines = vec![format!(
            "{}: {} to {} (UTC), {} of it watched, {} in all",
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
        let slow = format!(">over {}", Nanos(self.limit_ns));
        let mut table = Table::new(&[
            "VM",
            ">I/Os/s",
            ">bytes/s",
            ">read p95",
            ">write p95",
            ">flush p95",
            &slow,
            ">queued",
            ">failed",
        ]);
        for row in self.vms.iter().take(ROWS_MAX) {
            let queue = row.queue_share.map_or_else(|| "-".to_owned(), percent);
            table.row(vec![
                untrusted::shown(&row.vm).into_owned(),
                number(row.ios_per_s),
                Bytes::new(whole(row.bytes_per_s)).to_string(),
                latency(row.read_p95_ns),
                latency(row.write_p95_ns),
                latency(row.flush_p95_ns),
                percent(row.slow_share),
                queue,
                row.failed.to_string(),
            ]);
        }
        lines.extend(table.lines());
        if self.vms.len() > ROWS_MAX {
            lines.push(format!("and {} more", self.vms.len() - ROWS_MAX));
        }
        lines.join("\n") + "\n"
    }
}

impl Sum {
    #[expect(clippy::cast_precision_loss, reason = "rates and shares are read to a few digits")]
    fn row(&self, vm: &str, watched: Nanos) -> VmRow {
        let count: u64 = self.ways.iter().map(Latencies::count).sum();
        let slow = self.ways.iter().flat_map(Latencies::buckets);
        let slow = slow.filter(|(latency, _)| *latency > USUAL_LIMIT);
        let slow: u64 = slow.map(|(_, count)| u64::from(count)).sum();
        let seconds = watched.as_secs_f64().max(f64::MIN_POSITIVE);
        let p95 = |way: usize| {
            self.ways[way].compact(0).percentile(Ratio::new(0.95)).map(|latency| latency.0)
        };
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        VmRow {
            vm: vm.to_owned(),
            ios_per_s: count as f64 / seconds,
            bytes_per_s: self.bytes as f64 / seconds,
            read_p95_ns: p95(0),
            write_p95_ns: p95(1),
            flush_p95_ns: p95(2),
            slow,
            slow_share: share(slow, count),
            failed: self.failed,
            queue_share: self.queue_ns.map(|queue| share(queue, self.latency_ns)),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes, rounded")]
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

/// Time for people, in UTC.
pub fn stamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|own| jiff::Timestamp::from_second(own).ok());
    let text = time.map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string());
    text.unwrap_or_else(|| seconds.to_string())
}
