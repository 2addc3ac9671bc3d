use run_store::run::{Expected, Figure, PowerCategory, Run};

use super::html::{Cell, Page, escape};
use crate::document::Fact;
use crate::parts::{Role, parts};

pub fn answer(page: &mut Page, run: &Run) {
    let parts = parts(run);
    let text = |wanted| parts.iter().find(|(role, _)| *role == wanted).map(|(_, text)| text);
    let answers = [text(Role::Plan), text(Role::Answer), text(Role::Estate)];
    let mut answers = answers.into_iter().flatten();
    if let Some(first) = answers.next() {
        page.title(&capital(first));
    }
    answers.for_each(|text| page.paragraph(&escape(&capital(text))));
    let target = match run.target.is_simulated() {
        true => format!("{} (a model; nothing was measured)", run.target.summary),
        false => format!("{}, {}", run.target.datastore, run.target.summary),
    };
    let ended = run.ended.map_or_else(|| "not ended".to_owned(), |ended| ended.to_string());
    page.paragraph(&format!(
        "<span class=\"soft\">Run {}, {} to {}. Tile {} on {}. {}.</span>",
        escape(&run.id),
        escape(&run.started.to_string()),
        escape(&ended),
        escape(&run.tile.name),
        escape(&target),
        escape(&run.progress()),
    ));
    let score = text(Role::Score).map_or_else(
        || format!("No score: {}.", escape(&reason(&run.answer.score))),
        |text| format!("Score {}.", escape(text)),
    );
    page.paragraph(&score);
    if let Some(text) = text(Role::Operations) {
        page.paragraph(&format!("Operations {}.", escape(text)));
    }
    for own in &run.answer.per_kilowatt {
        if own.category != PowerCategory::PerformanceOnly {
            let (words, text) = (own.category.words(), escape(&own.text()));
            page.paragraph(&format!("Held tiles, {words}: {text}."));
        }
    }
}

/// Adds the expectations, if there are any.
pub fn expectations(page: &mut Page, run: &Run) {
    if run.expectations.is_empty() {
        return;
    }
    page.heading("Expectations");
    let row = |own: &Expected| {
        let found = capital(&own.reason);
        vec![Cell::text(own.text.clone()), Cell::text(own.outcome()), Cell::text(found)]
    };
    let rows = run.expectations.iter().map(row).collect();
    page.table("Expectations have no effect on the run.", &["expected", "", "found"], rows);
}

pub fn warnings(page: &mut Page, run: &Run) {
    page.heading("Warnings");
    let all = crate::warnings(run);
    if all.is_empty() {
        return page.paragraph("None.");
    }
    let rows = all.into_iter().map(|own| {
        vec![
            Cell::text(if own.place.is_empty() { "run".to_owned() } else { own.place }),
            Cell::text(own.id),
            Cell::text(capital(&own.text)),
            Cell::text(own.found),
            Cell::text(own.allowed),
            Cell::text(own.hint.unwrap_or_default()),
        ]
    });
    let head = ["where", "identifier", "what", "value", "limit", "what to try"];
    page.table("What a reader should know before trusting the numbers.", &head, rows.collect());
}

pub fn facts(page: &mut Page, run: &Run) {
    page.heading("What was run");
    let row = |fact: Fact| vec![Cell::text(fact.name), Cell::text(fact.value)];
    let rows = crate::facts::facts(run).into_iter().map(row).collect();
    page.table("Needed to repeat it.", &["what", "value"], rows);
}

fn reason(figure: &Figure) -> String {
    figure.reason.clone().unwrap_or_else(|| "absent".to_owned())
}

fn capital(text: &str) -> String {
    crate::words::capital(text)
}
