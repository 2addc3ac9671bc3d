//! Answer in parts: the number of tiles, its interval, the limit that breaks, its cause, and
//! doubts.

use run_store::run::{
    Answer, BrokenLimit, CHECK_WARNING, Edge, Hysteresis, Known, PerKilowatt, Run, Status, Step,
    StepEvent,
};
use units::print::{count, percent};

use super::cause;
use super::focus::Focus;
use crate::document::{Doubt, Headline};
use crate::request::Lens;
use crate::source::Source;
use crate::warnings::warnings;
use crate::words;

/// Warnings that weaken an answer; all others only describe the run.
const DOUBTS: [&str; 5] = ["clock-step", CHECK_WARNING, "not-steady", "limit-not-tested", "reused"];

/// Makes the headline of a run that has ended; `None` while the run is in progress, and for
/// observed I/O.
pub(crate) fn headline(source: &Source) -> Option<Headline> {
    let run = source.run().filter(|_| !source.is_running())?;
    let lens = Lens::default();
    let focus = Focus::new(source, &lens);
    Some(Headline {
        verdict: super::overview::verdict(source, &lens).to_owned(),
        plan: run.plan_text(),
        estimate: run.estimate_text(),
        speed: run.answer.tiles_text(),
        speed_note: speed_note(run),
        estate: run.estate_text(),
        operations: run.operations_text().map(|text| format!("Operations {text}.")),
        breaks: break_sentence(run),
        link: focus.broken().map(|step| format!("map?step={}", step.step)),
        why: why(&focus),
        doubts: doubts(run),
    })
}

fn tiles(number: u32) -> String {
    if number == 0 { "no tile".to_owned() } else { count(number.into(), "tile") }
}

fn speed_note(run: &Run) -> String {
    let answer = &run.answer;
    let Some(held) = answer.tiles_held else { return run.progress() };
    let mut parts: Vec<String> = Vec::new();
    if let Some(own) = answer.tiles_interval {
        let sure = percent(own.confidence);
        parts.push(match own.high == Some(own.low) {
            true => format!("{sure} sure"),
            false => format!("{} most likely, {sure} interval", own.most_likely.unwrap_or(held)),
        });
        let is_between = own.most_likely.is_some_and(|likely| likely != held);
        parts.extend(is_between.then(|| format!("{held} ran and held")));
    }
    if let Some(score) = answer.score.value {
        let interval = answer.score_interval.as_ref();
        let interval = interval.map(|own| format!(" ({:.2} to {:.2})", own.low, own.high));
        parts.push(format!("score {score:.2}{}", interval.unwrap_or_default()));
    }
    if let Some(own) = PerKilowatt::best(&answer.per_kilowatt)
        && let Some(score) = own.score_per_kilowatt.value
    {
        parts.push(format!("{score:.2} per kW of {}", own.category.words()));
    }
    parts.join("; ")
}

/// Describes the limit that breaks, or why no limit broke.
pub(crate) fn break_sentence(run: &Run) -> String {
    let answer = &run.answer;
    if let Some(broken) = &answer.first_broken {
        return broken_words(answer, broken);
    }
    if answer.tiles_held.is_none()
        && let Some(step) = run.steps.iter().min_by_key(|step| step.tiles)
    {
        return format!("Nothing can be said about {}: {}.", tiles(step.tiles), step.reason);
    }
    let nearest = answer.tiles_held.map(|held| words::nearest(run, held)).unwrap_or_default();
    let ended = match (answer.status, answer.edge) {
        (Status::Interrupted, _) => "The run was ended before a limit broke.",
        (_, Edge::CapacityReached) => "Nothing broke: the disks filled the datastore first.",
        (_, Edge::LadderEnded) => "Nothing broke: the run tried no more tiles.",
        (_, Edge::ThroughputFlat) => "More tiles did no more work.",
        _ => return words::sentence_of(run),
    };
    format!("{ended}{nearest}")
}

fn broken_words(answer: &Answer, broken: &BrokenLimit) -> String {
    let limit = &broken.limit;
    let is_next = answer.tiles_held.is_some_and(|held| broken.tiles == held.saturating_add(1));
    let what = match (is_next, broken.tiles) {
        (true, tile) => format!("Tile {tile} breaks"),
        (false, 1) => "1 tile breaks".to_owned(),
        (false, tiles) => format!("{tiles} tiles break"),
    };
    format!(
        "{what} {}: {} ({}).",
        broken.name(),
        words::of_limit(limit),
        count(limit.samples, "sample")
    )
}

