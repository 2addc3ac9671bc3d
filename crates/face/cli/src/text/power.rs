//! Text on the power of a run.

use run_store::run::{MeterFacts, PowerCategory, Run, Step};

use super::{Table, number};

/// Formats the answer per kilowatt, and each meter; empty without a meter.
pub fn power(run: &Run) -> Vec<String> {
    let told = run.answer.per_kilowatt.iter();
    let told = told.filter(|own| own.category != PowerCategory::PerformanceOnly);
    let told = told.map(|own| format!("power      {}: {}", own.category.words(), own.text()));
    let meters = run.meters.iter().map(meter);
    told.chain(meters).collect()
}

fn meter(meter: &MeterFacts) -> String {
    let idle = match (meter.idle_watts.value, &meter.idle_watts.reason) {
        (Some(watts), _) => format!("idle {watts:.1} W"),
        (None, why) => format!("idle power unknown: {}", why.as_deref().unwrap_or_default()),
    };
    let notes: String = meter.notes.iter().map(|note| format!("; {note}")).collect();
    format!(
        "meter      {} ({}, {}): {idle}; {}{notes}",
        meter.name,
        meter.scope.name(),
        meter.method.name(),
        meter.model
    )
}

/// Formats the readings of each meter in each step.
pub fn power_of_steps(steps: &[Step]) -> Vec<String> {
    let columns =
        ["meter", ">tiles", ">repeat", ">mean W", ">most W", ">J", "by", ">samples", "why not"];
    let mut table = Table::new(&columns);
    for step in steps {
        for own in step.power.iter().flat_map(|power| &power.meters) {
            let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
            table.row(vec![
                own.meter.clone(),
                step.tiles.to_string(),
                step.repeat.to_string(),
                figure(own.mean_watts.value),
                figure(own.most_watts),
                figure(own.joules.value),
                own.by.map_or("-", |by| by.name()).to_owned(),
                own.samples.to_string(),
                own.joules.reason.clone().unwrap_or_default(),
            ]);
        }
    }
    if table.is_empty() { Vec::new() } else { table.lines() }
}
