//! Answers that a report contains, so that it needs no server.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Number, Value};
use units::Nanos;

use crate::answer::answer;
use crate::request::{Breakdown, Lens, Measure, Request, View};
use crate::source::Source;

/// Maximum size of all answers as deflated JSON, in bytes. With page, styles and the page's own
/// data the report stays below 2.5 MB (a base64 character carries six bits).
pub const OFFLINE_BYTES_MAX: usize = 1_400_000;

/// Significant digits of numbers with a fraction. Histograms themselves resolve little more than
/// two digits.
const DIGITS: i32 = 3;
/// Maximum number of spikes kept on each side of the worst spike.
const SPIKES: usize = 12;

/// Resolution of answers. Each level has about two thirds of the values of the level before.
#[derive(Debug, Clone, Copy)]
struct Grain {
    /// Number of points over the whole run.
    run: u32,
    /// Number of points over each step.
    step: u32,
    /// Number of rows of heat maps.
    rows: u32,
    /// Number of points of an item's trail on the map.
    trail: usize,
}

const GRAINS: [Grain; 8] = [
    Grain { run: 600, step: 200, rows: 80, trail: 12 },
    Grain { run: 450, step: 130, rows: 70, trail: 12 },
    Grain { run: 320, step: 90, rows: 60, trail: 8 },
    Grain { run: 240, step: 60, rows: 50, trail: 6 },
    Grain { run: 180, step: 40, rows: 40, trail: 4 },
    Grain { run: 120, step: 26, rows: 32, trail: 2 },
    Grain { run: 90, step: 16, rows: 24, trail: 0 },
    Grain { run: 60, step: 10, rows: 16, trail: 0 },
];

/// Maximum number of hosts with answers of their own.
const HOSTS_MAX: usize = 8;

/// Number of points for latencies by a finer breakdown than direction, as the page requests them
/// (`CROWDED_POINTS` there).
const CROWDED_POINTS: u32 = 60;

const BREAKDOWNS: [Breakdown; 7] = [
    Breakdown::Direction,
    Breakdown::None,
    Breakdown::Size,
    Breakdown::Workload,
    Breakdown::Tile,
    Breakdown::Host,
    Breakdown::Selection,
];
const MEASURES: [Measure; 3] = [Measure::Iops, Measure::Throughput, Measure::Latency];

/// Returns the answers of the report, by canonical request without `points` and `rows`. They are
/// all views of the whole run and of each step, by every breakdown and measure, in the finest
/// resolution within [`OFFLINE_BYTES_MAX`].
pub fn offline(source: &Source) -> Vec<(String, Value)> {
    let mut first = guess(source);
    loop {
        let answers = at(source, GRAINS[first]);
        let size = deflated(&answers);
        if size <= OFFLINE_BYTES_MAX || first + 1 == GRAINS.len() {
            return within(answers, size);
        }
        first += if size > 2 * OFFLINE_BYTES_MAX { 2 } else { 1 };
        first = first.min(GRAINS.len() - 1);
    }
}

/// Returns requests of all views by every breakdown and measure, as a page makes them, to measure
/// the slowest view. They cover the whole run, the last step, a window of 60 s in the middle of the
/// run, and the first tile.
pub fn every_request(source: &Source) -> Vec<Request> {
    let mut requests = whole(source);
    let last = source.rollup().spans().last();
    if let Some(span) = last {
        let step = Lens { step: Some(span.step), ..Lens::default() };
        requests.extend(views(&step));
        let half = Nanos(source.rollup().end().0 / 2);
        let window = (half, Some(half.saturating_add(Nanos::from_secs(60))));
        let zoomed = Lens { time: Some(window), ..Lens::default() };
        requests.extend(views(&zoomed));
        let tile = Lens { tiles: vec![1], ..Lens::default() };
        requests.extend(views(&tile));
    }
    requests
}

/// Guesses the first resolution to try, so that the number of points is not obviously too large.
fn guess(source: &Source) -> usize {
    let steps = source.rollup().spans().iter().map(|span| span.step).max().unwrap_or(0);
    match steps {
        0..=3 => 0,
        4..=8 => 1,
        _ => 2,
    }
}

