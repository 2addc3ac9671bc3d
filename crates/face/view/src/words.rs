//! Sentences of several views, and their parts.

pub(crate) use run_store::run::capital;
use run_store::run::{
    BrokenLimit, Cause, LimitResult, PooledLimit, Resource, Run, Status, Step, Verdict, told_waits,
};
use run_store::slice::Direction;
use units::print::{bytes_per_second, clock, count, iops, number};
use units::{Bytes, Nanos, Ratio};

use crate::document::{LivePhase, LiveState};
use crate::request::Lens;
use crate::scope::{ENOUGH, Scope, Sum, ratio};
use crate::source::Source;

/// Formats a measured value and its limit: `2.87 s of 500 ms`.
pub(crate) fn of_limit(limit: &LimitResult) -> String {
    let allowed = Nanos(limit.limit_ns);
    match limit.measured_ns {
        Some(measured) => format!("{} of {allowed}", Nanos(measured)),
        None => format!("nothing measured, {allowed} allowed"),
    }
}

/// Formats tiles and VMs, such as `3 tiles (24 VMs)`.
pub(crate) fn tiles_and_vms(tiles: u32, vms: u32) -> String {
    format!("{} ({})", count(tiles.into(), "tile"), count(vms.into(), "VM"))
}

/// Sentence in place of unknown latencies.
pub(crate) const NO_LATENCIES: &str = "These I/Os came without latencies, so none is shown.";

/// Sentence in place of unknown rates.
pub(crate) const NO_TIMES: &str = "These I/Os have an order but no times, so no rate is shown.";

/// Returns the sentence that replaces charts of data that a source does not have; `None` if it has
/// all data.
pub(crate) fn lacks(source: &Source) -> Option<String> {
    match (source.has_times(), source.has_latencies()) {
        (true, true) => None,
        (true, false) => Some(NO_LATENCIES.to_owned()),
        (false, true) => Some(NO_TIMES.to_owned()),
        (false, false) => Some(
            "These I/Os have an order but no times and no latencies: the requests are shown, but \
             not their rate or duration."
                .to_owned(),
        ),
    }
}

/// Returns the sentence that replaces numbers from too few I/Os.
pub(crate) fn too_few(number: u64) -> String {
    too_few_of(number, "I/O")
}

/// Returns the sentence that replaces numbers from too few objects of another kind.
pub(crate) fn too_few_of(number: u64, noun: &str) -> String {
    match number {
        0 => format!("No {noun} here."),
        few => format!("Too few {noun}s for a statement: {few}; at least {ENOUGH} are needed."),
    }
}

/// Describes the answer of any source in a sentence.
pub(crate) fn answer(source: &Source) -> String {
    if let Some(live) = source.live_state() {
        return live.sentence.clone();
    }
    match source.run() {
        Some(run) => answer_of(run),
        None if source.is_observed() => observed(source),
        None => "Nothing is known about this run yet.".to_owned(),
    }
}

/// Describes the answer of a run: the number of tiles that it carries, and the limit that breaks.
pub(crate) fn answer_of(run: &Run) -> String {
    let answer = &run.answer;
    let broken = answer.first_broken.as_ref();
    let (text, names_target) = match (broken, answer.tiles_held) {
        (Some(broken), Some(held))
            if answer.status == Status::Complete && broken.limit.measured_ns.is_some() =>
        {
            (held_and_broken(run, held, broken), false)
        }
        (_, Some(held)) if answer.status == Status::Complete => {
            (sentence_of(run) + &nearest(run, held), true)
        }
        // A sentence without a decision does not name the target.
        (broken, held) => (sentence_of(run), held.is_some() || broken.is_some()),
    };
    if run.target.is_simulated() && !names_target {
        return format!("Simulated: {}", lower(&text));
    }
    capital(&text)
}

/// Returns the stored sentence of the run, without the score, which is shown beside it.
pub(crate) fn sentence_of(run: &Run) -> String {
    let said = run.sentence_without_score();
    let said = if said.is_empty() { "no answer was stored" } else { &said };
    // Runs of earlier versions stored it without the last stop.
    format!("{}.", said.trim_end_matches('.'))
}

