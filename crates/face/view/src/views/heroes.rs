use run_store::rollup::CallRow;
use run_store::slice::Direction;
use units::print::{bytes_per_second, count, iops, number, whole};
use units::{Bytes, Nanos};

use super::focus::Focus;
use crate::document::Hero;
use crate::scope::{ENOUGH, Points, Scope, Sum, ratio};
use crate::source::Source;
use crate::words::{self, rate};

/// Number of points in a main number's sparkline.
const SPARK: usize = 60;

/// Makes the four main numbers: how near users are to a limit, if there is one; amount of I/O; and
/// latency. The number of tiles is in the headline instead.
pub(super) fn of(source: &Source, focus: &Focus<'_>) -> Vec<Hero> {
    let scope = focus.held();
    let course = Course::of_calls(&scope).unwrap_or_else(|| Course::of(&scope));
    let note = focus.time_words(&scope);
    let mut heroes: Vec<Hero> = Vec::new();
    heroes.extend(limit(source, focus));
    if source.has_times() {
        heroes.push(course.operations(&note));
        if heroes.len() == 1 {
            heroes.push(course.bytes(&note));
        }
    } else {
        heroes.extend(course.amounts(&note));
    }
    if !source.has_latencies() {
        return heroes;
    }
    heroes.push(course.latency(Direction::Read, &note));
    if !course.is_calls {
        heroes.push(course.latency(Direction::Write, &note));
    }
    heroes
}

/// Makes the main number of the limit with the least room.
fn limit(source: &Source, focus: &Focus<'_>) -> Option<Hero> {
    if source.is_running() {
        return None;
    }
    let limit = words::closest(&focus.steps())?;
    let result = &limit.result;
    let measured = result.measured_ns?;
    let tiles = focus.steps().first().map_or(0, |step| step.tiles);
    #[expect(clippy::cast_precision_loss, reason = "printed, to a few digits")]
    Some(Hero {
        label: limit.name(),
        text: Nanos(measured).to_string(),
        value: Some(measured as f64),
        unit: "ns".to_owned(),
        note: format!(
            "of {} allowed, at {}; the limit with the least room",
            Nanos(result.limit_ns),
            count(tiles.into(), "tile")
        ),
        samples: Some(result.samples),
        spark: Vec::new(),
        link: "map".to_owned(),
    })
}

/// Sums, and values over the lens's time.
struct Course {
    /// True if the values are of calls to endpoints, which take the place of reads.
    is_calls: bool,
    reads: Sum,
    writes: Sum,
    all: Sum,
    count: Vec<u64>,
    bytes: Vec<u64>,
    read_p99: Vec<Option<u64>>,
    write_p99: Vec<Option<u64>>,
    load: Vec<Nanos>,
    time: Nanos,
}

impl Course {
    fn of(scope: &Scope<'_>) -> Self {
        let points = scope.frame.points(SPARK);
        let zero = || -> Vec<Sum> { (0..points.len()).map(|_| Sum::default()).collect() };
        let (mut reads, mut writes, mut others) = (zero(), zero(), zero());
        for (bucket, row) in scope.rows() {
            let sums = match row.direction {
                Direction::Read => &mut reads,
                Direction::Write => &mut writes,
                Direction::Flush => &mut others,
            };
            sums[points.of[bucket]].add(row);
        }
        Self::together(&points, [&reads, &writes, &others], scope.time())
    }

    /// Sums calls; `None` if there is I/O, or if the lens has only some tiles.
    fn of_calls(scope: &Scope<'_>) -> Option<Self> {
        let points = scope.frame.points(SPARK);
        let none: Vec<Sum> = (0..points.len()).map(|_| Sum::default()).collect();
        let mut calls = none.clone();
        let (rollup, wanted) = (scope.source.rollup(), &scope.lens.workloads);
        if !scope.is_wide || !rollup.wide().rows.is_empty() || rollup.calls().is_empty() {
            return None;
        }
        let is_wanted = |row: &&CallRow| {
            let of = &rollup.call_names()[row.call as usize];
            wanted.is_empty() || wanted.contains(&of.workload)
        };
        for row in rollup.calls().iter().filter(is_wanted) {
            if let Some(bucket) = scope.frame.flat(row.span, row.bucket) {
                calls[points.of[bucket]].add(row);
            }
        }
        let course = Self::together(&points, [&calls, &none, &none], scope.time());
        Some(Self { is_calls: true, ..course })
    }