/// Drops answers about steps, the last ones first, if even the coarsest answers are too large.
fn within(mut answers: Vec<(String, Value)>, mut size: usize) -> Vec<(String, Value)> {
    while size > OFFLINE_BYTES_MAX && answers.len() > 1 {
        let keep = answers.len() * OFFLINE_BYTES_MAX / size;
        answers.truncate(keep.min(answers.len() - 1).max(1));
        size = deflated(&answers);
    }
    answers
}

fn at(source: &Source, grain: Grain) -> Vec<(String, Value)> {
    let mut answers = Vec::new();
    let has_actions = !source.rollup().action_names().is_empty();
    let has_hosts = !source.hosts().names().is_empty();
    let has_calls = !source.rollup().call_names().is_empty();
    let mut add = |request: Request, points: u32| {
        if request.view == View::Calls && !has_calls
            || request.view == View::Actions && !has_actions
            || request.view == View::Watch && source.watched().is_none()
            || request.lens.breakdown == Breakdown::Host && !has_hosts
        {
            return;
        }
        let key = request.canonical();
        let points = if is_crowded(&request) { points.min(CROWDED_POINTS) } else { points };
        let lens = Lens { points, rows: grain.rows, ..request.lens };
        let document = answer(source, &Request { view: request.view, lens });
        let value = serde_json::to_value(document).unwrap_or(Value::Null);
        answers.push((key, slim(value, grain)));
    };
    for request in whole(source) {
        add(request, grain.run);
    }
    for step in steps(source) {
        let lens = Lens { step: Some(step), ..Lens::default() };
        views(&lens).for_each(|request| add(request, grain.step));
    }
    for host in source.hosts().names().iter().take(HOSTS_MAX) {
        let lens = Lens { hosts: vec![host.clone()], ..Lens::default() };
        let knows_hosts = |request: &Request| request.view.keys().contains(&"host");
        views(&lens).filter(knows_hosts).for_each(|request| add(request, grain.step));
    }
    answers
}

/// Returns true if many percentile lines over time would cover each other, so that the page draws
/// fewer points.
fn is_crowded(request: &Request) -> bool {
    let is_split = !matches!(request.lens.breakdown, Breakdown::Direction | Breakdown::None);
    request.view == View::Series && request.lens.measure == Measure::Latency && is_split
}

/// Returns the numbers of the steps, if there are several.
fn steps(source: &Source) -> Vec<u32> {
    let mut steps: Vec<u32> = source.rollup().spans().iter().map(|span| span.step).collect();
    steps.sort_unstable();
    steps.dedup();
    if steps.len() > 1 { steps } else { Vec::new() }
}

/// Makes requests for the whole run: all views, each direction by size, and the spikes.
fn whole(source: &Source) -> Vec<Request> {
    let all = Lens::default();
    let once =
        [View::Curve, View::Access, View::Watch].map(|view| Request { view, lens: all.clone() });
    let mut requests = once.to_vec();
    requests.extend(views(&all));
    for is_write in [false, true] {
        let lens = Lens { is_write: Some(is_write), ..Lens::default() };
        let by_size = Lens { breakdown: Breakdown::Size, ..lens.clone() };
        let latency = Lens { measure: Measure::Latency, ..by_size.clone() };
        requests.push(Request { view: View::HeatMap, lens });
        requests.push(Request { view: View::Percentiles, lens: by_size.clone() });
        requests.push(Request { view: View::Series, lens: by_size });
        requests.push(Request { view: View::Series, lens: latency });
    }
    let spikes = spikes(source).into_iter().map(|at| {
        let lens = Lens { at: Some(at), ..Lens::default() };
        Request { view: View::Moment, lens }
    });
    requests.extend(spikes);
    requests
}

