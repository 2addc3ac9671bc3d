//! View `machine`: gauges of the host over time, and disturbed steps.

use std::collections::BTreeMap;

use run_store::gauge::{Folded, GaugeName, GaugePlace, GaugeUnit, ScopeKind};
use run_store::rollup::{GaugeOf, Span};
use units::print::{bytes_per_second, count, number, percent};

use crate::document::{DisturbedSpan, MachineGauge, MachinePage};
use crate::request::Lens;
use crate::scope::Scope;
use crate::source::Source;
use crate::words;

/// Returns the value up to which a gauge counts as near zero and is not drawn, in the gauge's own
/// unit. Our choice; it is below the value that makes a step disturbed (`host::disturbance`).
const fn near_zero(name: GaugeName) -> f64 {
    match name {
        GaugeName::IoOthers => 1e6,
        GaugeName::CpuSteal => 0.005,
        GaugeName::DeviceQueue => 0.1,
        GaugeName::Throttled => 0.0,
        _ => 0.02,
    }
}

/// Makes view `machine`: gauges of the host in the lens's time.
pub(crate) fn machine(source: &Source, lens: &Lens) -> MachinePage {
    let scope = Scope::course(source, lens);
    let points = scope.frame.points(lens.points as usize);
    let rollup = source.rollup();
    let mut lines: Vec<Line> =
        rollup.gauge_names().iter().map(|of| Line::new(of, points.len())).collect();
    for row in rollup.gauges() {
        let Some(bucket) = scope.frame.flat(row.span, row.bucket) else { continue };
        lines[row.gauge as usize].add(points.of[bucket], row.folded);
    }
    // The generator's own use is reported with each step, and a tier has a view of its own.
    let is_drawn = |line: &Line| line.name.place() == GaugePlace::Drawn;
    lines.retain(|line| is_drawn(line) && line.by_point.iter().any(Option::is_some));
    lines.sort_by_key(|line| line.name);
    keep_busiest_vms(&mut lines);
    name_scopes(&mut lines);
    let (busy, idle): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.most() > near_zero(line.name));
    let disturbed = disturbed(source, &scope);
    MachinePage {
        sentence: sentence(source, &busy, idle.is_empty(), &disturbed),
        at_ns: points.at_ns(),
        width_ns: points.width_ns(),
        idle: idle.iter().map(|line| line.title.clone()).collect(),
        gauges: busy.into_iter().map(Line::finish).collect(),
        disturbed,
    }
}

/// A gauge of one scope, by point.
struct Line {
    name: GaugeName,
    /// Title for people, unique among the lines.
    title: String,
    scope: String,
    by_point: Vec<Option<Folded>>,
}

impl Line {
    fn new(of: &GaugeOf, points: usize) -> Self {
        let title = match of.name.scope() {
            ScopeKind::Part => format!("{} of the model was busy", of.scope),
            ScopeKind::Vm => format!("{}: {}", of.scope, of.name.title()),
            _ => of.name.title().to_owned(),
        };
        Self { name: of.name, title, scope: of.scope.clone(), by_point: vec![None; points] }
    }

    fn add(&mut self, point: usize, later: Folded) {
        let own = &mut self.by_point[point];
        *own = Some(own.map_or(later, |own| own.and_then(self.name.merging(), later)));
    }

    fn most(&self) -> f64 {
        self.by_point.iter().flatten().map(|own| own.most).fold(0.0, f64::max)
    }

    /// Returns the value over all points.
    fn whole(&self) -> f64 {
        let all = self.by_point.iter().flatten().copied();
        let whole = all.reduce(|own, later| own.and_then(self.name.merging(), later));
        whole.map_or(0.0, |whole| whole.value)
    }

    fn finish(self) -> MachineGauge {
        let of = |pick: fn(&Folded) -> f64| {
            self.by_point.iter().map(|own| own.as_ref().map(pick)).collect()
        };
        MachineGauge {
            name: self.name.name().to_owned(),
            title: self.title,
            unit: match self.name.unit() {
                GaugeUnit::BytesPerSecond => "bytes_per_s",
                GaugeUnit::Share | GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => "share",
                GaugeUnit::Watts => "watts",
                _ => "count",
            }
            .to_owned(),
            mean: of(|own| own.value),
            max: of(|own| own.most),
            scope: self.scope,
        }
    }

    fn said(&self, value: f64) -> String {
        match self.name.unit() {
            GaugeUnit::BytesPerSecond => bytes_per_second(value),
            GaugeUnit::Share | GaugeUnit::ShareOfCpus | GaugeUnit::ShareOfTime => percent(value),
            GaugeUnit::Watts => format!("{} W", number(value)),
            _ => number((value * 10.0).round() / 10.0),
        }
    }
}

/// Maximum number of VMs with lines in a chart.
const VMS_MAX: usize = 6;

/// Keeps the lines of the VMs with the largest means, because a host may have hundreds of VMs.
fn keep_busiest_vms(lines: &mut Vec<Line>) {
    let is_vm = |line: &Line| line.name.scope() == ScopeKind::Vm;
    let mut means: BTreeMap<GaugeName, Vec<f64>> = BTreeMap::new();
    for line in lines.iter().filter(|line| is_vm(line)) {
        means.entry(line.name).or_default().push(line.whole());
    }
    means.values_mut().for_each(|means| means.sort_by(|left, right| right.total_cmp(left)));
    lines.retain(|line| {
        let least = means.get(&line.name).and_then(|means| means.get(VMS_MAX - 1));
        !is_vm(line) || least.is_none_or(|least| line.whole() >= *least)
    });
}

/// Adds the scope (a device or meter) to titles that several lines share.
fn name_scopes(lines: &mut [Line]) {
    let titles: Vec<String> = lines.iter().map(|line| line.title.clone()).collect();
    for line in lines {
        if titles.iter().filter(|title| **title == line.title).count() > 1 {
            line.title = format!("{} ({})", line.title, line.scope);
        }
    }
}

/// Returns the disturbed steps in the lens, on the axis.
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
    // Among gauges of one kind the busiest is named: `hdd-pool of the model was busy`.
    let first = busy.first().map(|line| line.name);
    let alike = busy.iter().filter(|line| Some(line.name) == first);
    let busiest = || alike.max_by(|a, b| a.whole().total_cmp(&b.whole()));
    let said = match (others.or_else(busiest), none) {
        (Some(line), _) => format!(
            "{}: {} on average, {} at most",
            // The name of a VM stays as it is.
            if line.name.scope() == ScopeKind::Vm {
                line.title.clone()
            } else {
                words::capital(&line.title)
            },
            line.said(line.whole()),
            line.said(line.most())
        ),
        (None, false) => "Nothing else was going on beside the load".to_owned(),
        (None, true) => return "What else the machine did was not recorded.".to_owned(),
    };
    match disturbed {
        // Recordings and watched hosts have no steps.
        [] if source.is_observed() => format!("{said}."),
        [] => format!("{said}; no step was disturbed."),
        all => format!("{said}; {} disturbed.", steps_were(all.len())),
    }
}

fn steps_were(number: usize) -> String {
    let verb = if number == 1 { "was" } else { "were" };
    format!("{} {verb}", count(number as u64, "step"))
}