/// Describes the smallest room under a limit in the steps with `held` tiles.
pub(crate) fn nearest(run: &Run, held: u32) -> String {
    let steps: Vec<&Step> = run.steps.iter().filter(|step| step.tiles == held).collect();
    let nearest = closest(&steps).map(|limit| {
        format!(" Nearest to its limit: {}, {}.", limit.name(), of_limit(&limit.result))
    });
    nearest.unwrap_or_default()
}

/// Returns the limit of these steps with the least room, among the limits that decide. If a limit
/// broke, it is the most exceeded one.
pub(crate) fn closest<'a>(steps: &[&'a Step]) -> Option<&'a PooledLimit> {
    let limits = steps.iter().flat_map(|step| &step.limits);
    let counts =
        |limit: &&PooledLimit| limit.result.decides() && limit.result.measured_ns.is_some();
    limits.filter(counts).min_by(|a, b| a.result.room().total_cmp(&b.result.room()))
}

fn held_and_broken(run: &Run, held: u32, broken: &BrokenLimit) -> String {
    let limit = &broken.limit;
    let (name, measured) = (broken.name(), of_limit(limit));
    let vms = |tiles: u32| tiles.saturating_mul(run.tile.vms);
    if held == 0 {
        let tiles = tiles_and_vms(broken.tiles, vms(broken.tiles));
        return format!("does not hold {tiles}: {name} is {measured}.");
    }
    let tiles = tiles_and_vms(held, run.answer.vms_held.unwrap_or_else(|| vms(held)));
    if broken.tiles == held.saturating_add(1) {
        format!("holds {tiles}; tile {} breaks {name}: {measured}.", broken.tiles)
    } else {
        let more = count(broken.tiles.into(), "tile");
        // Counts between the two were left out: the answer is an interval, whose lower end counts.
        format!("holds {}; {more} break {name}: {measured}.", run.answer.tiles_text())
    }
}

/// Describes the saturated resource in a step that broke, and where the broken action waited;
/// `None` if the run has no such data.
pub(crate) fn limited(step: &Step, broken: &BrokenLimit) -> Option<String> {
    let found = step.bottleneck.as_ref().filter(|found| found.kind.is_seen());
    let found = found.map(|found| format!("{}.", capital(&found.text)));
    let waits = told_waits(&step.waits)
        .map(|waits| format!("Of the time of {} {} {waits}.", broken.workload, broken.limit.name));
    let parts: Vec<String> = found.into_iter().chain(waits).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Returns true if something other than storage limited the step.
pub(crate) fn is_beyond_storage(step: &Step) -> bool {
    let kind = step.bottleneck.as_ref().map(|found| found.kind);
    matches!(kind, Some(Resource::HostCpu | Resource::VmCpu | Resource::Generator))
}

/// Summarises a recorded trace, which has no limits to judge.
fn observed(source: &Source) -> String {
    let lens = Lens::default();
    let scope = Scope::course(source, &lens);
    let (reads, writes, all) = directions(&scope);
    if all.count() < ENOUGH {
        return format!("Observed: {}", lower(&too_few(all.count())));
    }
    let time = scope.time();
    if !source.has_times() {
        return format!(
            "Observed: {} in their order, without times, {}{}{}.",
            count(all.count(), "I/O"),
            Bytes::new(all.bytes),
            p99("p99 read", &reads),
            p99("p99 write", &writes),
        );
    }
    let lost = match source.lost_events() {
        0 => String::new(),
        lost => format!(" {} were lost, so these numbers are too small.", count(lost, "event")),
    };
    format!(
        "Observed: {} in {time}, {}, {}{}{}.{lost}",
        count(all.count(), "I/O"),
        iops(rate(all.count(), time)),
        bytes_per_second(rate(all.bytes, time)),
        p99("p99 read", &reads),
        p99("p99 write", &writes),
    )
}

pub(crate) fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Formats a percentile, such as `, p99 read 900 us`; empty if it is unknown.
pub(crate) fn p99(name: &str, sum: &Sum) -> String {
    let value = sum.percentile(0.99).filter(|_| sum.count() >= ENOUGH);
    value.map(|p99| format!(", {name} {}", Nanos(p99))).unwrap_or_default()
}

/// Returns a number per second.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(crate) fn rate(number: u64, time: Nanos) -> f64 {
    if time == Nanos::ZERO { 0.0 } else { number as f64 / time.as_secs_f64() }
}

