//! Stores of several hosts, which are asked in parallel.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::check::{Checked, CheckedContent, CheckedSlices};
use super::host::{HostStore, HostTrouble, ask};
use super::long;
use super::merge::{HostEvidence, HostSets, Merged, Names, merge, rename_evidence, rename_sets};
use super::wire::{Question, SLICES_MAX};
use crate::{SetRow, State};

/// Difference of a host's clock above which it is reported: the width of a slice.
const CLOCK_APART_S: u64 = 10;
/// Range of shown times before and after now: the time that a store keeps, and a day for
/// differences of clocks. Without this limit, a host with a wrong clock would stretch the axis of
/// all hosts.
const PAST_S: u64 = 500 * 86_400;
const AHEAD_S: u64 = 86_400;

/// A host, and notes about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostNote {
    /// Name of the host.
    pub host: String,
    /// Reason why the host was not in the last answer; `None` if it was.
    pub trouble: Option<HostTrouble>,
    /// Seconds by which the host's clock is ahead of this computer's clock, if more than a slice.
    /// The times of the host's slices are then wrong.
    pub clock_ahead_s: Option<i64>,
}

/// State of a host's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostState {
    /// Name of the host.
    pub host: String,
    /// Size and age of the host's store.
    pub state: State,
    /// Begin and end of the store's data, in seconds since 1970.
    pub bounds: Option<(u64, u64)>,
}

/// Stores of several hosts, shown as one. Every answer is checked. A host that does not answer, or
/// sends an impossible answer, is left out until it answers correctly.
pub struct HostStores {
    hosts: Vec<Box<dyn HostStore>>,
    notes: Mutex<Vec<HostNote>>,
    names: Mutex<Names>,
    /// Begin and end of each store's data when its host was last asked.
    bounds: Mutex<Vec<Option<(u64, u64)>>>,
    now_s: fn() -> u64,
}

impl std::fmt::Debug for HostStores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostStores").field("notes", &self.notes).finish_non_exhaustive()
    }
}

impl HostStores {
    /// Makes the stores of these hosts; `now_s` returns the time, in seconds since 1970.
    pub fn new(hosts: Vec<Box<dyn HostStore>>, now_s: fn() -> u64) -> Self {
        let note = |host: &dyn HostStore| HostNote {
            host: host.name().to_owned(),
            trouble: None,
            clock_ahead_s: None,
        };
        let notes = Mutex::new(hosts.iter().map(|host| note(&**host)).collect());
        let bounds = Mutex::new(vec![None; hosts.len()]);
        Self { hosts, notes, names: Mutex::default(), bounds, now_s }
    }

    /// Returns the names of the hosts, in the order in which they were given.
    pub fn names(&self) -> Vec<String> {
        self.hosts.iter().map(|host| host.name().to_owned()).collect()
    }

    /// Returns the hosts, with the result of the last question to each.
    pub fn notes(&self) -> Vec<HostNote> {
        held(&self.notes).clone()
    }

    /// Returns size and age of the stores that answer.
    pub fn states(&self) -> Vec<HostState> {
        let all = self.ask(&Question::State).into_iter();
        let state = |(host, content): (&str, CheckedContent)| match content {
            CheckedContent::State { state, bounds } => {
                let (host, bounds) = (host.to_owned(), self.shown(bounds));
                Some(HostState { host, state, bounds })
            }
            _ => None,
        };
        let states: Vec<HostState> = all.filter_map(state).collect();
        let mut bounds = held(&self.bounds);
        for own in &states {
            let at = self.hosts.iter().position(|host| host.name() == own.host);
            if let Some(known) = at.and_then(|at| bounds.get_mut(at)) {
                *known = own.bounds;
            }
        }
        states
    }

