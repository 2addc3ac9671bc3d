//! Events of hosts during the measurement of a step with several hosts.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Event of a host, which occurs in every step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PlannedEvent {
    /// Time of the event since the start of each step's measurement, after the warm-up. The
    /// interval after the event is compared with the interval before it.
    pub at: Nanos,
    /// Kind of the event.
    pub kind: EventKind,
    /// Host of the event; absent for `rebalance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Duration, for `stop-host` only.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Nanos>,
    /// Numbers of the tiles that move, counted from 1, for `rebalance` only. If empty, as many
    /// tiles move as are needed so that the numbers of tiles on any two hosts differ by at most
    /// one. Tiles that a step does not have are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<u32>,
    /// Host that the tiles move to. If absent, each goes to the host with the fewest tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Pool of a modelled array to which the disks of the tiles are copied, for `rebalance` in a
    /// simulation: a storage migration, or with `to` a unified migration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<String>,
}

/// Planned event that happens to a host during a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The host's load ends as in a power cut, and the host sends nothing any more. Its tiles
    /// restart on other hosts, as configured in `[restart]`.
    LoseHost,
    /// The host's load pauses for a time.
    StopHost,
    /// Tiles move to other hosts, with the state of their state machines.
    Rebalance,
    /// All tiles of the host move to other hosts, and none returns.
    Drain,
}

impl EventKind {
    /// Returns the name of the kind in a plan.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LoseHost => "lose-host",
            Self::StopHost => "stop-host",
            Self::Rebalance => "rebalance",
            Self::Drain => "drain",
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Restart of a lost host's tiles on the other hosts. Without it, the loss of a host invalidates
/// the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Restart {
    /// Delay of the restart after the loss was detected.
    pub delay: Nanos,
}

/// Problem in a list of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventProblem {
    /// Position of the event, counted from 0.
    pub index: usize,
    /// Invalid key; empty if the whole event is invalid.
    pub key: &'static str,
    /// Description of the problem.
    pub text: String,
}

impl fmt::Display for EventProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.key.is_empty() { "" } else { "." };
        write!(f, "events[{}]{dot}{}: {}", self.index, self.key, self.text)
    }
}

/// Facts that are needed to check events.
#[derive(Debug, Clone, Copy)]
pub struct EventContext<'a> {
    /// Names of the hosts; empty if they are unknown here.
    pub hosts: &'a [String],
    /// Restart of a lost host's tiles, if configured.
    pub restart: Option<Restart>,
    /// Measurement time of a step, if known.
    pub duration: Option<Nanos>,
    /// True if the hosts are those of a modelled array.
    pub is_modelled: bool,
}

/// Finds all problems, in the order of the events.
pub fn event_problems(events: &[PlannedEvent], context: EventContext<'_>) -> Vec<EventProblem> {
    let mut found = Checked { context, problems: Vec::new(), index: 0 };
    for (index, event) in events.iter().enumerate() {
        found.index = index;
        found.shape(event);
        found.names(event);
        found.time(event);
    }
    if found.problems.is_empty() {
        found.course(events);
    }
    found.problems
}

/// Returns the events with their positions, sorted by time.
pub fn in_order(events: &[PlannedEvent]) -> Vec<(usize, &PlannedEvent)> {
    let mut all: Vec<_> = events.iter().enumerate().collect();
    all.sort_by_key(|(_, event)| event.at);
    all
}

struct Checked<'a> {
    context: EventContext<'a>,
    problems: Vec<EventProblem>,
    index: usize,
}

/// State of a host after the events so far.
enum Fate {
    StoppedUntil(Nanos),
    Gone(EventKind),
}