/// Makes requests for all views of a lens, by every breakdown and measure of each view.
fn views(lens: &Lens) -> impl Iterator<Item = Request> + '_ {
    let request = |view: View| Request { view, lens: lens.clone() };
    let plain = [
        View::Overview,
        View::HeatMap,
        View::Matrix,
        View::Breaks,
        View::Map,
        View::Moment,
        View::Tier,
        View::Machine,
    ];
    let by = |breakdown: Breakdown| Lens { breakdown, ..lens.clone() };
    let series = BREAKDOWNS.into_iter().flat_map(move |breakdown| {
        MEASURES.into_iter().map(move |measure| Request {
            view: View::Series,
            lens: Lens { measure, ..by(breakdown) },
        })
    });
    let dialogues = [View::Actions, View::Calls].into_iter().flat_map(move |view| {
        let of = move |measure| Request { view, lens: Lens { measure, ..lens.clone() } };
        [Measure::Iops, Measure::Latency].into_iter().map(of)
    });
    let percentiles = BREAKDOWNS
        .into_iter()
        .map(move |breakdown| Request { view: View::Percentiles, lens: by(breakdown) });
    plain.into_iter().map(request).chain(series).chain(dialogues).chain(percentiles)
}

/// Returns the worst moment and the spikes around it, to the millisecond, the resolution of a
/// request.
fn spikes(source: &Source) -> Vec<Nanos> {
    let moment = |at: Option<u64>| {
        let lens = Lens { at: at.map(Nanos), ..Lens::default() };
        crate::views::moment(source, &lens)
    };
    let worst = moment(None);
    let mut found = vec![worst.at_ns];
    for forward in [true, false] {
        let next = |moment: &crate::document::Moment| match forward {
            true => moment.next_spike_ns,
            false => moment.previous_spike_ns,
        };
        let mut at = next(&worst);
        while let Some(spike) = at.filter(|_| found.len() <= SPIKES) {
            found.push(spike);
            at = next(&moment(Some(spike)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|at| Nanos(at / 1_000_000 * 1_000_000)).collect()
}

/// Rounds numbers with a fraction to [`DIGITS`] digits, and shortens trails to the resolution.
fn slim(value: Value, grain: Grain) -> Value {
    match value {
        Value::Number(number) => Value::Number(rounded(number)),
        Value::Array(items) => items.into_iter().map(|item| slim(item, grain)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| match value {
                Value::Array(mut items) if key == "trail" => {
                    let extra = items.len().saturating_sub(grain.trail);
                    items.drain(..extra);
                    (key, slim(Value::Array(items), grain))
                }
                value => {
                    let value = slim(value, grain);
                    (key, value)
                }
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
fn rounded(number: Number) -> Number {
    let Some(value) = number.as_f64().filter(|_| number.is_f64()) else { return number };
    if value == 0.0 {
        return 0.into();
    }
    let magnitude = 10_f64.powi(value.abs().log10().floor() as i32 - DIGITS + 1);
    let round = if magnitude >= 1.0 {
        (value / magnitude).round() * magnitude
    } else {
        // Dividing by a whole power of ten gives the shortest text.
        (value / magnitude).round() / magnitude.recip().round()
    };
    if round.fract() == 0.0 && round.abs() < 9e15 {
        return (round as i64).into();
    }
    Number::from_f64(round).unwrap_or(number)
}

/// Returns the size of the answers in the report, in bytes.
fn deflated(answers: &[(String, Value)]) -> usize {
    let mut encoder = DeflateEncoder::new(Counter(0), Compression::default());
    for (key, value) in answers {
        let written = encoder
            .write_all(key.as_bytes())
            .and_then(|()| Ok(serde_json::to_writer(&mut encoder, value)?));
        debug_assert!(written.is_ok(), "counting bytes does not fail");
    }
    encoder.finish().map_or(usize::MAX, |counter| counter.0)
}

struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rounding_keeps_three_digits_and_whole_numbers_whole() {
        let grain = GRAINS[0];
        let slimmed = slim(json!([55_206.123, 2_670_591.0, 0.012_345, 7, null, 0.0]), grain);
        assert_eq!(slimmed, json!([55_200, 2_670_000, 0.0123, 7, null, 0]));
        assert_eq!(slim(json!(1_234_567_890_123_u64), grain), json!(1_234_567_890_123_u64));
    }
}
