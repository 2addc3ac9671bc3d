//! Formats the predicted hits of a cache, as sentences and a table.

use serde::Serialize;
use units::Bytes;
use units::print::{bytes_per_second, percent};
use watch::{CacheHits, VmHits};

use super::watch::stamp;
use super::{Table, count, number};

/// Maximum number of VMs in the text.
const ROWS_MAX: usize = 20;

/// The document of `what-if --watch --format json`.
#[derive(Debug, Serialize)]
pub struct CacheDocument {
    schema: &'static str,
    cache_bytes: u64,
    /// Begin of the first hour and end of the last, in seconds since 1970.
    from_s: u64,
    to_s: u64,
    /// Number of hours over which sizes and rates are averaged.
    hours: usize,
    /// Events that were lost in that time. Sets and rates are too small by the I/O of these events.
    lost_events: u64,
    /// Time for which the cache keeps a page after its last use, in hours.
    kept_hours_low: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_hours_high: Option<f64>,
    all: Row,
    /// VMs, the busiest first.
    vms: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    #[serde(skip_serializing_if = "String::is_empty")]
    vm: String,
    bytes_per_s: f64,
    working_sets: Vec<Set>,
    /// Share of the bytes read and written that hit the cache.
    hits_low: f64,
    hits_high: f64,
}

#[derive(Debug, Serialize)]
struct Set {
    span: &'static str,
    bytes: u64,
}

impl CacheDocument {
    /// Builds the document from the hits of a cache; the slices behind them lost this many events.
    pub fn new(cache: Bytes, hits: &CacheHits, lost_events: u64) -> Self {
        Self {
            schema: "tilemark.watch-cache/1.0",
            cache_bytes: cache.get(),
            from_s: hits.window_s.0,
            to_s: hits.window_s.1,
            hours: hits.hours,
            lost_events,
            kept_hours_low: hits.kept_hours.0,
            kept_hours_high: hits.kept_hours.1,
            all: Row::new(&hits.all),
            vms: hits.vms.iter().map(Row::new).collect(),
        }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        let whom = match &self.vms[..] {
            [only] => format!("{} reads and writes", untrusted::shown(&only.vm)),
            more => format!("{} read and write together", count(more.len() as u64, "VM")),
        };
        let cache = Bytes::new(self.cache_bytes);
        let mut lines = vec![
            format!("A cache of {cache} would hold {} of the bytes that {whom}.", self.all.hits()),
            format!("It would keep them for {} after their last use.", self.kept()),
            String::new(),
        ];
        let spans = self.all.working_sets.iter().map(|set| format!("set of {}", set.span));
        let mut table = Table::new(&["VM", ">used"]);
        spans.for_each(|name| table.column(&name));
        table.column("hits");
        for row in self.vms.iter().take(ROWS_MAX) {
            table.row(row.cells(&untrusted::shown(&row.vm)));
        }
        if self.vms.len() > 1 {
            table.row(self.all.cells("all"));
        }
        lines.extend(table.lines());
        if let more @ 1.. = self.vms.len().saturating_sub(ROWS_MAX) {
            lines.push(format!("and {} more; --format json has all", count(more as u64, "VM")));
        }
        lines.push(String::new());
        lines.push(format!(
            "predicted, not measured: from averages over {} of {} to {}; assumes a warm LRU cache \
             for reads and writes",
            count(self.hours as u64, "hour"),
            stamp(self.from_s),
            stamp(self.to_s),
        ));
        if self.lost_events > 0 {
            let lost = count(self.lost_events, "event");
            lines.push(format!("{lost} lost in this time: these numbers do not include them"));
        }
        lines.join("\n") + "\n"
    }

    fn kept(&self) -> String {
        let low = time(self.kept_hours_low);
        match self.kept_hours_high {
            Some(high) => format!("{low} to {}", time(high)),
            None => format!("{low} or more"),
        }
    }
}

impl Row {
    fn new(own: &VmHits) -> Self {
        let set =
            |(span, bytes): &(watch::SetSpan, Bytes)| Set { span: span.name(), bytes: bytes.get() };
        Self {
            vm: own.name.to_string(),
            bytes_per_s: own.bytes_per_s,
            working_sets: own.sets.iter().map(set).collect(),
            hits_low: own.hits.0,
            hits_high: own.hits.1,
        }
    }

    fn hits(&self) -> String {
        match (percent(self.hits_low), percent(self.hits_high)) {
            (low, high) if low == high => low,
            (low, high) => format!("{low} to {high}"),
        }
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let sets = self.working_sets.iter().map(|set| Bytes::new(set.bytes).to_string());
        let begin = [name.to_owned(), bytes_per_second(self.bytes_per_s)];
        begin.into_iter().chain(sets).chain([self.hits()]).collect()
    }
}

fn time(hours: f64) -> String {
    match hours {
        short if short < 1.0 => format!("{} minutes", number((short * 60.0).round())),
        short if short < 48.0 => format!("{} hours", number(short)),
        long => format!("{} days", number(long / 24.0)),
    }
}
