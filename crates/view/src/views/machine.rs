//! What else the machine did: gauges over time, and the steps in which others were in the way.

use record::gauge::{Gauge, GaugeName, GaugeUnit};
use record::rollup::Span;
use record::series::GaugeRecord;
use units::Nanos;
use units::print::{bytes_per_second, count, number, percent};

use crate::document::{DisturbedSpan, MachineGauge, MachinePage};
use crate::request::Lens;
use crate::scope::{Points, Scope};
use crate::source::Source;
use crate::words;

/// What is shown: others' work, and how busy the device is. What the generator itself uses is told
/// with each step.
const SHOWN: [GaugeName; 6] = [
    GaugeName::CpuOthers,
    GaugeName::CpuSteal,
    GaugeName::IoOthers,
    GaugeName::DeviceBusy,
    GaugeName::DeviceQueue,
    GaugeName::Throttled,
];

/// At or below this a gauge is near zero, in its own unit: what is not drawn. Our choice, below
/// what makes a step disturbed (`host::disturbance`).
const fn near_zero(name: GaugeName) -> f64 {
    match name {
        GaugeName::IoOthers => 1e6,
        GaugeName::CpuSteal => 0.005,
        GaugeName::DeviceQueue => 0.1,
        GaugeName::Throttled => 0.0,
        _ => 0.02,
    }
}

/// What the machine did in the lens's time.
pub(crate) fn machine(source: &Source, lens: &Lens) -> MachinePage {
    let scope = Scope::course(source, lens);
    let points = scope.frame.points(lens.points as usize);
    let mut lines: Vec<Line> = Vec::new();
    for record in source.gauges().iter().filter(|record| SHOWN.contains(&record.gauge.name)) {
        let Some(point) = point_of(&scope, &points, record) else { continue };
        let same = |line: &Line| line.is_of(&record.gauge);
        let place = lines.iter().position(same).unwrap_or_else(|| {
            lines.push(Line::new(&record.gauge, points.len()));
            lines.len() - 1
        });
        lines[place].add(point, record.width, record.gauge.value);
    }
    lines.sort_by_key(|line| SHOWN.iter().position(|name| *name == line.name));
    let (busy, idle): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.most() > near_zero(line.name));
    let disturbed = disturbed(source, &scope);
    MachinePage {
        sentence: sentence(source, &busy, idle.is_empty(), &disturbed),
        at_ns: points.at_ns(),
        width_ns: points.width_ns(),
        idle: idle.iter().map(|line| line.name.title().to_owned()).collect(),
        gauges: busy.into_iter().map(Line::finish).collect(),
        disturbed,
    }
}

/// The point in which a gauge's slice begins, if it is in the lens.
fn point_of(scope: &Scope<'_>, points: &Points, record: &GaugeRecord) -> Option<usize> {
    let key = record.key;
    let at = |span: &Span| span.zero.saturating_add(record.start);
    let is_own = |span: &Span| {
        (span.step, span.repeat, span.phase) == (key.step, key.repeat, key.phase)
            && (span.from..span.to).contains(&at(span))
    };
    let spans = scope.source.rollup().spans();
    let number = spans.iter().position(is_own)?;
    let bucket = scope.frame.holding(u32::try_from(number).ok()?, at(&spans[number]))?;
    points.of.get(bucket).copied()
}

/// One gauge of one scope, by point.
struct Line {
    name: GaugeName,
    scope: String,
    /// Value times seconds, and seconds.
    sums: Vec<(f64, f64)>,
    max: Vec<Option<f64>>,
}

impl Line {
    fn new(gauge: &Gauge, points: usize) -> Self {
        let scope = gauge.scope.clone();
        Self { name: gauge.name, scope, sums: vec![(0.0, 0.0); points], max: vec![None; points] }
    }

    fn is_of(&self, gauge: &Gauge) -> bool {
        self.name == gauge.name && self.scope == gauge.scope
    }

    fn add(&mut self, point: usize, width: Nanos, value: f64) {
        let seconds = width.as_secs_f64().max(f64::MIN_POSITIVE);
        self.sums[point].0 += value * seconds;
        self.sums[point].1 += seconds;
        self.max[point] = Some(self.max[point].map_or(value, |most| most.max(value)));
    }

    fn most(&self) -> f64 {
        self.max.iter().flatten().copied().fold(0.0, f64::max)
    }

    fn mean(&self) -> f64 {
        let (sum, time) = self.sums.iter().fold((0.0, 0.0), |(s, t), own| (s + own.0, t + own.1));
        if time > 0.0 { sum / time } else { 0.0 }
    }

    fn finish(self) -> MachineGauge {
        let mean = self.sums.iter().map(|(sum, time)| (*time > 0.0).then(|| sum / time));
        MachineGauge {
            name: self.name.name().to_owned(),
            title: self.name.title().to_owned(),
            unit: match self.name.unit() {
                GaugeUnit::BytesPerSecond => "bytes_per_s",
                GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => "share",
                GaugeUnit::Ios | GaugeUnit::Seconds | GaugeUnit::Events => "count",
            }
            .to_owned(),
            mean: mean.collect(),
            scope: self.scope,
            max: self.max,
        }
    }

    fn said(&self, value: f64) -> String {
        match self.name.unit() {
            GaugeUnit::BytesPerSecond => bytes_per_second(value),
            GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => percent(value),
            GaugeUnit::Ios | GaugeUnit::Seconds | GaugeUnit::Events => {
                number((value * 10.0).round() / 10.0)
            }
        }
    }
}

/// Steps in the lens in which others were in the way, on the axis.
fn disturbed(source: &Source, scope: &Scope<'_>) -> Vec<DisturbedSpan> {
    let spans = source.rollup().spans();
    let ran: Vec<&Span> = scope.frame.parts().map(|(span, ..)| &spans[span as usize]).collect();
    let steps = source.steps().iter().filter(|step| !step.disturbances.is_empty());
    steps
        .filter_map(|step| {
            let own = |span: &&&Span| (span.step, span.repeat) == (step.step, step.repeat);
            let from_ns = ran.iter().filter(own).map(|span| span.from.0).min()?;
            let to_ns = ran.iter().filter(own).map(|span| span.to.0).max()?;
            let text: Vec<String> = step.disturbances.iter().map(ToString::to_string).collect();
            let (step, repeat) = (step.step, step.repeat);
            Some(DisturbedSpan { step, repeat, from_ns, to_ns, text: text.join("; ") })
        })
        .collect()
}

fn sentence(source: &Source, busy: &[Line], none: bool, disturbed: &[DisturbedSpan]) -> String {
    let others = busy.iter().find(|line| line.name == GaugeName::CpuOthers);
    let said = match (others.or(busy.first()), none) {
        (Some(line), _) => format!(
            "{}: {} on average, {} at most",
            words::capital(line.name.title()),
            line.said(line.mean()),
            line.said(line.most())
        ),
        (None, false) => "Nothing else was going on beside the load".to_owned(),
        (None, true) if source.is_running() => {
            return "What else the machine does is shown when the run has ended.".to_owned();
        }
        (None, true) => return "What else the machine did was not recorded.".to_owned(),
    };
    match disturbed {
        [] => format!("{said}; no step was disturbed."),
        all => format!("{said}; {} disturbed.", steps_were(all.len())),
    }
}

fn steps_were(number: usize) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", count(number as u64, "step"))
}
