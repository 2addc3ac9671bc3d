use run_store::run::Verdict;
use units::Nanos;

use whatif::{LimitGap, ModelError, Side, StepGap, Stopped, WhatIf};

/// Formats the answer of what-if as text.
pub fn what_if(answer: &WhatIf) -> String {
    let mut lines = vec![answer.sentence.clone()];
    lines.extend(answer.estate.clone());
    lines.push(String::new());
    let kind = if answer.run_simulated { "simulated" } else { "measured" };
    lines.push(format!("asked about: run {} ({kind}), tile {}", answer.run, answer.tile));
    lines.push(format!("  it said: {}", answer.run_said));
    lines.push(format!("  array: {}", answer.array));
    lines.push("predicted, not measured: everything else here is simulated".to_owned());
    lines.push(String::new());
    lines.push(side("as it is", &answer.base));
    lines.push(side("changed", &answer.changed));
    for (name, side) in [("as it is", &answer.base), ("changed", &answer.changed)] {
        if let Some(broken) = &side.breaks {
            lines.push(format!("  {name}, {}: {}", tiles(broken.tiles), broken.reason));
        }
        if let Some(part) = &side.bottleneck {
            lines.push(format!(
                "  {name}, {}: busiest {}, U {:.1} % = X {:.2} x D {:.2} %",
                tiles(part.tiles),
                part.part,
                part.utilisation * 100.0,
                part.work,
                part.demand * 100.0
            ));
        }
    }
    if let Some(error) = &answer.model_error {
        lines.push(String::new());
        lines.extend(model_error(error));
    }
    lines.push(String::new());
    lines.push("assumed:".to_owned());
    lines.extend(answer.assumptions.iter().map(|text| format!("  - {text}")));
    lines.join("\n") + "\n"
}

fn side(name: &str, side: &Side) -> String {
    let least = if side.at_least { ", or more" } else { "" };
    let edges: Vec<String> = side
        .edges
        .iter()
        .map(|edge| match edge.stopped {
            Stopped::Inconclusive => format!("{}?", edge.tiles),
            Stopped::TilesMax => format!("{}+", edge.tiles),
            Stopped::Limit | Stopped::Flat => edge.tiles.to_string(),
        })
        .collect();
    let interval = match side.edges.len() {
        1 if side.low == side.high => "one seed".to_owned(),
        _ => format!("interval {}", side.interval()),
    };
    format!("{name:<9} {:>4} tiles{least}, {interval}; by seed: {}", side.tiles, edges.join(" "))
}

fn model_error(error: &ModelError) -> Vec<String> {
    let mut lines = vec![format!("model error: {}", error.sentence)];
    for step in &error.steps {
        lines.push(step_gap(step));
        lines.extend(step.limits.iter().map(limit_gap));
    }
    if error.low_factor < 1.0 || error.high_factor > 1.0 {
        lines.push(format!(
            "  both intervals are widened by this error: low end x {:.2}, high end x {:.2}",
            error.low_factor, error.high_factor
        ));
    }
    lines
}

fn step_gap(step: &StepGap) -> String {
    let word = |verdict: Verdict| verdict.name();
    format!(
        "  {}: {:.0} I/Os per second measured ({}), {:.0} modelled ({}): {}",
        tiles(step.tiles),
        step.measured_operations_per_s,
        word(step.measured),
        step.modelled_operations_per_s,
        word(step.modelled),
        percent(step.modelled_operations_per_s, step.measured_operations_per_s)
    )
}

fn limit_gap(limit: &LimitGap) -> String {
    format!(
        "    {} {} {}: {} measured, {} modelled, limit {}",
        limit.workload,
        limit.name,
        limit.statistic,
        Nanos(limit.measured_ns),
        Nanos(limit.modelled_ns),
        Nanos(limit.limit_ns)
    )
}

fn percent(model: f64, measured: f64) -> String {
    if measured > 0.0 {
        units::print::change(model / measured - 1.0)
    } else {
        "no measurement to compare with".to_owned()
    }
}

fn tiles(number: u32) -> String {
    units::print::count(number.into(), "tile")
}
