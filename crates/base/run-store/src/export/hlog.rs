//! HdrHistogram log, format 1.3, as its `HistogramLogWriter` writes and its `HistogramLogReader`
//! reads it. Each slice and tag has one line, with a histogram in V2 encoding, compressed with zlib
//! and in base64. Kinds of I/O and size classes are merged.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use stats::{Compact, Histogram};
use units::Nanos;

use super::ExportError;
use crate::hdr_v2;
use crate::rundir::StoredRun;
use crate::series::{IoRecord, StepKey};

/// Magic number of a compressed V2 histogram.
const COMPRESSED: u32 = 0x1c84_9314;

pub(super) fn write(run: &StoredRun, to: &mut dyn Write) -> Result<(), ExportError> {
    let mut clock = Clock::of(run);
    header(&clock, to)?;
    let mut slice: Option<(StepKey, Nanos, Nanos)> = None;
    let mut tags: BTreeMap<String, Histogram> = BTreeMap::new();
    for row in run.series()? {
        let row = row?;
        let of_row = (row.key, row.start, row.width);
        if slice.is_some_and(|slice| slice != of_row) {
            flush(&mut clock, slice.take(), &mut tags, to)?;
        }
        slice = Some(of_row);
        add(&mut tags, &row);
    }
    flush(&mut clock, slice, &mut tags, to)?;
    Ok(())
}

fn header(clock: &Clock, to: &mut dyn Write) -> std::io::Result<()> {
    let millis = clock.start.as_millisecond();
    let seconds = format!("{}.{:03}", millis.div_euclid(1000), millis.rem_euclid(1000));
    writeln!(to, "#[Logged with tilemark {}]", env!("CARGO_PKG_VERSION"))?;
    writeln!(to, "#[Values are nanoseconds; Interval_Max is in milliseconds]")?;
    writeln!(to, "#[Histogram log format version 1.3]")?;
    writeln!(to, "#[StartTime: {seconds} (seconds since epoch), {}]", clock.start)?;
    writeln!(to, "#[BaseTime: {seconds} (seconds since epoch)]")?;
    writeln!(
        to,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )
}

/// Adds a row to the histograms of its tags, which look like `tile-2/shop/db:read:service`.
fn add(tags: &mut BTreeMap<String, Histogram>, row: &IoRecord) {
    let vm: String = row
        .vm
        .chars()
        .map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c })
        .collect();
    for (latency, histogram) in [("service", &row.service), ("response", &row.response)] {
        let tag = format!("{vm}:{}:{latency}", row.direction.name());
        tags.entry(tag).or_default().merge_compact(histogram);
    }
}

fn flush(
    clock: &mut Clock,
    slice: Option<(StepKey, Nanos, Nanos)>,
    tags: &mut BTreeMap<String, Histogram>,
    to: &mut dyn Write,
) -> std::io::Result<()> {
    let Some((key, start, width)) = slice else { return Ok(()) };
    let at = clock.at(key, start, width);
    for (tag, histogram) in std::mem::take(tags) {
        let compact = histogram.compact();
        let max_ms = compact.max().map_or(0.0, Nanos::as_millis_f64);
        writeln!(
            to,
            "Tag={tag},{},{},{max_ms:.3},{}",
            decimal(at),
            decimal(width),
            STANDARD.encode(compressed(&compact)?)
        )?;
    }
    Ok(())
}

/// Formats seconds with milliseconds, as HdrHistogram's own log writer prints them.
fn decimal(time: Nanos) -> String {
    format!("{}.{:03}", time.0 / 1_000_000_000, time.0 / 1_000_000 % 1000)
}

fn compressed(histogram: &Compact) -> std::io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&hdr_v2::encode(histogram))?;
    let payload = encoder.finish()?;
    let length = u32::try_from(payload.len()).map_err(std::io::Error::other)?;
    let mut bytes = COMPRESSED.to_be_bytes().to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend(payload);
    Ok(bytes)
}

/// Start times of slices, counted from the start of the run.
struct Clock {
    start: jiff::Timestamp,
    /// Start time of each step and repeat, from `run.json`.
    steps: HashMap<(u32, u32), Nanos>,
    /// End of the last slice. If a kill interrupted a step, the step is not in `run.json`; it is
    /// taken to begin here.
    end: Nanos,
}

impl Clock {
    fn of(run: &StoredRun) -> Self {
        let Ok(document) = run.run() else {
            return Self { start: run.id().started(), steps: HashMap::new(), end: Nanos::ZERO };
        };
        let start = document.started;
        let steps = document.steps.iter().map(|step| {
            let after = step.started.duration_since(start).as_nanos();
            ((step.step, step.repeat), Nanos(u64::try_from(after).unwrap_or(0)))
        });
        Self { start, steps: steps.collect(), end: Nanos::ZERO }
    }

    fn at(&mut self, key: StepKey, start: Nanos, width: Nanos) -> Nanos {
        let begin = *self.steps.entry((key.step, key.repeat)).or_insert(self.end);
        let at = begin.saturating_add(start);
        self.end = at.saturating_add(width);
        at
    }
}
