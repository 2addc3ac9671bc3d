//! Table that compares a dialogue tile with a real one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use run_store::series::{ActionRecord, OpenOn, OpenRecord, read_run};
use stats::Compact;
use units::{Nanos, Ratio};

use super::Walk;
use super::stairs::{Kind, SETTLING, Stair};

/// Actions by name, with response times on each stair.
type Times = BTreeMap<String, Vec<Compact>>;

/// Limit for every action of these tiles.
const LIMIT_MS: f64 = 500.0;

/// Returns the tables of a pair of tiles, in Markdown.
pub(super) fn of(tile: &str, walks: &[(&str, Walk)]) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "\n## {tile}\n")?;
    writeln!(text, "| on the fast disk | reads/s | writes/s | flushes/s | reads | read | write |")?;
    writeln!(text, "|---|---|---|---|---|---|---|")?;
    for (name, walk) in walks {
        writeln!(text, "| {name} | {} |", walk.disk.cells())?;
    }
    for (name, walk) in walks {
        if let Some(ended) = &walk.seen.ended {
            writeln!(text, "\nThe run of {name} ended early: {ended}")?;
        }
    }
    let stairs = &walks[0].1.stairs;
    let all: Vec<(&str, Times)> =
        walks.iter().map(|(name, walk)| Ok((*name, times(walk)?))).collect::<Result<_>>()?;
    let actions = all[0].1.keys().filter(|name| all[1].1.contains_key(*name));
    for action in actions {
        writeln!(text, "\n| p95 of {action}, ms | {} | {} |", all[0].0, all[1].0)?;
        writeln!(text, "|---|---|---|")?;
        for (place, stair) in stairs.all().iter().enumerate() {
            let cell = |times: &Times| {
                let times = &times[action][place];
                p95(times).map_or_else(
                    || "not reached".to_owned(),
                    |ms| format!("{ms:.0} ({})", times.count()),
                )
            };
            writeln!(text, "| {} | {} | {} |", stair.kind, cell(&all[0].1), cell(&all[1].1))?;
        }
        for (name, times) in &all {
            let edge = |is_kind: fn(&Kind) -> bool| edge(stairs.all(), &times[action], is_kind);
            writeln!(
                text,
                "\n{name}: {}; {}.",
                edge(|kind| matches!(kind, Kind::Delay(_))),
                edge(|kind| matches!(kind, Kind::Rate(_))),
            )?;
        }
    }
    Ok(text)
}

/// Returns a text with the last stair that passed and the first that did not.
fn edge(stairs: &[Stair], times: &[Compact], is_kind: fn(&Kind) -> bool) -> String {
    // A walk may end before the last stairs.
    let is_reached = |times: &Compact| times.count() > 0;
    let of_kind = || {
        let all = stairs.iter().zip(times);
        all.filter(|(stair, times)| is_kind(&stair.kind) && is_reached(times))
    };
    let holds = |times: &Compact| p95(times).is_some_and(|ms| ms <= LIMIT_MS);
    let held = of_kind().take_while(|(_, times)| holds(times)).last();
    let broke = of_kind().find(|(_, times)| !holds(times));
    let word = |found: Option<(&Stair, &Compact)>| {
        found.map_or_else(|| "none".to_owned(), |(stair, _)| stair.kind.to_string())
    };
    format!("held {}, broke {}", word(held), word(broke))
}

fn p95(times: &Compact) -> Option<f64> {
    times.percentile(Ratio::new(0.95)).map(|time| time.0 as f64 / 1e6)
}

/// Returns the response times of each action on each stair. An action that is unfinished at the end
/// of a stair counts with its age, which is less than its final time.
fn times(walk: &Walk) -> Result<Times> {
    let stairs = walk.stairs.all();
    let began = Duration::from_secs_f64(walk.seen.began_s);
    let at = |time: Nanos| began + Duration::from_nanos(time.0);
    let place = |start: Nanos| {
        let begin = at(start);
        stairs.iter().position(|stair| stair.from + SETTLING <= begin && begin < stair.until)
    };
    let mut times = Times::new();
    let mut add = |name: String, place: usize, more: &Compact| {
        let all = times.entry(name).or_insert_with(|| vec![Compact::default(); stairs.len()]);
        all[place].merge(more);
    };
    for row in read_run::<ActionRecord>(&walk.run)? {
        let row = row?;
        if let Some(place) = place(row.start) {
            add(action(&row.action), place, &row.response);
        }
    }
    for row in read_run::<OpenRecord>(&walk.run)? {
        let row = row?;
        let is_last = |place: usize| at(row.start + row.width) >= stairs[place].until;
        if let (Some(place), OpenOn::Action | OpenOn::Start) = (place(row.start), row.on)
            && is_last(place)
        {
            add(action(&row.name), place, &row.ages);
        }
    }
    Ok(times)
}

/// Returns the name that an action has in both tiles: a real mail's action has a size in its name,
/// a dialogue's has none.
fn action(name: &str) -> String {
    if name.starts_with("send-") { "send-mail".to_owned() } else { name.to_owned() }
}
