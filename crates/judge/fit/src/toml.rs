//! Writer of the file: the definition with comments on the origin of each number.

use std::fmt::Write;

use indexmap::IndexMap;
use serde::Serialize;
use spec::workload::{Action, Burst, Load, Time, UserGroup, Workload};
use toml::Value;
use units::Nanos;

use super::document::FitReport;
use super::gather::Observed;
use super::model::{Access, Kind, Model};

/// Returns the text of the file. Loading it gives `workload`.
pub(crate) fn file(
    observed: &Observed,
    model: &Model,
    workload: &Workload,
    report: &FitReport,
) -> String {
    let mut text = head(observed, report);
    let _ = write!(
        text,
        "name = {}\ntitle = {}\nsource = {}\n\n",
        quoted(&workload.name),
        quoted(&workload.title),
        quoted(&workload.source),
    );
    let metric = &workload.metric;
    let _ =
        writeln!(text, "# One tile's worth is the mean rate of reads and writes that was seen.");
    let _ = write!(text, "[metric]\nunit = {}\ncount = \"io\"\n", quoted(&metric.unit));
    if let Some(reference) = metric.reference {
        let _ = writeln!(text, "reference = {reference:?}");
    }
    for vm in &workload.vms {
        let _ = write!(text, "\n[[vm]]\nname = {}\n", quoted(&vm.name));
        for disk in &vm.disks {
            let _ = write!(
                text,
                "\n[[vm.disk]]\nname = {}\nsize = {}\nsource = {}\n",
                quoted(&disk.name),
                quoted(&disk.size.to_text()),
                quoted(disk.source.as_deref().unwrap_or_default()),
            );
        }
    }
    users(&mut text, model, workload);
    actions(&mut text, model, workload);
    text
}

fn head(observed: &Observed, report: &FitReport) -> String {
    let mut text = String::new();
    let mut say = |line: &str| {
        for line in wrapped(line) {
            let _ = writeln!(text, "# {line}");
        }
    };
    say(&format!(
        "Fitted by {} to {} I/Os of VM {} in {} ({}): {}, starting at {} of the trace.",
        report.tool,
        report.records,
        observed.vm,
        observed.trace,
        report.format,
        observed.span(),
        observed.start
    ));
    say("Shares, sizes, depths and gaps are counted in this trace; each comment gives the number \
         of I/Os. No limits: a trace does not say what its users tolerate; add [[limit]] for \
         that.");
    let numbers: Vec<String> = report
        .distances
        .iter()
        .filter_map(|it| Some(format!("{} {:.3}", it.histogram, it.distance?)))
        .collect();
    say(&format!(
        "A run in virtual time with seed {} differs from the trace by (Kolmogorov-Smirnov \
         distance, 0 to 1): {}.",
        report.seed,
        numbers.join(", ")
    ));
    let curves: Vec<String> = report
        .curves
        .iter()
        .map(|it| format!("{:.3} at pages of {}", it.most, units::Bytes::new(it.page_bytes)))
        .collect();
    say(&format!("Its miss-ratio curves are off by at most {}.", curves.join(" and ")));
    say("Not reproduced:");
    report.not_reproduced.iter().for_each(|word| say(&format!("- {word}.")));
    text
}

fn users(text: &mut String, model: &Model, workload: &Workload) {
    let mut groups = workload.groups.iter();
    for stretch in &model.stretches {
        let kind = &model.kinds[stretch.kind];
        for stream in &kind.streams {
            let Some(group) = groups.next() else { return };
            text.push('\n');
            let of = stream.mix.iter().map(|(_, count)| count).sum::<usize>();
            let unit = if kind.waiting.is_some() { "dialogues" } else { "I/Os" };
            let all = format!("{of} {unit} in {}", time_of(kind));
            comment(text, &format!("{}. From {all}.", stream.decided.why));
            one_group(text, group);
        }
    }
}

