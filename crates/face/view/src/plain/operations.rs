use run_store::run::{Figure, Run, Step, WorkloadResult};
use units::print::{number, percent, whole};

use super::html::{Cell, Page, escape};
use crate::words::capital;

/// Infrastructure operations: how often each was done, and what they cost the tiles. Nothing where none
/// ran.
pub fn operations(page: &mut Page, run: &Run) {
    let costs: Vec<Vec<Cell>> = run.steps.iter().filter_map(cost).collect();
    if costs.is_empty() {
        return;
    }
    page.heading("Infrastructure operations");
    if let Some(text) = run.operations_text() {
        page.paragraph(&format!("{}.", escape(&capital(&text))));
    }
    let head = ["step, repeat", "tiles", "operation", "rate", "of its reference", "done", "failed"];
    let done = run.steps.iter().flat_map(|step| of_no_tile(step).map(move |own| done(step, own)));
    page.table("How often each was done; 1 if storage took no time.", &head, done.collect());
    let head = [
        "step, repeat",
        "tiles",
        "score of applications",
        "of operations",
        "whole score",
        "operations, of the time",
        "the tiles' actions then took",
        "interval",
        "samples",
    ];
    page.table(
        "What they cost the tiles: mean response times of actions in slices in which an operation did I/O, \
         against the same actions in the other slices; 1 is equal.",
        &head,
        costs,
    );
}

/// Results of what belongs to no tile.
fn of_no_tile(step: &Step) -> impl Iterator<Item = &WorkloadResult> {
    step.workloads.iter().filter(|own| own.tile.is_none())
}

fn place(step: &Step) -> [Cell; 2] {
    let step_and_repeat = format!("{}, {}", step.step, step.repeat);
    [Cell::number(step_and_repeat), Cell::number(step.tiles.to_string())]
}

fn done(step: &Step, own: &WorkloadResult) -> Vec<Cell> {
    let metric = &own.metric;
    let whole_action = own.actions.first();
    let mut row = Vec::from(place(step));
    row.extend([
        Cell::text(&own.workload),
        Cell::number(figure(&metric.value, &format!(" {}", metric.unit))),
        Cell::number(metric.normalised.value.map_or_else(String::new, percent)),
        Cell::number(whole_action.map_or_else(String::new, |own| whole(own.count))),
        Cell::number(whole_action.map_or_else(String::new, |own| whole(own.errors))),
    ]);
    row
}

fn cost(step: &Step) -> Option<Vec<Cell>> {
    let under = step.under_operations.as_ref()?;
    let against = &under.against_rest;
    let interval = against.low.value.zip(against.high.value);
    let score = step.score.as_ref();
    let part = |of: fn(&run_store::run::Score) -> &Figure| {
        Cell::number(score.map_or_else(|| "none".to_owned(), |own| figure(of(own), "")))
    };
    let mut row = Vec::from(place(step));
    row.extend([
        part(|own| &own.applications),
        part(|own| &own.infrastructure),
        part(|own| &own.total),
        Cell::number(percent(under.share_of_time)),
        Cell::number(figure(&against.times, " times as long")),
        Cell::number(
            interval.map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}")),
        ),
        Cell::number(whole(against.samples)),
    ]);
    Some(row)
}

fn figure(figure: &Figure, unit: &str) -> String {
    match figure.value {
        Some(value) => format!("{}{unit}", number(value)),
        None => figure.reason.clone().unwrap_or_else(|| "none".to_owned()),
    }
}
