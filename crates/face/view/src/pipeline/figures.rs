//! Figures in the format of `github-action-benchmark`: `[{name, unit, value, range, extra}]`, in
//! separate files for its tools `customBiggerIsBetter` and `customSmallerIsBetter`.

use run_store::run::Run;
use serde_json::{Value, json};
use units::Nanos;

/// Returns the figures for `customBiggerIsBetter`: tiles, score and work per second.
pub fn bench_json(run: &Run) -> Value {
    let (answer, mut all) = (&run.answer, Vec::new());
    if let Some(tiles) = answer.tiles_held {
        let range = answer.tiles_interval.map(|own| match own.high {
            Some(high) => format!("{} to {high}", own.low),
            None => format!("at least {}", own.low),
        });
        all.push(figure(run, "tiles held".to_owned(), "tiles", tiles.into(), range));
    }
    if let Some(score) = answer.score.value {
        let interval = answer.score_interval.as_ref();
        let range = interval.map(|own| format!("{:.2} to {:.2}", own.low, own.high));
        all.push(figure(run, "score".to_owned(), "tiles' worth", score, range));
    }
    for (name, unit, of) in [("I/Os", "I/Os/s", 0), ("bytes", "B/s", 1)] {
        let values = super::stands_on(run).into_iter().map(|step| match of {
            0 => step.throughput.operations_per_s,
            _ => step.throughput.bytes_per_s,
        });
        all.extend(
            mean(values).map(|(value, range)| figure(run, name.to_owned(), unit, value, range)),
        );
    }
    Value::Array(all)
}

/// Returns the figures for `customSmallerIsBetter`: response times with a limit.
pub fn bench_json_times(run: &Run) -> Value {
    let limits = super::limits(run).into_iter();
    let times = limits.filter_map(|own| {
        let (workload, tiles, limit) = (&own.pooled.workload, own.step.tiles, &own.pooled.result);
        let ms = |ns: u64| Nanos(ns).as_secs_f64() * 1e3;
        let range = limit.interval_low_ns.zip(limit.interval_high_ns);
        let range = range.map(|(low, high)| format!("{:.3} to {:.3}", ms(low), ms(high)));
        let name = format!("{workload} {} {}, {tiles} tiles", limit.name, limit.statistic);
        Some(figure(run, name, "ms", ms(limit.measured_ns?), range))
    });
    Value::Array(times.collect())
}

fn figure(run: &Run, name: String, unit: &str, value: f64, range: Option<String>) -> Value {
    let mut figure = json!({
        "name": format!("{}: {name}", run.tile.name), "unit": unit, "value": value,
        "extra": format!("run {} on {}, seed {}", run.id, run.target.datastore, run.seed),
    });
    if let Some(range) = range {
        figure["range"] = range.into();
    }
    figure
}

/// Returns the mean of values, and their range as text.
fn mean(values: impl Iterator<Item = f64>) -> Option<(f64, Option<String>)> {
    let values: Vec<f64> = values.collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful of repeats")]
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some((mean, (values.len() > 1).then(|| format!("{low:.1} to {high:.1}"))))
}
