//! Table that compares dialogue tiles with a real one.

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

/// Returns the tables of tiles that do the same work, in Markdown.
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
    let is_common = |name: &&String| all.iter().all(|(_, times)| times.contains_key(*name));
    for action in all[0].1.keys().filter(is_common) {
        let heads: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        writeln!(text, "\n| p95 of {action}, ms | {} |", heads.join(" | "))?;
        writeln!(text, "|---|{}", "---|".repeat(all.len()))?;
        for (place, stair) in stairs.all().iter().enumerate() {
            let cells = all.iter().map(|(_, times)| {
                let times = &times[action][place];
                p95(times).map_or_else(
                    || "not reached".to_owned(),
                    |ms| format!("{ms:.0} ({})", times.count()),
                )
            });
            writeln!(text, "| {} | {} |", stair.kind, cells.collect::<Vec<_>>().join(" | "))?;
        }
        for (name, times) in &all {
            // The first fast stair is followed by one kind, the second by another.
            let firsts = stairs.all().windows(2).filter(|two| two[0].kind == Kind::Fast);
            let edges = firsts.map(|two| edge(stairs.all(), &times[action], two[1].kind));
            writeln!(text, "\n{name}: {}.", edges.collect::<Vec<_>>().join("; "))?;
        }
    }
    Ok(text)
}

/// Returns a text with the last stair that passed and the first that did not.
fn edge(stairs: &[Stair], times: &[Compact], kind: Kind) -> String {
    // A walk may end before the last stairs.
    let is_reached = |times: &Compact| times.count() > 0;
    let of_kind = || {
        let all = stairs.iter().zip(times);
        all.filter(|(stair, times)| stair.kind.is_like(kind) && is_reached(times))
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

/// Returns the name that an action has in all tiles. A real mail's action has a size in its name, and
/// a dialogue like real orders has the customer's earlier ones.
fn action(name: &str) -> String {
    let common = [("send-", "send-mail"), ("order-after-", "order"), ("read-", "read-mail")];
    let found = common.iter().find(|(prefix, _)| name.starts_with(prefix));
    found.map_or(name, |(_, common)| common).to_owned()
}