    fn together(points: &Points, sums: [&Vec<Sum>; 3], time: Nanos) -> Self {
        let merge = |sums: &[Sum]| {
            let mut all = Sum::default();
            sums.iter().for_each(|sum| all.merge(sum));
            all
        };
        let [reads, writes, others] = sums.map(|sums| merge(sums));
        let mut all = others;
        all.merge(&reads);
        all.merge(&writes);
        let add = |pick: fn(&Sum) -> u64| {
            let by_point = (0..points.len()).map(|p| sums.iter().map(|s| pick(&s[p])).sum());
            by_point.collect::<Vec<u64>>()
        };
        let p99 = |sums: &[Sum]| {
            let known = |sum: &Sum| sum.percentile(0.99).filter(|_| sum.count() >= ENOUGH);
            sums.iter().map(known).collect()
        };
        Self {
            is_calls: false,
            count: add(Sum::count),
            bytes: add(|sum| sum.bytes),
            read_p99: p99(sums[0]),
            write_p99: p99(sums[1]),
            load: points.load.clone(),
            reads,
            writes,
            all,
            time,
        }
    }

    fn rates(&self, counts: &[u64]) -> Vec<Option<f64>> {
        counts.iter().zip(&self.load).map(|(count, load)| Some(rate(*count, *load))).collect()
    }

    /// Returns the rate's text, or `no load` if there is no time under load: a rate over no time is
    /// not 0.
    fn if_any(&self, rate: String) -> String {
        if self.time == Nanos::ZERO { "no load".to_owned() } else { rate }
    }

    fn operations(&self, note: &str) -> Hero {
        let value = rate(self.all.count(), self.time);
        let (label, text, unit) = match self.is_calls {
            true => ("calls a second", format!("{} calls/s", number(value)), "call_per_s"),
            false => ("I/Os a second", iops(value), "io_per_s"),
        };
        Hero {
            label: label.to_owned(),
            text: self.if_any(text),
            value: (self.time > Nanos::ZERO).then_some(value),
            unit: unit.to_owned(),
            note: format!("mean {note}"),
            samples: Some(self.all.count()),
            spark: self.rates(&self.count),
            link: "workload".to_owned(),
        }
    }

    /// Makes the main numbers of I/Os and bytes, for a source without times for rates.
    fn amounts(&self, note: &str) -> [Hero; 2] {
        let (ios, bytes) = (self.all.count(), self.all.bytes);
        let hero = |label: &str, text: String, number: u64, unit: &str| Hero {
            label: label.to_owned(),
            text,
            value: Some(ratio(number, 1)),
            unit: unit.to_owned(),
            note: note.to_owned(),
            samples: Some(ios),
            spark: Vec::new(),
            link: "workload".to_owned(),
        };
        [
            hero("I/Os", whole(ios), ios, "count"),
            hero("bytes", Bytes::new(bytes).to_string(), bytes, "bytes"),
        ]
    }

    fn bytes(&self, note: &str) -> Hero {
        let value = rate(self.all.bytes, self.time);
        Hero {
            label: "throughput".to_owned(),
            text: self.if_any(bytes_per_second(value)),
            value: (self.time > Nanos::ZERO).then_some(value),
            unit: "bytes_per_s".to_owned(),
            note: format!("mean {note}"),
            samples: Some(self.all.count()),
            spark: self.rates(&self.bytes),
            link: "workload?m=bw".to_owned(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "drawn and printed, to a few digits")]
    fn latency(&self, direction: Direction, note: &str) -> Hero {
        let (sum, spark, name, link) = match direction {
            _ if self.is_calls => (&self.reads, &self.read_p99, "call", "workload"),
            Direction::Read => (&self.reads, &self.read_p99, "read", "latency?dir=r&m=lat"),
            _ => (&self.writes, &self.write_p99, "write", "latency?dir=w&m=lat"),
        };
        let value = sum.percentile(0.99).filter(|_| sum.count() >= ENOUGH);
        Hero {
            label: format!("{name} p99"),
            text: match value {
                Some(p99) => Nanos(p99).to_string(),
                None if sum.count() >= ENOUGH => "no latencies".to_owned(),
                None => format!("too few {name}s"),
            },
            value: value.map(|p99| p99 as f64),
            unit: "ns".to_owned(),
            note: format!("service time, {note}"),
            samples: Some(sum.count()),
            spark: spark.iter().map(|p99| p99.map(|p99| p99 as f64)).collect(),
            link: link.to_owned(),
        }
    }
}