/// Rounds a time down to whole seconds, as a clock shows it.
pub(crate) fn whole_seconds(at: Nanos) -> Nanos {
    Nanos::from_secs(at.0 / 1_000_000_000)
}

/// Returns the sums of reads, of writes, and of everything.
pub(crate) fn directions(scope: &Scope<'_>) -> (Sum, Sum, Sum) {
    let (mut reads, mut writes, mut all) = (Sum::default(), Sum::default(), Sum::default());
    for (_, row) in scope.rows() {
        match row.direction {
            Direction::Read => reads.add(row),
            Direction::Write => writes.add(row),
            Direction::Flush => all.add(row),
        }
    }
    all.merge(&reads);
    all.merge(&writes);
    (reads, writes, all)
}

/// Summarises a live run: `Datacenter, 3 tiles, measuring 00:07 of 01:00: 18,400 IOPS, p99 read 900
/// us.`
pub(crate) fn live(source: &Source, state: &LiveState) -> String {
    let name = source
        .run()
        .map(|run| run.tile.name.as_str())
        .or_else(|| source.trace_facts().map(|trace| trace.name.as_str()))
        .unwrap_or("this run");
    let tiles = match state.tiles {
        0 => String::new(),
        tiles => format!(", {}", count(tiles.into(), "tile")),
    };
    let Some(span) = source.rollup().spans().last() else {
        return format!("{}{tiles}, {}.", capital(name), before(state));
    };
    let elapsed = span.to.saturating_sub(span.from);
    let total = state.left_ns.map(|left| elapsed.saturating_add(Nanos(left)));
    // A warm-up ends when the load is steady, so the shown end is only the latest one.
    let latest = if state.phase == LivePhase::WarmUp { "at most " } else { "" };
    let of = total
        .map(|total| format!(" of {latest}{}", clock(whole_seconds(total))))
        .unwrap_or_default();
    let so_far = format!("{} {}{of}", progress(source, state), clock(whole_seconds(elapsed)));
    if matches!(state.phase, LivePhase::Preparing | LivePhase::Judging | LivePhase::Ended) {
        return format!("{}{tiles}, {}.", capital(name), before(state));
    }
    let steps = [(span.step, span.repeat)];
    let lens = Lens { time: Some((span.from, None)), ..Lens::default() };
    let scope = Scope::new(
        source,
        &lens,
        crate::scope::Detail::Usual,
        crate::scope::Phases::Course,
        Some(&steps),
    );
    let (reads, writes, _) = directions(&scope);
    let felt = p99("p99 read", &reads) + &p99("p99 write", &writes);
    let calls = state.calls_per_s.map(|calls| format!("{} calls/s", number(calls)));
    let rate = match (state.operations_per_s > 0.0, calls) {
        (false, Some(calls)) => {
            let p99 = state.p99_ns.map(|p99| format!(", p99 {}", Nanos(p99)));
            calls + &p99.unwrap_or_default()
        }
        (true, Some(calls)) => format!("{}, {calls}", iops(state.operations_per_s)),
        (_, None) => iops(state.operations_per_s),
    };
    format!("{}{tiles}, {so_far}: {rate}{felt}.", capital(name))
}

