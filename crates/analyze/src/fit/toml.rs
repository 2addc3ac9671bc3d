//! The file: the definition with comments that say where each number is from.

use std::fmt::Write;

use indexmap::IndexMap;
use spec::workload::{Action, Address, Burst, Load, Size, Step, Time, UserGroup, Workload};
use units::Nanos;

use super::document::FitReport;
use super::gather::Observed;
use super::model::{Access, Kind, Model};

/// The text; loading it gives `workload`.
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
        "Fitted by {} to {} I/Os of VM {} in {} ({}): {} from {} of the trace on.",
        report.tool,
        report.records,
        observed.vm,
        observed.trace,
        report.format,
        observed.span(),
        observed.start
    ));
    say("Shares, sizes, depths and gaps are counts of this trace; each comment says of how many \
         I/Os. No limits: a trace does not say what its users tolerate; add [[limit]] for that.");
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
            let all = format!("{of} I/Os in {}", time_of(kind));
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
        format!("{whole} of all {} stretches", kind.name.trim_end_matches('-'))
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
    let accesses = model.kinds.iter().flat_map(|kind| &kind.accesses);
    for (action, access) in workload.actions.iter().zip(accesses) {
        text.push('\n');
        comment(text, &from(access));
        one_action(text, action);
    }
}

/// Where an action's numbers are from.
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
        "From {} I/Os; {sequential:.1} % go on where the one before ended, and of the others \
         {:.1} % go to what was not touched before{aligned}.",
        access.count,
        fresh.max(0.0) * 100.0
    )
}

fn one_action(text: &mut String, action: &Action) {
    let _ = writeln!(text, "[[action]]\nname = {}\nsteps = [", quoted(&action.name));
    for step in &action.steps {
        match step {
            Step::Read(access) | Step::Write(access) => {
                let verb = if matches!(step, Step::Write(_)) { "write" } else { "read" };
                let durable = access.durable.map_or_else(String::new, |share| {
                    format!(", durable = {}", quoted(&share.to_text()))
                });
                let _ = writeln!(
                    text,
                    "    {{ {verb} = {{ disk = {}, size = {}, address = {}{durable} }} }},",
                    quoted(&access.disk),
                    size(&access.size),
                    address(&access.address)
                );
            }
            Step::Flush(flush) => {
                let _ = writeln!(text, "    {{ flush = {{ disk = {} }} }},", quoted(&flush.disk));
            }
            _ => {}
        }
    }
    text.push_str("]\n");
}

fn size(size: &Size) -> String {
    match size {
        Size::Fixed(size) => quoted(&size.to_text()),
        Size::Mix(mix) => {
            let parts: Vec<String> =
                mix.iter().map(|(size, weight)| format!("{} = {weight}", quoted(size))).collect();
            format!("{{ {} }}", parts.join(", "))
        }
    }
}

fn address(address: &Address) -> String {
    let Address::Reuse(reuse) = address else { return quoted("uniform") };
    let again: Vec<String> = reuse
        .again
        .iter()
        .map(|again| {
            let (io, within) = (again.io.to_text(), again.within.to_text());
            format!("{{ io = {}, within = {} }}", quoted(&io), quoted(&within))
        })
        .collect();
    let run = reuse.run.map_or_else(String::new, |run| format!(", run = {run:?}"));
    let same_size = if reuse.same_size { ", same-size = true" } else { "" };
    let misaligned: Vec<String> = reuse
        .misaligned
        .iter()
        .map(|places| {
            let (io, by) = (places.io.to_text(), places.by.to_text());
            format!("{{ io = {}, by = {} }}", quoted(&io), quoted(&by))
        })
        .collect();
    let misaligned = match &misaligned[..] {
        [] => String::new(),
        some => format!(", misaligned = [{}]", some.join(", ")),
    };
    format!(
        "{{ reuse = {{ sequential = {}{run}{same_size}, page = {}, again = [{}]{misaligned} }} }}",
        quoted(&reuse.sequential.to_text()),
        quoted(&reuse.page.to_text()),
        again.join(", ")
    )
}

/// A basic string: what TOML does not allow in one is escaped.
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

/// A key, bare where that is allowed.
fn key(name: &str) -> String {
    let is_bare = name.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_');
    if is_bare { name.to_owned() } else { quoted(name) }
}

fn comment(text: &mut String, line: &str) {
    for line in wrapped(line) {
        let _ = writeln!(text, "# {line}");
    }
}

/// Lines of a comment, without characters that would end it.
fn wrapped(text: &str) -> Vec<String> {
    const WIDTH: usize = 96;
    let clean = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let clean: String = clean.collect();
    let mut lines = vec![String::new()];
    for word in clean.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always one");
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