    /// Returns begin and end of the stores' data when each host was last asked for its state. So an
    /// axis does not change while a host is lost. `None` if all are empty.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let all = held(&self.bounds);
        let known = || all.iter().flatten();
        known().map(|own| own.0).min().zip(known().map(|own| own.1).max())
    }

    /// Cuts a time range to the times that are shown.
    fn shown(&self, bounds: Option<(u64, u64)>) -> Option<(u64, u64)> {
        let now_s = (self.now_s)();
        let (from_s, to_s) = bounds?;
        let from_s = from_s.max(now_s.saturating_sub(PAST_S));
        let to_s = to_s.min(now_s.saturating_add(AHEAD_S));
        (from_s < to_s).then_some((from_s, to_s))
    }

    /// Returns the slices that begin in a window, merged as if from one host.
    pub fn window(&self, (from_s, to_s): (u64, u64), slices_max: u64) -> Merged {
        let slices_max = slices_max.min(SLICES_MAX);
        self.merged(self.ask(&Question::Window { from_s, to_s, slices_max }))
    }

    /// Returns the slices that begin in a window, as [`HostStores::window`], but any number of them.
    /// Each host is asked for one part after the other. The slices are coarser if they would exceed
    /// 256 MiB for all hosts together.
    pub fn long_window(&self, window: (u64, u64), slices_max: u64) -> Merged {
        let limits = long::Limits::of_hosts(self.hosts.len());
        self.merged(self.ask_each(|host| long::slices(host, window, slices_max, limits)))
    }

    fn merged(&self, all: Vec<(&str, CheckedContent)>) -> Merged {
        let slices = |(host, content): (_, CheckedContent)| match content {
            CheckedContent::Slices(slices) => Some((host, slices)),
            _ => None,
        };
        let hosts: Vec<(&str, CheckedSlices)> = all.into_iter().filter_map(slices).collect();
        let mut names = held(&self.names);
        for (host, own) in &hosts {
            names.learn_vms(host, &own.vms);
        }
        merge(&mut names, &hosts)
    }

    /// Returns the working sets of the hours that begin in a window, at most one in each `step_s`
    /// seconds.
    pub fn sets(&self, (from_s, to_s): (u64, u64), step_s: u64) -> Vec<HostSets> {
        self.sets_of(self.ask(&Question::Sets { from_s, to_s, step_s }))
    }

    /// Returns the working sets of all hours that begin in a window. Each host is asked for one part
    /// after the other.
    pub fn long_sets(&self, window: (u64, u64)) -> Vec<HostSets> {
        let limits = long::Limits::of_hosts(self.hosts.len());
        self.sets_of(self.ask_each(|host| long::sets(host, window, limits)))
    }

    /// Returns the newest working sets of each VM on each host.
    pub fn newest_sets(&self) -> Vec<HostSets> {
        self.sets_of(self.ask(&Question::NewestSets))
    }

    /// Returns the newest recordings of broken limits of all hosts, the oldest first; at most 1,000
    /// of each host.
    pub fn evidence(&self) -> Vec<HostEvidence> {
        let all = self.ask(&Question::Evidence);
        let mut names = held(&self.names);
        let mut found = Vec::new();
        for (host, content) in all {
            let CheckedContent::Evidence(own) = content else { continue };
            found.extend(own.into_iter().map(|own| rename_evidence(&mut names, host, own)));
        }
        found.sort_by_key(|own| own.evidence.at_s);
        found
    }

    fn sets_of(&self, all: Vec<(&str, CheckedContent)>) -> Vec<HostSets> {
        let mut names = held(&self.names);
        let rows = |(host, content): (&str, CheckedContent)| match content {
            CheckedContent::Sets(rows) => Some((host.to_owned(), rows)),
            _ => None,
        };
        let all: Vec<(String, Vec<SetRow>)> = all.into_iter().filter_map(rows).collect();
        all.into_iter().map(|(host, rows)| rename_sets(&mut names, &host, rows)).collect()
    }

    /// Asks all hosts in parallel. Returns the accepted answers, in the order of the hosts.
    fn ask(&self, question: &Question) -> Vec<(&str, CheckedContent)> {
        self.ask_each(|host| ask(host, question).map(|(answer, _)| answer))
    }

    /// Asks all hosts in parallel, each by one or more questions.
    fn ask_each(
        &self,
        ask: impl Fn(&dyn HostStore) -> Result<Checked, HostTrouble> + Sync,
    ) -> Vec<(&str, CheckedContent)> {
        let before_s = (self.now_s)();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let asked = self.hosts.iter().map(|host| scope.spawn(|| ask(&**host)));
            let asked: Vec<_> = asked.collect();
            let failed = |_| {
                let text = "asking it failed".to_owned();
                Err(HostTrouble { text, hint: None })
            };
            asked.into_iter().map(|one| one.join().unwrap_or_else(failed)).collect()
        });
        let asked_s = (before_s, (self.now_s)());
        let (mut notes, mut names) = (held(&self.notes), held(&self.names));
        let mut found = Vec::new();
        for ((host, note), answer) in self.hosts.iter().zip(notes.iter_mut()).zip(answers) {
            match answer {
                Ok(answer) => {
                    names.learn(host.name(), &answer.known);
                    note.clock_ahead_s = apart(answer.now_s, asked_s);
                    note.trouble = None;
                    found.push((host.name(), answer.content));
                }
                Err(trouble) => note.trouble = Some(trouble),
            }
        }
        found
    }
}

/// Returns the number of seconds by which a host's clock is ahead of the time span of the request
/// (negative if behind it); `None` if the clocks agree within [`CLOCK_APART_S`].
fn apart(theirs_s: u64, (from_s, to_s): (u64, u64)) -> Option<i64> {
    let nearest_s = theirs_s.clamp(from_s, to_s.max(from_s));
    let ahead = i64::try_from(i128::from(theirs_s) - i128::from(nearest_s)).unwrap_or(i64::MAX);
    (ahead.unsigned_abs() > CLOCK_APART_S).then_some(ahead)
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
