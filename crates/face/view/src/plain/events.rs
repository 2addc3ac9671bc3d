use run_store::run::{Run, StepEvent, TileMove};
use units::Nanos;

use super::html::{Cell, Page};

/// What happened to hosts, with what became of each tile and what the others felt; nothing where nothing
/// did.
pub fn events(page: &mut Page, run: &Run) {
    let all = || run.steps.iter().flat_map(|step| step.events.iter().map(move |own| (step, own)));
    if all().next().is_none() {
        return;
    }
    page.heading("Events");
    let key = |step: &run_store::run::Step| Cell::number(format!("{}, {}", step.step, step.repeat));
    let rows =
        all().map(|(step, event)| std::iter::once(key(step)).chain(of_event(event)).collect());
    let rows = rows.collect();
    let head = [
        "step, repeat",
        "event",
        "host",
        "began after",
        "noticed",
        "others' response times",
        "interval",
    ];
    let about = "Times are from the start of a step. How long I/Os and calls of tiles took that nothing \
                 happened to, from their intended start, against the same kinds before: 1 is as before.";
    page.table(about, &head, rows);
    let moves = all().flat_map(|(step, event)| {
        let named = move || [key(step), Cell::text(event.kind.name())];
        event.tiles.iter().map(move |own| named().into_iter().chain(of_tile(own)).collect())
    });
    let rows: Vec<Vec<Cell>> = moves.collect();
    if !rows.is_empty() {
        let head = ["step, repeat", "event", "tile", "from", "to", "stood still for", "machines"];
        let about = "A tile that moves goes on as it was, and what became due meanwhile is late by that \
                     time; one whose host was lost begins anew.";
        page.table(about, &head, rows);
    }
}

fn of_event(event: &StepEvent) -> Vec<Cell> {
    let others = event.survivors.as_ref();
    let times = match others.map(|own| &own.times) {
        Some(times) => times.value.map_or_else(
            || times.reason.clone().unwrap_or_default(),
            |times| format!("{times:.2}"),
        ),
        None => event.note.clone().unwrap_or_else(|| "there are none".to_owned()),
    };
    let interval = others.and_then(|own| own.low.value.zip(own.high.value));
    vec![
        Cell::text(event.kind.name()),
        Cell::text(event.host.as_deref().unwrap_or("")),
        Cell::number(Nanos(event.began_ns).to_string()),
        Cell::text(event.detection_ns.map_or_else(String::new, |detection| {
            format!("{} after its last sign of life", Nanos(detection))
        })),
        Cell::number(times),
        Cell::number(
            interval.map_or_else(String::new, |(low, high)| format!("{low:.2} to {high:.2}")),
        ),
    ]
}

fn of_tile(own: &TileMove) -> Vec<Cell> {
    let outage = own
        .outage_ns
        .map_or_else(|| "the rest of the step".to_owned(), |outage| Nanos(outage).to_string());
    vec![
        Cell::number((own.tile + 1).to_string()),
        Cell::text(&own.from),
        Cell::text(own.to.as_deref().unwrap_or("nobody")),
        Cell::number(outage),
        Cell::text(if own.begins_anew { "began anew" } else { "went on" }),
    ]
}
