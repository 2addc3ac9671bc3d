use std::path::Path;

use run_store::run::{Answer, PooledLimit, Run, Score, Step};

use crate::stored_runs;

use super::step::{calls_per_s, tightest};
use super::summary::{disturbed_line, prefill_line, step_to_show, told_line};
use super::{Table, count, events, hosts, number, power};

/// Width of the text in columns. Every terminal has as many.
const WIDTH: usize = 80;
/// Column in which the text after a label begins.
const INDENT: usize = 11;
/// Maximum number of steps in the list; the steps nearest to the edge are shown.
const STEPS: usize = 8;
/// Maximum number of warnings in the text.
const WARNINGS: usize = 3;

/// Formats the result of a run for one screen of 80 columns; `super::summary` has the complete
/// result.
pub fn brief(run: &Run, directory: Option<&Path>) -> String {
    let target = &run.target;
    let label = if target.is_simulated() { "array" } else { "datastore" };
    let scale = run.estimate_text().unwrap_or_else(|| format!("{}, full size", run.profile));
    let mut lines = labelled("run", &run.id);
    lines.extend(labelled(label, &format!("{}  {}", target.datastore, target.summary)));
    let vms = count(u64::from(run.tile.vms), "VM");
    lines
        .extend(labelled("tile", &format!("{}: {vms}; {scale}; seed {}", run.tile.name, run.seed)));
    if target.is_simulated() {
        lines.extend(labelled("load", "simulated: nothing was measured on real storage"));
    }
    if let Some(prefill) = &run.prefill {
        lines.extend(wrapped(&prefill_line(prefill)));
    }
    lines.push(String::new());
    lines.extend(ladder(run));
    let hosts = step_to_show(run).map(hosts).unwrap_or_default();
    if !hosts.is_empty() {
        lines.push(String::new());
        lines.extend(hosts);
    }
    let events = step_to_show(run).map(events).unwrap_or_default();
    if !events.is_empty() {
        lines.push(String::new());
        lines.extend(events);
    }
    let warnings = warnings(run);
    if !warnings.is_empty() {
        lines.push(String::new());
        lines.extend(warnings);
    }
    lines.push(String::new());
    lines.extend(power(run).iter().flat_map(|line| wrapped(line)));
    let (details, answers): (Vec<_>, Vec<_>) =
        view::parts(run).into_iter().partition(|(role, _)| role.is_detail());
    let part = |(role, text): &(view::Role, String)| match role.label() {
        "" => filled(text, "", 0),
        label => labelled(label, text),
    };
    lines.extend(details.iter().flat_map(part));
    if let Some(directory) = directory {
        lines.push(format!("results    {}", directory.display()));
        lines.push("           every step, limit and response time:".to_owned());
        lines.push(format!("           {}", show_command(run, directory)));
    }
    // The answer comes last, where the reader looks after the run.
    lines.push(String::new());
    lines.extend(answers.iter().flat_map(part));
    lines.join("\n") + "\n"
}

/// Returns the command that shows all of a stored run, from the working directory.
fn show_command(run: &Run, directory: &Path) -> String {
    let base = stored_runs::base(std::env::var_os("TILEMARK_RUNS").as_deref().map(Path::new)).ok();
    if base.as_deref() == directory.parent() {
        return format!("tilemark runs show {} --verbose", run.id);
    }
    let path = directory.display().to_string();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    let word = match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    };
    format!("tilemark runs show {word} --verbose")
}

/// Formats a label and its text, in lines of at most [`WIDTH`].
fn labelled(label: &str, words: &str) -> Vec<String> {
    filled(words, &format!("{label:<INDENT$}"), INDENT)
}

/// Wraps a line with a label to lines of at most [`WIDTH`]; a deeper indent is kept.
fn wrapped(line: &str) -> Vec<String> {
    let (label, words) = line.split_at_checked(INDENT).unwrap_or(("", line));
    filled(words, label, INDENT)
}

/// Wraps words at spaces.
fn filled(words: &str, first: &str, indent: usize) -> Vec<String> {
    units::fit::filled(&format!("{first}{words}"), width(), indent)
}

/// Returns the columns of the result: [`WIDTH`], or fewer on a narrower terminal.
fn width() -> usize {
    units::fit::columns().min(WIDTH)
}

/// Formats a table of the steps nearest to the edge, in the order in which they ran.
fn ladder(run: &Run) -> Vec<String> {
    let edge = edge(&run.answer);
    let mut shown: Vec<&Step> = run.steps.iter().collect();
    shown.sort_by_key(|step| (step.tiles.abs_diff(edge), std::cmp::Reverse(step.order)));
    shown.truncate(STEPS);
    shown.sort_by_key(|step| step.order);
    let mut columns = vec![">tiles", "verdict", ">IOPS", ">score", ">of limit", "closest limit"];
    // Few runs have calls. A run with calls alone has no IOPS to show.
    let has_calls = shown.iter().any(|step| !step.calls.is_empty());
    if has_calls {
        columns.insert(3, ">calls/s");
    }
    let mut table = Table::new(&columns);
    for step in &shown {
        let mut row = row(step);
        if has_calls {
            row.insert(3, number(calls_per_s(step)));
        }
        table.row(row);
    }
    let mut lines = table.lines_within(width());
    if run.steps.len() > shown.len() {
        let rest = run.steps.len() - shown.len();
        lines.push(format!("       and {} further from the edge", count(rest as u64, "step")));
    }
    lines
}

/// Returns a number of tiles at the edge: between the largest number that met the limits and the
/// smallest that did not.
fn edge(answer: &Answer) -> u32 {
    answer.tiles_held.or(answer.first_broken.as_ref().map(|broken| broken.tiles)).unwrap_or(0)
}

fn row(step: &Step) -> Vec<String> {
    let limit = tightest(step);
    let used = limit.and_then(|limit| {
        #[expect(clippy::cast_precision_loss, reason = "printed as whole percent")]
        let share = limit.result.measured_ns? as f64 / limit.result.limit_ns.max(1) as f64;
        Some(format!("{:.0} %", share * 100.0))
    });
    let score = step.score.as_ref().and_then(Score::value);
    vec![
        step.tiles.to_string(),
        step.verdict.name().to_owned(),
        number(step.throughput.operations_per_s),
        score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}")),
        used.unwrap_or_else(|| "-".to_owned()),
        limit.map_or_else(|| "-".to_owned(), PooledLimit::name),
    ]
}

/// Returns the first warnings without their hints, and the number of further warnings.
fn warnings(run: &Run) -> Vec<String> {
    let all = view::warnings(run);
    let told = all.iter().take(WARNINGS).map(told_line);
    let mut lines: Vec<String> =
        disturbed_line(run).into_iter().chain(told).flat_map(|line| wrapped(&line)).collect();
    if all.len() > WARNINGS {
        let more = count((all.len() - WARNINGS) as u64, "more warning");
        lines.push(format!("           {more}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_words_is_wider_than_a_terminal() {
        let words = "the shop's orders of new customer reach 2.87 s at p95 ".repeat(6);
        for line in labelled("warning", words.trim()).iter().chain(&filled(words.trim(), "", 0)) {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert_eq!(line.trim_end(), line);
        }
        let lines = labelled("warning", "one two");
        assert_eq!(lines, ["warning    one two"]);
        assert!(labelled("warning", words.trim())[1].starts_with("           "));
    }
}
