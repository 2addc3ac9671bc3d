//! Power of a step, from meters that are read during its load, or from modelled supplies.

use std::sync::Arc;

use meter::{Panel, Phase, Span};
use run_store::gauge::GaugeSource;
use run_store::run::{MeterEnergy, PerKilowatt, Step, StepPower, Warning};
use units::Nanos;

use crate::progress::{Control, Request};
use crate::score::{Metered, per_kilowatt};
use crate::window::Window;

/// Meters of a step, if there are any.
pub struct StepWatts(Option<Arc<Panel>>);

impl StepWatts {
    /// Starts with the warm-up. The meters are read together with the gauges of the step's slices.
    pub fn begin(power: Option<Arc<Panel>>, gauges: &mut Vec<Box<dyn GaugeSource>>) -> Self {
        if let Some(panel) = &power {
            gauges.extend(panel.sources());
            panel.phase(Phase::WarmUp);
        }
        Self(power)
    }

    /// Marks the start of the measurement.
    pub fn measured(&self) {
        if let Some(panel) = &self.0 {
            panel.phase(Phase::Measured);
        }
    }

    /// Returns the measurement window on the monotonic clock; `None` if there was none.
    pub fn span(began: Option<Nanos>, window: &Window) -> Option<Span> {
        let from = began?.saturating_add(window.start);
        let to = from.saturating_add(window.duration);
        (window.duration > Nanos::ZERO).then_some(Span { from, to })
    }

    /// Adds the energy of the measurement window to the step. Waits until every meter has a later
    /// sample.
    pub fn tell(self, step: &mut Step, span: Option<Span>, hosts: &[String], control: &Control) {
        let Some(panel) = self.0 else { return };
        if let Some(span) = span {
            panel.settle(span.to, &|| control.request() == Request::GoOn);
            let meters = panel.energy(span);
            let score = step.score.as_ref().and_then(|score| score.value());
            step.warnings.extend(meters.iter().filter_map(warning));
            let per_kilowatt = categories(score, &panel, &meters, hosts);
            step.power = Some(StepPower { meters, per_kilowatt });
        }
        panel.phase(Phase::Idle);
    }
}

/// Adds the energy of modelled supplies in the measurement window. Does nothing without supplies.
pub fn tell_modelled(step: &mut Step, meters: Vec<MeterEnergy>) {
    if meters.is_empty() || step.power.is_some() {
        return;
    }
    let score = step.score.as_ref().and_then(|score| score.value());
    let all: Vec<Metered<'_>> = meters
        .iter()
        .map(|own| Metered { name: &own.meter, scope: own.scope, of: &[], watts: &own.mean_watts })
        .collect();
    // All hosts of an array's file have the same supply, so none is missing.
    let per_kilowatt = per_kilowatt(score, &all, &[]);
    step.power = Some(StepPower { meters, per_kilowatt });
}

fn categories(
    score: Option<f64>,
    panel: &Panel,
    meters: &[MeterEnergy],
    hosts: &[String],
) -> Vec<PerKilowatt> {
    let facts = panel.facts(None);
    let metered: Vec<Metered<'_>> = meters
        .iter()
        .zip(&facts)
        .map(|(own, facts)| Metered {
            name: &own.meter,
            scope: own.scope,
            of: &facts.of,
            watts: &own.mean_watts,
        })
        .collect();
    per_kilowatt(score, &metered, hosts)
}

/// Returns a warning if a meter has no valid energy.
fn warning(meter: &MeterEnergy) -> Option<Warning> {
    let why = meter.joules.reason.as_deref()?;
    let others: Vec<&str> =
        meter.faults.iter().map(String::as_str).filter(|fault| *fault != why).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" ({})", others.join("; ")),
    };
    Some(Warning {
        id: "meter".to_owned(),
        text: format!(
            "the meter {} has no usable energy for this step: {why}{others}",
            meter.meter
        ),
        value: None,
        limit: None,
        hint: Some("tilemark meter test SPEC reads ten samples of it".to_owned()),
    })
}
