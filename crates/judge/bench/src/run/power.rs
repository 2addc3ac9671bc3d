//! Power of a run: its meters, its idle power, and its answer per kilowatt.

use std::collections::BTreeSet;
use std::sync::Arc;

use meter::{MeterError, Panel, Span, monotonic};
use run_store::run::{
    Figure, MeterFacts, Origin, PerKilowatt, PowerPolicies, PowerPolicy, Run, Step, Verdict,
    Warning,
};
use spec::meter::Meter;
use units::Nanos;

use crate::error::BenchError;
use crate::plan::ResolvedPlan;
use crate::progress::{Control, Request};

/// Maximum duration of the measurement of idle power, which is also at most the duration of a step.
/// Our choice: as long as MLCommons power-dev waits before it begins (`ANALYZER_SLEEP_SECONDS`).
const IDLE: Nanos = Nanos::from_secs(10);

/// Minimum number of samples of idle power.
const IDLE_PERIODS: u64 = 4;

/// Opens the meters of a plan; `None` if it has none.
///
/// # Errors
///
/// A meter is missing, or belongs to a host that does not take part.
pub fn meters(plan: &ResolvedPlan) -> Result<Option<Arc<Panel>>, BenchError> {
    let specs = &plan.settings.meters;
    if specs.is_empty() {
        return Ok(None);
    }
    if plan.origin("meters") != Origin::Flag {
        refuse_foreign(specs)?;
    }
    Panel::check_hosts(specs, &plan.host_names())?;
    Ok(Some(Arc::new(Panel::open(specs)?)))
}

fn refuse_foreign(specs: &[Meter]) -> Result<(), MeterError> {
    let refused = |spec: &Meter| Some((spec.to_string(), spec.refused_in_plans()?));
    match specs.iter().find_map(refused) {
        Some((meter, what)) => Err(MeterError::Plan { meter, what }),
        None => Ok(()),
    }
}

/// State of a run's power measurement.
#[derive(Debug, Default)]
pub(super) struct RunPower {
    idle: Option<Span>,
    policies: Option<PowerPolicies>,
}

impl RunPower {
    /// Creates the state before the first step. Power policies are only read if wanted.
    pub fn begin(policies: bool) -> Self {
        let read = || PowerPolicies { before: bystanders::power_policies(), after: Vec::new() };
        Self { idle: None, policies: policies.then(read) }
    }

    /// Reads the policies again after the last step, and records changes in the run.
    pub fn end(&self, run: &mut Run) {
        let Some(policies) = &mut run.power_policies else { return };
        policies.after = bystanders::power_policies();
        run.warnings.extend(changed(policies));
    }

    /// Measures the idle power once.
    pub fn idle(&mut self, panel: &Panel, step: Nanos, control: &Control, rest: &dyn Fn(Nanos)) {
        if self.idle.is_some() {
            return;
        }
        let from = monotonic();
        let least = Nanos(panel.period().0.saturating_mul(IDLE_PERIODS));
        rest(IDLE.min(step).max(least));
        let to = monotonic();
        panel.settle(to, &|| control.request() == Request::GoOn);
        self.idle = Some(Span { from, to });
    }

    /// Adds meters and the score per kilowatt of the answer to a document. Without meters, modelled
    /// supplies are added instead.
    pub fn tell(&self, panel: Option<&Panel>, supplies: Vec<MeterFacts>, run: &mut Run) {
        run.power_policies.clone_from(&self.policies);
        run.meters = match panel {
            Some(panel) => panel.facts(self.idle),
            None => supplies,
        };
        if run.meters.is_empty() {
            return;
        }
        let held = run.answer.tiles_held;
        let steps: Vec<&Step> = run
            .steps
            .iter()
            .filter(|step| Some(step.tiles) == held && step.verdict == Verdict::Passed)
            .collect();
        run.answer.per_kilowatt = held_tiles(run.answer.score.value, &steps);
    }
}