/// Describes the cause: the saturated resource in the step that broke, and where the broken action
/// waited; otherwise the I/O with most of the waiting.
fn why(focus: &Focus<'_>) -> Option<String> {
    focus.broken()?;
    Some(focus.limited().unwrap_or_else(|| cause::sentence(&cause::waits(&focus.cause()))))
}

fn doubts(run: &Run) -> Vec<Doubt> {
    let mut found: Vec<Doubt> = Vec::new();
    found.extend(disturbed(&run.steps).map(|said| doubt("disturbed", said)));
    if let Some(step) = run.steps.iter().find(|step| step.generator.saturated) {
        let reason = step.generator.reason.as_deref().unwrap_or("it could not keep up");
        found.push(doubt(
            "generator",
            format!("At {} the load generator was the limit: {reason}.", tiles(step.tiles)),
        ));
    }
    if let Some(climb) = &run.answer.climb {
        let time = climb.out_of_time_text();
        found.extend(time.map(|text| doubt("out-of-time", format!("{}.", words::capital(&text)))));
        found.extend(climb.hysteresis.map(hysteresis));
    }
    let warnings = warnings(run);
    let is_of =
        |id: &str, known: &str| id == known || (known == CHECK_WARNING && id.starts_with(known));
    let rank = |id: &str| DOUBTS.iter().position(|known| is_of(id, known));
    let mut weakening: Vec<_> =
        warnings.iter().filter_map(|own| Some((rank(&own.id)?, own))).collect();
    weakening.sort_by_key(|(rank, _)| *rank);
    found.extend(
        weakening
            .into_iter()
            .map(|(_, own)| doubt(&own.id, format!("{}.", words::capital(&own.placed_text())))),
    );
    found.extend(events(run));
    found.extend(scaled(run));
    let search = run.search_text();
    found.extend(search.map(|text| doubt("resized", format!("{}.", words::capital(&text)))));
    found
}

/// Makes doubts from events of hosts, for the last step with events.
fn events(run: &Run) -> Vec<Doubt> {
    let step = run.steps.iter().rev().find(|step| !step.events.is_empty());
    let all = step.into_iter().flat_map(|step| step.events.iter().map(move |event| (step, event)));
    let sentence = |(step, event): (&Step, &StepEvent)| {
        let lines = event.told();
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        doubt("event", format!("At {}: {}.", tiles(step.tiles), lines.join("; ")))
    };
    all.map(sentence).collect()
}

fn doubt(id: &str, text: String) -> Doubt {
    Doubt { id: id.to_owned(), text }
}

/// Describes the disturbances: their source, and the number of disturbed steps, with the worst of
/// them.
pub fn disturbed(steps: &[Step]) -> Option<String> {
    let own: Vec<&Step> = steps.iter().filter(|step| !step.disturbances.is_empty()).collect();
    let over = |step: &Step| {
        let shares = step.disturbances.iter().map(|one| one.value / one.limit.max(1e-9));
        shares.fold(0.0, f64::max)
    };
    let worst = own.iter().max_by(|a, b| over(a).total_cmp(&over(b)))?;
    let said = worst.disturbances.first()?;
    Some(format!(
        "{} of {} disturbed. The worst, at {}: {said}.",
        own.len(),
        match steps.len() {
            1 => "1 step was".to_owned(),
            all => format!("{all} steps were"),
        },
        tiles(worst.tiles)
    ))
}

/// Makes the doubt about a number of tiles that passed at first but failed after an overload,
/// because the storage had not recovered.
fn hysteresis(found: Hysteresis) -> Doubt {
    let text = format!(
        "{} passed before the overload with {} and failed after it: this storage needs more than a pause to recover.",
        words::capital(&tiles(found.tiles)),
        tiles(found.overload)
    );
    doubt("hysteresis", text)
}

/// Makes the doubt about small disks, of which caches hold a larger part.
fn scaled(run: &Run) -> Option<Doubt> {
    let warning = run.warnings.iter().find(|warning| warning.is(Known::ScaledFootprint))?;
    Some(doubt(&warning.id, format!("{}.", words::capital(&warning.text))))
}