fn time_of(kind: &Kind) -> String {
    let whole = Nanos::from_secs_f64(kind.seconds).to_string();
    if kind.name.is_empty() {
        whole
    } else {
        format!("{whole} of all {} phases", kind.name.trim_end_matches('-'))
    }
}

fn one_group(text: &mut String, group: &UserGroup) {
    let _ = write!(
        text,
        "[[users]]\nname = {}\nvm = {}\nload = {}\n",
        quoted(&group.name),
        quoted(&group.vm),
        load(&group.load)
    );
    let mix = group.mix.iter().flatten();
    let mix: Vec<String> = mix.map(|(name, weight)| format!("{} = {weight}", key(name))).collect();
    let _ = writeln!(text, "mix = {{ {} }}", mix.join(", "));
    if let Some(schedule) = &group.schedule {
        let mut parts = vec![format!("start = {}", quoted(&schedule.start.to_text()))];
        parts.extend(schedule.active.map(|it| format!("active = {}", quoted(&it.to_text()))));
        parts.extend(schedule.every.map(|it| format!("every = {}", quoted(&it.to_text()))));
        let _ = writeln!(text, "schedule = {{ {} }}", parts.join(", "));
    }
    if !group.phases.is_empty() {
        let _ = writeln!(text, "phases = {}", inline(&group.phases));
    }
}

fn load(load: &Load) -> String {
    match load {
        Load::Open { rate, outstanding_max, gaps, bursts } => {
            let mut parts = vec![format!("rate = {}", quoted(&rate.to_text()))];
            if *outstanding_max != 1024 {
                parts.push(format!("outstanding-max = {outstanding_max}"));
            }
            parts.extend(gaps.as_ref().map(self::gaps));
            if !bursts.is_empty() {
                let bursts: Vec<String> = bursts.iter().map(burst).collect();
                parts.push(format!("bursts = [\n    {},\n]", bursts.join(",\n    ")));
            }
            format!("{{ open = {{ {} }} }}", parts.join(", "))
        }
        Load::Paced { users, rate, backlog } => format!(
            "{{ paced = {{ users = {users}, rate = {}, backlog = {backlog} }} }}",
            quoted(&rate.to_text())
        ),
        Load::Closed { users, think } => {
            format!("{{ closed = {{ users = {users}, think = {} }} }}", time(think))
        }
    }
}

fn gaps(gaps: &IndexMap<String, f64>) -> String {
    let gaps: Vec<String> =
        gaps.iter().map(|(gap, weight)| format!("{} = {weight}", quoted(gap))).collect();
    format!("gaps = {{ {} }}", gaps.join(", "))
}

fn burst(burst: &Burst) -> String {
    let (io, time) = (quoted(&burst.io.to_text()), quoted(&burst.time.to_text()));
    let length = quoted(&burst.length.to_text());
    let gaps = burst.gaps.as_ref().map_or_else(String::new, |it| format!(", {}", gaps(it)));
    format!("{{ io = {io}, time = {time}, length = {length}{gaps} }}")
}

fn time(time: &Time) -> String {
    use spec::workload::RandomTime;
    match time {
        Time::Fixed(time) => quoted(&time.to_text()),
        Time::Random(RandomTime::Exponential(mean)) => {
            format!("{{ exponential = {} }}", quoted(&mean.to_text()))
        }
        Time::Random(RandomTime::Uniform(low, high)) => {
            format!("{{ uniform = [{}, {}] }}", quoted(&low.to_text()), quoted(&high.to_text()))
        }
    }
}

fn actions(text: &mut String, model: &Model, workload: &Workload) {
    let comments = model.kinds.iter().flat_map(origins);
    for (action, lines) in workload.actions.iter().zip(comments) {
        text.push('\n');
        lines.iter().for_each(|line| comment(text, line));
        one_action(text, action);
    }
}

