//! Summary in Markdown that GitHub and GitLab show beside a job.

use std::fmt::Write as _;

use run_store::run::{Run, Verdict};
use units::Nanos;
use units::print::count;

use crate::{Role, parts};

/// Converts a run to one page of Markdown.
pub fn markdown(run: &Run) -> String {
    let mut text = format!("## Tilemark: {}\n\n", cell(&run.tile.name));
    answer(&mut text, run);
    if run.target.is_simulated() {
        text += "Simulated: nothing was measured on real storage.\n\n";
    }
    if let Some(disturbed) = crate::disturbed(&run.steps) {
        let _ = writeln!(text, "{}\n", cell(&disturbed));
    }
    expectations(&mut text, run);
    limits(&mut text, run);
    steps(&mut text, run);
    for warning in &run.warnings {
        let _ = writeln!(text, "- warning: {} (`{}`)", cell(&warning.text), cell(&warning.id));
    }
    if !run.warnings.is_empty() {
        text.push('\n');
    }
    let commit = run.tool.commit.as_deref().unwrap_or("commit unknown");
    let _ = writeln!(
        text,
        "Run `{}` on `{}`, seed {}, tilemark {} ({commit}).",
        run.id,
        cell(&run.target.datastore),
        run.seed,
        run.tool.version
    );
    text
}

/// Writes the sentences of the answer, then the details as a list. Expectations are a table.
fn answer(text: &mut String, run: &Run) {
    let parts = parts(run).into_iter().filter(|(role, _)| *role != Role::Expected);
    let (answers, found): (Vec<_>, Vec<_>) = parts.partition(|(role, _)| role.label().is_empty());
    for (role, sentence) in answers {
        let bold = if role == Role::Plan { "**" } else { "" };
        let _ = writeln!(text, "{bold}{}{bold}\n", cell(&sentence));
    }
    for (role, sentence) in &found {
        let _ = writeln!(text, "- {}: {}", role.label(), cell(sentence));
    }
    if !found.is_empty() {
        text.push('\n');
    }
}

fn expectations(text: &mut String, run: &Run) {
    if run.expectations.is_empty() {
        return;
    }
    *text += "| expected | | found |\n|---|---|---|\n";
    for own in &run.expectations {
        let word = own.outcome();
        let word = if own.verdict == Verdict::Failed { format!("**{word}**") } else { word.into() };
        let _ = writeln!(text, "| `{}` | {word} | {} |", code(&own.text), cell(&own.reason));
    }
    text.push('\n');
}

fn limits(text: &mut String, run: &Run) {
    let limits = super::limits(run);
    let Some(first) = limits.first() else { return };
    let _ = writeln!(text, "With {}:\n", count(first.step.tiles.into(), "tile"));
    *text += "| limit | | found | allowed |\n|---|---|---|---|\n";
    for own in limits {
        let limit = &own.pooled.result;
        let found = limit.measured_ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string());
        let _ = writeln!(
            text,
            "| {} | {} | {found} | {} |",
            cell(&own.pooled.name()),
            own.verdict().name(),
            Nanos(limit.limit_ns)
        );
    }
    text.push('\n');
}

fn steps(text: &mut String, run: &Run) {
    *text += "| tiles | repeat | verdict | I/Os a second | score |\n|--:|--:|---|--:|--:|\n";
    for step in &run.steps {
        let score = step.score.as_ref().and_then(|score| score.value());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {:.0} | {} |",
            step.tiles,
            step.repeat,
            step.verdict.name(),
            step.throughput.operations_per_s,
            score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"))
        );
    }
    text.push('\n');
}

/// Escapes text between backticks, where only the end of a table cell has a special meaning.
fn code(text: &str) -> String {
    cell(text).replace('\\', "").replace('`', "'").replace('|', "\\|")
}

/// Escapes text so that it neither ends a table cell nor begins markup.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '<' | '>' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