/// Describes the answer so far: `Held so far: 8 tiles; 16 failed. Trying 12, about 2 min left.`
/// Empty for observed I/O.
pub(crate) fn live_headline(source: &Source, state: &LiveState) -> String {
    if source.is_observed() {
        return String::new();
    }
    let with = |verdict| source.steps().iter().filter(move |step| step.verdict == verdict);
    let failed = with(Verdict::Failed).map(|step| step.tiles).min();
    let below = |tiles: &u32| failed.is_none_or(|failed| *tiles < failed);
    let held = with(Verdict::Passed).map(|step| step.tiles).filter(below).max();
    let held = match held {
        Some(held) => format!("Held so far: {}", count(held.into(), "tile")),
        None => "Nothing held so far".to_owned(),
    };
    let failed = failed.map_or_else(String::new, |tiles| format!("; {tiles} failed"));
    let doing = match (state.phase, state.tiles) {
        (LivePhase::Ended, _) => return format!("{held}{failed}."),
        (LivePhase::Preparing, _) => "Filling disks".to_owned(),
        (_, 0) => "Beginning".to_owned(),
        (_, tiles) => format!("Trying {tiles}"),
    };
    let left = state.run_left.as_ref().map(|left| format!(", {left}"));
    format!("{held}{failed}. {doing}{}.", left.unwrap_or_default())
}

/// Lists doubts about the judged steps: disturbances, and other reasons why the last step was not
/// decided.
pub(crate) fn live_doubts(source: &Source) -> Vec<String> {
    let steps = source.steps();
    // Circle: a run in progress and a finished run use the same sentence about disturbed steps,
    // which is in the headline's view.
    let mut doubts = Vec::from_iter(crate::views::disturbed(steps));
    let last = steps.last().filter(|step| {
        step.verdict == Verdict::Inconclusive && step.cause != Some(Cause::Disturbed)
    });
    doubts.extend(last.map(|step| {
        let tiles = count(step.tiles.into(), "tile");
        format!("The last step, {tiles}, was not decisive: {}.", step.reason)
    }));
    doubts
}

fn progress(source: &Source, state: &LiveState) -> &'static str {
    match state.phase {
        LivePhase::WarmUp => "warming up",
        _ if source.is_observed() => "watching",
        _ => "measuring",
    }
}

/// Describes the activity while there is no load.
fn before(state: &LiveState) -> String {
    match (state.phase, state.prepared) {
        (LivePhase::Preparing, Some(share)) => {
            format!("filling its disks, {} done", units::print::percent(Ratio::new(share).get()))
        }
        (LivePhase::Preparing, None) => "preparing".to_owned(),
        (LivePhase::Judging, _) => "comparing the measurements with the limits".to_owned(),
        (LivePhase::Ended, _) => "ended".to_owned(),
        _ => "about to begin".to_owned(),
    }
}

/// Returns the I/Os per second over the run, in at most `most` points.
pub(crate) fn spark_of(source: &Source, most: usize) -> Vec<f64> {
    if !source.has_times() {
        return Vec::new();
    }
    let lens = Lens::default();
    let scope = Scope::course(source, &lens);
    let mut counts = vec![0_u64; scope.frame.len()];
    scope.rows().for_each(|(bucket, row)| counts[bucket] += row.count());
    let slices: Vec<(u64, Nanos)> =
        counts.into_iter().zip(&scope.frame.load).map(|(count, load)| (count, *load)).collect();
    rates_of(&slices, most)
}

/// Merges rates of consecutive slices to at most `most`. A rest that is much shorter than the
/// others is added to the rate before it.
pub(crate) fn rates_of(slices: &[(u64, Nanos)], most: usize) -> Vec<f64> {
    let part = slices.len().div_ceil(most.max(1)).max(1);
    let sum = |part: &[(u64, Nanos)]| {
        part.iter().fold((0, Nanos::ZERO), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    };
    let mut sums: Vec<(u64, Nanos)> = slices.chunks(part).map(sum).collect();
    if let [.., before, (count, time)] = sums.as_mut_slice()
        && time.0 < before.1.0 / 2
    {
        *before = (before.0 + *count, before.1 + *time);
        sums.pop();
    }
    sums.into_iter().map(|(count, time)| rate(count, time)).collect()
}

/// Formats a share as a percentage.
pub(crate) fn share(part: u64, whole: u64) -> String {
    units::print::percent(ratio(part, whole))
}
