use analyze::Waits;
use run_store::run::{Status, Step};

use super::focus::Focus;
use super::{cause, findings, heroes, sizes};
use crate::document::Overview;
use crate::request::Lens;
use crate::scope::Scope;
use crate::source::Source;
use crate::words;

/// Makes view `overview`: the answer, four numbers, findings, and the block sizes.
pub(crate) fn overview(source: &Source, lens: &Lens) -> Overview {
    let focus = Focus::new(source, lens);
    let causing = focus.cause();
    let waits = cause::waits(&causing);
    let sums = Scope::summary(source, lens).by_size();
    Overview {
        sentence: sentence(source, lens),
        cause: cause_of(&focus, &waits),
        verdict: verdict(source, lens).to_owned(),
        heroes: heroes::of(source, &focus),
        findings: findings::of(source, lens, &focus, &waits),
        sizes: sizes::rows(&sums),
        flushes: sizes::flushes(&sums),
        sizes_sentence: sizes::sentence(&sums),
    }
}

/// Describes the cause, with its number of tiles if the answer has another. The cause is the
/// saturated resource and where the broken action waited, if the run has such data; otherwise the
/// I/O with most of the waiting.
fn cause_of(focus: &Focus<'_>, waits: &Waits) -> String {
    let said = focus.limited().unwrap_or_else(|| cause::sentence(waits));
    match focus.broken() {
        Some(step) => {
            let tiles = units::print::count(step.tiles.into(), "tile");
            format!("At {tiles}: {}", words::lower(&said))
        }
        None => said,
    }
}

fn of_step<'a>(source: &'a Source, lens: &Lens) -> Option<&'a Step> {
    let number = lens.step?;
    source.steps().iter().find(|step| step.step == number)
}

fn sentence(source: &Source, lens: &Lens) -> String {
    match of_step(source, lens) {
        Some(step) => {
            let tiles = words::tiles_and_vms(step.tiles, step.vms);
            format!("{tiles} {}: {}.", step.verdict.name(), step.reason)
        }
        None => words::answer(source),
    }
}

pub(super) fn verdict(source: &Source, lens: &Lens) -> &'static str {
    if let Some(step) = of_step(source, lens) {
        return step.verdict.name();
    }
    if source.is_running() {
        return "running";
    }
    let Some(run) = source.run() else {
        return if source.is_observed() { "observed" } else { "interrupted" };
    };
    match (run.answer.status, run.answer.tiles_held) {
        (Status::Complete, Some(held)) if held > 0 => "passed",
        (Status::Complete, Some(_)) => "failed",
        (Status::Interrupted, _) => "interrupted",
        (Status::Complete | Status::Inconclusive, _) => "inconclusive",
    }
}
