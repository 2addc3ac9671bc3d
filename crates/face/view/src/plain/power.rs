use run_store::run::{Figure, MeterFacts, PowerCategory, Run};
use units::Nanos;
use units::print::number;

use super::html::{Cell, Page, escape};

/// Watts: what each meter is, what it showed in each step, and the score by it. Nothing without one.
pub fn power(page: &mut Page, run: &Run) {
    if run.meters.is_empty() {
        return;
    }
    page.heading("Watts");
    for own in &run.answer.per_kilowatt {
        if own.category != PowerCategory::PerformanceOnly {
            let (words, text) = (own.category.words(), escape(&own.text()));
            page.paragraph(&format!("Held tiles, {words}: {text}."));
        }
    }
    let head =
        ["meter", "scope", "what it is", "method", "every", "resolution", "uncertainty", "idle"];
    page.table("Meters.", &head, run.meters.iter().map(meter).collect());
    let head = [
        "step, repeat",
        "tiles",
        "meter",
        "mean",
        "most",
        "energy",
        "by",
        "samples",
        "longest gap",
        "faults",
    ];
    page.table("Energy of the measured time.", &head, energies(run));
}

fn meter(own: &MeterFacts) -> Vec<Cell> {
    let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
    let what: Vec<&str> =
        std::iter::once(own.model.as_str()).chain(own.notes.iter().map(String::as_str)).collect();
    vec![
        Cell::text(&own.name),
        Cell::text(own.scope.name()),
        Cell::text(what.join("; ")),
        Cell::text(own.method.name()),
        Cell::number(Nanos(own.period_ns).to_string()),
        Cell::number(known(own.resolution_watts.map(|watts| format!("{watts} W")))),
        Cell::number(known(own.uncertainty.map(|share| format!("{:.2} %", share * 100.0)))),
        Cell::number(figure(&own.idle_watts, "W")),
    ]
}

fn energies(run: &Run) -> Vec<Vec<Cell>> {
    let steps = run.steps.iter().filter_map(|step| Some((step, step.power.as_ref()?)));
    let all = steps.flat_map(|(step, power)| power.meters.iter().map(move |own| (step, own)));
    let row = |(step, own): (&run_store::run::Step, &run_store::run::MeterEnergy)| {
        vec![
            Cell::number(format!("{}, {}", step.step, step.repeat)),
            Cell::number(step.tiles.to_string()),
            Cell::text(&own.meter),
            Cell::number(figure(&own.mean_watts, "W")),
            Cell::number(
                own.most_watts.map_or_else(|| "none".to_owned(), |w| format!("{} W", number(w))),
            ),
            Cell::number(figure(&own.joules, "J")),
            Cell::text(own.by.map_or("none", |by| by.name())),
            Cell::number(own.samples.to_string()),
            Cell::number(Nanos(own.gap_max_ns).to_string()),
            Cell::text(own.faults.join("; ")),
        ]
    };
    all.map(row).collect()
}

fn figure(figure: &Figure, unit: &str) -> String {
    match figure.value {
        Some(value) => format!("{} {unit}", number(value)),
        None => figure.reason.clone().unwrap_or_else(|| "none".to_owned()),
    }
}
