use indexmap::IndexMap;

use super::access::Kind;
use super::finding::Findings;
use crate::locate::DefinitionPath;
use crate::workload::{Action, Counted, Limit, Workload};

/// Checks that the objects that the metric counts exist.
pub(super) fn metric(workload: &Workload, kinds: &IndexMap<String, Kind>, found: &mut Findings) {
    let metric = &workload.metric;
    let place = DefinitionPath::default().key("metric");
    found.some_time(place.key("per"), "the time that is counted over", metric.per);
    found.above_zero(place.key("divide-by"), "divide-by", metric.divide_by);
    if let Some(reference) = metric.reference {
        found.above_zero(place.key("reference"), "the reference", reference);
    }
    if metric.count == Counted::None {
        if metric.of.is_some() || metric.reference.is_some() {
            let message = "a metric that counts nothing has neither \"of\" nor \"reference\"";
            found.add(place.key("count"), message);
        }
        return;
    }
    found.says_something(place.key("unit"), "the unit", &metric.unit);
    if workload.groups.is_empty() && workload.replay.is_none() {
        let help = "add users, or count = \"none\" for a workload that is only there";
        found.add_help(place.key("count"), "without users nothing is ever counted", help);
    }
    let has_stages = workload.actions.iter().any(|action| !action.stages().is_empty());
    if metric.of.is_none() && metric.count == Counted::Actions && has_stages {
        let help = "add of = [...]: the actions, without their stages";
        found.add_help(place.clone(), "actions with stages are counted by name", help);
    }
    let Some(names) = &metric.of else { return };
    found.not_empty(place.key("of"), "the list of what is counted", names);
    let all = actions(workload);
    let (what, known) = match metric.count {
        Counted::Actions => ("action", all.iter().map(String::as_str).collect()),
        _ => ("kind of I/O", kinds_of(kinds, false)),
    };
    for (i, name) in names.iter().enumerate() {
        found.known(place.key("of").index(i), what, name, &known);
    }
}

/// Checks that each limit has one statistic, one existing object and one time.
pub(super) fn limits(workload: &Workload, kinds: &IndexMap<String, Kind>, found: &mut Findings) {
    for (i, limit) in workload.limits.iter().enumerate() {
        let place = DefinitionPath::default().key("limit").index(i);
        match (&limit.action, &limit.io, &limit.call) {
            (Some(action), None, None) => {
                let known = actions(workload);
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                found.known(place.key("action"), "action", action, &known);
            }
            (None, Some(kind), None) => {
                found.known(place.key("io"), "kind of I/O", kind, &kinds_of(kinds, false));
            }
            (None, None, Some(kind)) => {
                found.known(place.key("call"), "kind of call", kind, &kinds_of(kinds, true));
            }
            (None, None, None) => found.add_help(
                place.clone(),
                "the limit does not say what it is for",
                "add action = \"...\", io = \"...\" or call = \"...\"",
            ),
            (.., Some(_)) => {
                let message = "a limit is for an action, a kind of I/O or a kind of call";
                found.add_help(place.key("call"), message, "write a second [[limit]]");
            }
            (Some(_), Some(_), None) => {
                found.add(
                    place.key("io"),
                    "a limit is for an action or for a kind of I/O, not both",
                );
            }
        }
        statistic(limit, &place, found);
        found.says_something(place.key("source"), "the limit's source", &limit.source);
    }
}

/// Returns the names of the kinds of calls, or of I/O.
fn kinds_of(kinds: &IndexMap<String, Kind>, calls: bool) -> Vec<&str> {
    let own = kinds.iter().filter(|(_, kind)| kind.is_call() == calls);
    own.map(|(name, _)| name.as_str()).collect()
}

fn statistic(limit: &Limit, place: &DefinitionPath, found: &mut Findings) {
    let by_percentile = limit.percentile.is_some() || limit.limit.is_some();
    let given = [by_percentile, limit.mean.is_some(), limit.max.is_some()];
    match given.iter().filter(|is| **is).count() {
        1 => {}
        0 => found.add_help(
            place.clone(),
            "the limit has no statistic with a time",
            "add percentile and limit, or mean, or max",
        ),
        _ => {
            let second = if limit.max.is_some() { "max" } else { "mean" };
            found.add_help(
                place.key(second),
                "a limit must have exactly one statistic: a percentile, the mean or the maximum",
                "write a second [[limit]] for the second statistic",
            );
        }
    }
    match (limit.percentile, limit.limit) {
        (Some(_), None) => {
            found.add_help(
                place.key("percentile"),
                "a percentile without a time",
                "add limit = \"500ms\"",
            );
        }
        (None, Some(_)) => {
            found.add_help(
                place.key("limit"),
                "a time without a percentile",
                "add percentile = 95",
            );
        }
        _ => {}
    }
    if let Some(percentile) = limit.percentile
        && !(percentile > 0.0 && percentile < 100.0)
    {
        let message = format!("the percentile {percentile} is not between 0 and 100");
        found.add_help(place.key("percentile"), message, "the 100th percentile is max");
    }
    for (key, time) in [("limit", limit.limit), ("mean", limit.mean), ("max", limit.max)] {
        if let Some(time) = time {
            found.some_time(place.key(key), "the time allowed", time);
        }
    }
}

fn actions(workload: &Workload) -> Vec<String> {
    if workload.replay.is_some() {
        return vec![crate::replay::ACTION.to_owned()];
    }
    workload.actions.iter().flat_map(Action::names).collect()
}
