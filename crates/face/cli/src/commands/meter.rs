//! `meter test`: reads meters and prints the energy they give.

use std::time::{Duration, Instant};

use meter::{Panel, Span};
use run_store::run::{Figure, MeterEnergy, MeterFacts};
use serde::Serialize;

use crate::args::{Format, MeterAction, MeterArgs, MeterTestArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::Table;

/// Number of samples to read.
const SAMPLES: u64 = 10;

/// Longest wait for the samples, in sampling periods.
const PERIODS_MAX: u32 = 15;

/// Runs the subcommand.
pub fn meter(args: &MeterArgs) -> Result<Exit, Failure> {
    match &args.action {
        MeterAction::Test(args) => test(args),
    }
}

/// Result of one meter.
#[derive(Debug, Serialize)]
struct Tested {
    meter: MeterFacts,
    energy: MeterEnergy,
}

fn test(args: &MeterTestArgs) -> Result<Exit, Failure> {
    // The error's own hint names this command, so it is left out.
    let failed = |error: meter::MeterError| Failure::from_error(Exit::Refused, &error);
    let panel = Panel::open(&args.meters).map_err(failed)?;
    let span = read(&panel);
    let energies = panel.energy(span);
    let tested: Vec<Tested> = panel
        .facts(None)
        .into_iter()
        .zip(energies)
        .map(|(meter, energy)| Tested { meter, energy })
        .collect();
    match args.format {
        Format::Json => output::print_json(&tested)?,
        Format::Text => output::show(&text(&tested))?,
    }
    panel.close().iter().for_each(|text| crate::say!("{text}"));
    let counts = tested.iter().all(|own| own.energy.joules.value.is_some());
    Ok(if counts { Exit::Success } else { Exit::Inconclusive })
}

/// Reads samples and returns their time span. It begins when every meter has a sample, and ends
/// when every meter has ten.
fn read(panel: &Panel) -> Span {
    let first = panel.shown();
    let from = first.iter().filter_map(|own| own.last.map(|last| last.at)).max();
    let until = Instant::now() + panel.period().to_duration() * PERIODS_MAX;
    let is_enough = || {
        let now = panel.shown();
        now.iter().zip(&first).all(|(own, first)| own.taken >= first.taken + SAMPLES - 1)
    };
    while !is_enough() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let shown = panel.shown();
    let last = shown.iter().filter_map(|own| own.last.map(|last| last.at)).min();
    let now = meter::monotonic();
    Span { from: from.unwrap_or(now), to: last.unwrap_or(now) }
}

fn text(tested: &[Tested]) -> String {
    let mut table =
        Table::new(&["meter", "scope", "method", ">samples", ">mean W", ">most W", ">J", "by"]);
    let figure =
        |figure: &Figure| figure.value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    for Tested { meter, energy } in tested {
        table.row(vec![
            meter.name.clone(),
            meter.scope.name().to_owned(),
            meter.method.name().to_owned(),
            energy.samples.to_string(),
            figure(&energy.mean_watts),
            energy.most_watts.map_or_else(|| "-".to_owned(), |most| format!("{most:.1}")),
            figure(&energy.joules),
            energy.by.map_or("-", |by| by.name()).to_owned(),
        ]);
    }
    let mut lines = table.lines();
    for Tested { meter, energy } in tested {
        lines.push(format!("{}: {}", meter.name, about(meter)));
        lines.extend(meter.notes.iter().map(|note| format!("  {note}")));
        let why =
            energy.joules.reason.iter().map(|why| format!("  would measure no energy: {why}"));
        lines.extend(why);
        lines.extend(energy.faults.iter().map(|fault| format!("  meanwhile {fault}")));
        lines.push(format!("  would measure for: {}", counts_for(meter)));
    }
    lines.join("\n") + "\n"
}

fn about(meter: &MeterFacts) -> String {
    let unknown = || "unknown".to_owned();
    let resolution = meter.resolution_watts.map_or_else(unknown, |watts| format!("{watts} W"));
    let uncertain =
        meter.uncertainty.map_or_else(unknown, |share| format!("{:.2} %", share * 100.0));
    format!(
        "{}; a sample every {}, resolution {resolution}, uncertainty {uncertain}",
        meter.model,
        units::Nanos(meter.period_ns)
    )
}

fn counts_for(meter: &MeterFacts) -> &'static str {
    use run_store::run::MeterScope::{Host, Processor, Rack, Storage};
    match meter.scope {
        Host => "server power; server and storage power, with a meter of the storage beside it",
        Storage => "server and storage power, with meters of all servers beside it",
        Rack => "server and storage power",
        Processor => "no score per kilowatt: a meter of processors does not cover a whole server",
    }
}