/// Returns a warning if the power policies changed, because then the host did not behave the same
/// during the whole run.
fn changed(policies: &PowerPolicies) -> Option<Warning> {
    let value = |all: &[PowerPolicy], name: &str| {
        let own = all.iter().find(|own| own.name == name);
        own.map_or_else(|| "nothing".to_owned(), |own| own.value.clone())
    };
    let all = policies.before.iter().chain(&policies.after).map(|own| own.name.as_str());
    let names: BTreeSet<&str> = all.collect();
    let changes = names.into_iter().filter_map(|name| {
        let (before, after) = (value(&policies.before, name), value(&policies.after, name));
        (before != after).then(|| format!("{name} from {before} to {after}"))
    });
    let changes: Vec<String> = changes.collect();
    (!changes.is_empty()).then(|| Warning {
        id: "power-policy".to_owned(),
        text: format!("the machine's power policies changed while it ran: {}", changes.join("; ")),
        value: None,
        limit: None,
        hint: Some("do not change tuned and power profiles during a run".to_owned()),
    })
}

/// Closes the meters. Returns warnings for settings that could not be restored.
pub(super) fn close(panel: Option<&Panel>) -> Vec<Warning> {
    let told = panel.map(Panel::close).unwrap_or_default();
    let warning = |text| Warning {
        id: "meter".to_owned(),
        text,
        value: None,
        limit: None,
        hint: Some("check the ranges of the power analyser before the next use".to_owned()),
    };
    told.into_iter().map(warning).collect()
}

/// Returns the score of the answer per mean power of the held repeats, by category.
fn held_tiles(score: Option<f64>, steps: &[&Step]) -> Vec<PerKilowatt> {
    let powers: Vec<&[PerKilowatt]> = steps
        .iter()
        .filter_map(|step| Some(step.power.as_ref()?.per_kilowatt.as_slice()))
        .collect();
    let Some(first) = powers.first() else { return Vec::new() };
    (0..first.len())
        .map(|at| {
            let own: Vec<&PerKilowatt> = powers.iter().filter_map(|all| all.get(at)).collect();
            of_repeats(score, &own, steps.len())
        })
        .collect()
}

fn of_repeats(score: Option<f64>, repeats: &[&PerKilowatt], runs: usize) -> PerKilowatt {
    let category = repeats[0].category;
    let void = repeats.iter().find(|own| own.mean_watts.value.is_none());
    let mean = match void {
        Some(own) => own.mean_watts.clone(),
        None if repeats.len() < runs => Figure::absent("not every repeat was metered"),
        None => {
            let watts: f64 = repeats.iter().filter_map(|own| own.mean_watts.value).sum();
            #[expect(clippy::cast_precision_loss, reason = "a handful of repeats")]
            Figure::of(watts / repeats.len() as f64)
        }
    };
    let score_per_kilowatt = match (mean.value, score) {
        (None, _) => mean.clone(),
        (Some(_), None) => Figure::absent("there is no score"),
        (Some(watts), Some(_)) if watts <= 0.0 => Figure::absent("its meters show 0 W"),
        (Some(watts), Some(score)) => Figure::of(score / (watts / 1000.0)),
    };
    PerKilowatt { category, mean_watts: mean, score_per_kilowatt }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, value: &str) -> PowerPolicy {
        PowerPolicy { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_governor_that_changed_in_between_is_named() {
        let before = vec![policy("governor", "performance"), policy("turbo", "on")];
        let same = PowerPolicies { before: before.clone(), after: before.clone() };
        assert_eq!(changed(&same), None);
        let after = vec![policy("governor", "powersave")];
        let found = changed(&PowerPolicies { before, after }).expect("it changed");
        assert!(found.text.contains("governor from performance to powersave"), "{}", found.text);
        assert!(found.text.contains("turbo from on to nothing"), "{}", found.text);
    }
}