impl Checked<'_> {
    fn add(&mut self, key: &'static str, text: impl Into<String>) {
        self.problems.push(EventProblem { index: self.index, key, text: text.into() });
    }

    /// Checks the keys that are required or allowed for the kind.
    fn shape(&mut self, event: &PlannedEvent) {
        use EventKind::{Drain, LoseHost, Rebalance, StopHost};
        let kind = event.kind;
        match (&event.host, kind) {
            (None, LoseHost | StopHost | Drain) => self.add("kind", format!("{kind} needs a host")),
            (Some(_), Rebalance) => self.add("host", "rebalance needs tiles and a host for them"),
            _ => {}
        }
        match (event.lasts, kind) {
            (None, StopHost) => self.add("kind", "stop-host needs a duration"),
            (Some(Nanos::ZERO), StopHost) => self.add("for", "it must be above 0"),
            (Some(_), LoseHost | Rebalance | Drain) => {
                self.add("for", format!("{kind} takes no duration"));
            }
            _ => {}
        }
        if !event.tiles.is_empty() && kind != Rebalance {
            self.add("tiles", format!("{kind} moves all tiles of a host"));
        }
        if event.tiles.contains(&0) {
            self.add("tiles", "tile numbers start at 1");
        }
        if event.to.is_some() && matches!(kind, LoseHost | StopHost) {
            self.add("to", format!("{kind} moves nothing"));
        }
        self.pool(event);
        if kind == Rebalance && event.tiles.is_empty() != event.to.is_none() && event.pool.is_none()
        {
            let lacks = if event.tiles.is_empty() {
                "the tiles to move are missing"
            } else {
                "the target host is missing"
            };
            self.add(if event.tiles.is_empty() { "to" } else { "tiles" }, lacks);
        }
        if kind == LoseHost && self.context.restart.is_none() {
            self.add("kind", "without [restart] a lost host voids every step");
        }
        if kind == Drain && event.to.is_some() && event.to == event.host {
            self.add("to", "source and target are the same host");
        }
    }

    /// Checks the move of disks to a pool.
    fn pool(&mut self, event: &PlannedEvent) {
        if event.pool.is_none() {
            return;
        }
        if !self.context.is_modelled {
            self.add("pool", "only a modelled array has pools; --operations=move moves real disks");
        } else if event.kind != EventKind::Rebalance {
            self.add("pool", format!("{} moves no disks", event.kind));
        } else if event.tiles.is_empty() {
            self.add("pool", "the tiles to move are missing");
        }
    }

    /// Checks that the hosts exist.
    fn names(&mut self, event: &PlannedEvent) {
        let known = self.context.hosts;
        for (key, name) in [("host", &event.host), ("to", &event.to)] {
            if let Some(name) = name
                && !known.is_empty()
                && !known.contains(name)
            {
                self.add(
                    key,
                    format!("there is no host \"{name}\"; the hosts are {}", known.join(", ")),
                );
            }
        }
    }

    /// Checks that the event is within the measured time.
    fn time(&mut self, event: &PlannedEvent) {
        let Some(duration) = self.context.duration else { return };
        let end = event.at.saturating_add(event.lasts.unwrap_or_default());
        let (key, what) = if event.lasts.is_some() { ("for", "ends") } else { ("at", "is") };
        if end >= duration {
            let text = format!("it {what} at {end}, but a step is measured for {duration}");
            self.add(key, text);
        }
    }

    /// Finds events that contradict each other.
    fn course(&mut self, events: &[PlannedEvent]) {
        let mut fates: BTreeMap<&str, Fate> = BTreeMap::new();
        for (index, event) in in_order(events) {
            self.index = index;
            for (key, name) in [("host", &event.host), ("to", &event.to)] {
                let Some(name) = name else { continue };
                match fates.get(name.as_str()) {
                    Some(Fate::Gone(kind)) if *kind == EventKind::LoseHost => {
                        self.add(key, format!("host \"{name}\" is lost by then"));
                    }
                    Some(Fate::Gone(_)) if event.kind != EventKind::LoseHost => {
                        self.add(key, format!("host \"{name}\" is drained by then"));
                    }
                    Some(Fate::StoppedUntil(until)) if *until > event.at => {
                        self.add(key, format!("host \"{name}\" is stopped until {until}"));
                    }
                    _ => {}
                }
            }
            let Some(host) = &event.host else { continue };
            let fate = match (event.kind, event.lasts) {
                (EventKind::StopHost, lasts) => {
                    Fate::StoppedUntil(event.at.saturating_add(lasts.unwrap_or_default()))
                }
                (kind, _) => Fate::Gone(kind),
            };
            fates.insert(host, fate);
            let gone = fates.values().filter(|fate| matches!(fate, Fate::Gone(_))).count();
            let count = self.context.hosts.len();
            if count > 0 && gone >= count && event.kind != EventKind::StopHost {
                self.add("host", "this was the last host: its tiles have no other host");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str, restart: bool) -> Vec<String> {
        #[derive(Deserialize)]
        struct Events {
            events: Vec<PlannedEvent>,
        }
        let Events { events } = toml::from_str(text).expect(text);
        let hosts = ["a", "b"].map(str::to_owned);
        let restart = restart.then_some(Restart { delay: Nanos::SECOND });
        let duration = Some(Nanos::from_secs(60));
        let context = EventContext { hosts: &hosts, restart, duration, is_modelled: false };
        event_problems(&events, context).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_kind_that_is_whole_is_taken() {
        let text = r#"
            events = [
                { at = "5s", kind = "stop-host", host = "a", for = "4s" },
                { at = "20s", kind = "drain", host = "a" },
                { at = "15s", kind = "rebalance" },
                { at = "10s", kind = "rebalance", tiles = [1, 3], to = "b" },
                { at = "40s", kind = "lose-host", host = "a" },
            ]
        "#;
        assert_eq!(problems(text, true), [""; 0]);
    }

    #[test]
    fn what_lacks_or_contradicts_itself_is_named_with_its_place() {
        for (events, says) in [
            (r#"{ at = "1s", kind = "drain" }"#, "events[0].kind: drain needs a host"),
            (
                r#"{ at = "1s", kind = "drain", host = "c" }"#,
                "events[0].host: there is no host \"c\"; the hosts are a, b",
            ),
            (
                r#"{ at = "1s", kind = "drain", host = "a", to = "a" }"#,
                "events[0].to: source and target are the same host",
            ),
            (
                r#"{ at = "1s", kind = "stop-host", host = "a" }"#,
                "events[0].kind: stop-host needs a duration",
            ),
            (
                r#"{ at = "1s", kind = "stop-host", host = "a", for = "2m" }"#,
                "events[0].for: it ends at 2m 1s, but a step is measured for 1m",
            ),
            (
                r#"{ at = "1m", kind = "drain", host = "a" }"#,
                "events[0].at: it is at 1m, but a step is measured for 1m",
            ),
            (
                r#"{ at = "1s", kind = "rebalance", to = "a" }"#,
                "events[0].to: the tiles to move are missing",
            ),
            (
                r#"{ at = "1s", kind = "rebalance", tiles = [1] }"#,
                "events[0].tiles: the target host is missing",
            ),
            (
                r#"{ at = "1s", kind = "rebalance", tiles = [0], to = "a" }"#,
                "events[0].tiles: tile numbers start at 1",
            ),
            (
                r#"{ at = "1s", kind = "lose-host", host = "a" }"#,
                "events[0].kind: without [restart] a lost host voids every step",
            ),
            (
                r#"{ at = "2s", kind = "drain", host = "a" }, { at = "1s", kind = "drain", host = "b" }"#,
                "events[0].host: this was the last host: its tiles have no other host",
            ),
            (
                r#"{ at = "1s", kind = "stop-host", host = "a", for = "5s" }, { at = "2s", kind = "drain", host = "a" }"#,
                "events[1].host: host \"a\" is stopped until 6 s",
            ),
            (
                r#"{ at = "1s", kind = "drain", host = "a" }, { at = "2s", kind = "rebalance", tiles = [1], to = "a" }"#,
                "events[1].to: host \"a\" is drained by then",
            ),
        ] {
            assert_eq!(problems(&format!("events = [{events}]"), false), [says], "{events}");
        }
        let pool = r#"events = [{ at = "1s", kind = "rebalance", tiles = [1], pool = "fast" }]"#;
        let says = "events[0].pool: only a modelled array has pools; --operations=move moves real \
                    disks";
        assert_eq!(problems(pool, false), [says]);
        let lost = r#"events = [{ at = "1s", kind = "lose-host", host = "a" },
            { at = "2s", kind = "stop-host", host = "a", for = "1s" }]"#;
        assert_eq!(problems(lost, true), ["events[1].host: host \"a\" is lost by then"]);
    }
}