/// Returns the comments of a kind's actions. With dialogues, the first one describes the accesses
/// of all.
fn origins(kind: &Kind) -> Vec<Vec<String>> {
    let Some(waiting) = &kind.waiting else {
        return kind.accesses.iter().map(|access| vec![from(access)]).collect();
    };
    let mut all: Vec<Vec<String>> = waiting
        .dialogues
        .iter()
        .map(|(_, own)| vec![format!("Seen {} times, with rarer sequences like it.", own.count)])
        .collect();
    if let Some(first) = all.first_mut() {
        first.extend(kind.accesses.iter().map(|own| format!("{}: {}", own.name, from(own))));
    }
    all
}

/// Returns a comment on the origin of an action's numbers.
fn from(access: &Access) -> String {
    let Some(block) = &access.block else { return format!("{} flushes.", access.count) };
    let sequential = block.habit.sequential * 100.0;
    let fresh = 1.0 - block.habit.again.iter().map(|(share, _)| share).sum::<f64>();
    let misaligned = block.misaligned.iter().map(|(share, _)| share).sum::<f64>();
    let aligned = match misaligned {
        0.0 => String::new(),
        share => format!(", and {:.1} % do not begin on a multiple of 4 KiB", share * 100.0),
    };
    format!(
        "From {} I/Os; {sequential:.1} % continue where the previous one ended; of the others, \
         {:.1} % go to areas not touched before{aligned}.",
        access.count,
        fresh.max(0.0) * 100.0
    )
}

fn one_action(text: &mut String, action: &Action) {
    let _ = writeln!(text, "[[action]]\nname = {}", quoted(&action.name));
    #[expect(clippy::float_cmp, reason = "the default, or any other number")]
    if action.weight != 1.0 {
        let _ = writeln!(text, "weight = {:?}", action.weight);
    }
    text.push_str("steps = [\n");
    for step in &action.steps {
        let _ = writeln!(text, "    {},", inline(step));
    }
    text.push_str("]\n");
}

/// Formats a value on one line, complete and readable by the language.
fn inline(part: &impl Serialize) -> String {
    Value::try_from(part).expect("a parsed definition can be serialised").to_string()
}

/// Formats a basic string. Characters that TOML forbids are escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a key, without quotes if allowed.
fn key(name: &str) -> String {
    let is_bare = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_');
    if is_bare { name.to_owned() } else { quoted(name) }
}

fn comment(text: &mut String, line: &str) {
    for line in wrapped(line) {
        let _ = writeln!(text, "# {line}");
    }
}

/// Returns the lines of a comment, without control characters.
fn wrapped(text: &str) -> Vec<String> {
    const WIDTH: usize = 96;
    let clean = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let clean: String = clean.collect();
    let mut lines = vec![String::new()];
    for word in clean.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is at least one line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Document {
        action: Vec<Action>,
    }

    /// Action with every kind of step, and every field of a step.
    const ACTION: &str = r#"
        [[action]]
        name = "all"
        weight = 2.5
        steps = [
            { read = { disk = "d", size = "8k", count = 3, kind = "log", address = { zipf = { exponent = 0.9 } } } },
            { write = { disk = "d", size = { "4k" = 9, "64k" = 1 }, durable = "5 %", address = "uniform" } },
            { append = { disk = "d", size = "512B", count = 2 } },
            { flush = { disk = "d", kind = "commit" } },
            { cpu = { exponential = "2 ms" } },
            { wait = "1 s" },
            { parallel = [{ read = { disk = "d", size = "4k" } }, { wait = "5 ms" }] },
            { repeat = { times = 4, steps = [{ flush = { disk = "d" } }] } },
        ]
    "#;

    #[test]
    fn no_kind_of_step_and_no_field_of_one_is_left_out_of_the_file() {
        let read: Document = toml::from_str(ACTION).expect("valid");
        let mut text = String::new();
        one_action(&mut text, &read.action[0]);
        assert_eq!(toml::from_str::<Document>(&text).expect("valid"), read, "{text}");
    }
}
