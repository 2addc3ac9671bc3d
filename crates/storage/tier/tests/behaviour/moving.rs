//! The orders in which two servers can ask each other for a disk, let go of it, be killed and come back, by the functions
//! that decide it.
//!
//! Writes are numbers; a log or a backing store *has* the first so many of them. What a server was told may reach it late,
//! or after it was killed and started again. All states there are are tried, the nearest first.

use std::collections::{HashSet, VecDeque};

use tilemark_tier::ownership::{Course, Pulled, Standing};

const WRITES: u8 = 2;
const KILLS: u8 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mode {
    Through,
    Back,
}

/// Rules that servers keep to.
#[derive(Debug, Clone, Copy)]
struct Rules {
    mode: Mode,
    /// A server that lets go has put all that it has into the backing store before it says so.
    drains: bool,
    /// Nobody opens what another one has open.
    locks: bool,
}

fn all(mode: Mode) -> Rules {
    Rules { mode, drains: true, locks: true }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Server {
    /// None is not running, or does not serve the disk.
    standing: Option<Standing>,
    /// Last write that the server accepted while it owned the disk: it outlives a kill.
    log: u8,
}

/// A message of one server to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Word {
    Pull,
    LetGo,
    /// With what had been answered when it was asked.
    Read(u8),
    /// And with what was found.
    Found(u8, u8),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    servers: [Server; 2],
    /// Server whose log has writes that the backing store lacks; none if the sidecar says *clean*.
    dirty: Option<usize>,
    backing: u8,
    answered: u8,
    /// Writes to the backing store that have not landed: whose, and what it has then.
    late: Vec<(usize, u8)>,
    words: Vec<(usize, Word)>,
    kills: u8,
    wrong: Option<&'static str>,
}

impl State {
    /// Server 0 owns the disk, server 1 asks it.
    fn first(mode: Mode) -> Self {
        let server = |standing| Server { standing: Some(standing), log: 0 };
        Self {
            servers: [server(Standing::Near), server(Standing::Far)],
            dirty: (mode == Mode::Back).then_some(0),
            backing: 0,
            answered: 0,
            late: Vec::new(),
            words: Vec::new(),
            kills: 0,
            wrong: None,
        }
    }

    fn wrong(&self) -> Option<&'static str> {
        let has =
            |server: &&Server| matches!(server.standing, Some(Standing::Near | Standing::Giving));
        if self.servers.iter().filter(has).count() > 1 {
            return Some("both own the disk");
        }
        if self.dirty.is_none() && self.backing < self.answered {
            return Some("the backing store is called clean and lacks what was answered");
        }
        self.wrong
    }

    fn with(&self, what: String, found: &mut Vec<(String, Self)>, change: impl FnOnce(&mut Self)) {
        let mut next = self.clone();
        change(&mut next);
        next.words.sort_unstable();
        next.late.sort_unstable();
        found.push((what, next));
    }

    fn next(&self, rules: Rules) -> Vec<(String, Self)> {
        let mut found = Vec::new();
        for me in 0..2 {
            match self.servers[me].standing {
                None => self.start(me, rules, &mut found),
                Some(standing) => {
                    self.ask(me, standing, &mut found);
                    self.write(me, standing, rules, &mut found);
                    self.work(me, standing, rules, &mut found);
                    if self.kills < KILLS {
                        self.with(format!("{me} is killed"), &mut found, |s| s.kill(me));
                    }
                }
            }
        }
        for at in 0..self.late.len() {
            self.with(format!("{:?} lands", self.late[at]), &mut found, |s| {
                let (me, to) = s.late.remove(at);
                s.backing = to;
                // In mode through that is when it is answered, by whom it was asked if he is there.
                let is_there = s.servers[me].standing.is_some();
                if rules.mode == Mode::Through && is_there {
                    s.answered = s.answered.max(to);
                }
            });
        }
        for at in 0..self.words.len() {
            let (by, word) = self.words[at];
            self.with(format!("{by} is heard: {word:?}"), &mut found, |s| {
                s.words.remove(at);
                s.hear(1 - by, word, rules);
            });
        }
        found
    }

    /// A client reads.
    fn ask(&self, me: usize, standing: Standing, found: &mut Vec<(String, Self)>) {
        let is_asking = self.words.iter().any(|(_, word)| matches!(word, Word::Read(_)));
        match standing.course(false) {
            Course::Ask if !is_asking => {
                self.with(format!("a client of {me} reads"), found, |s| {
                    s.words.push((me, Word::Read(s.answered)));
                });
            }
            Course::Answer if self.servers[me].log < self.answered => {
                self.with(format!("a client of {me} reads"), found, |s| {
                    s.wrong = Some("a read was answered out of an older state");
                });
            }
            _ => {}
        }
    }

    /// A client writes.
    fn write(&self, me: usize, standing: Standing, rules: Rules, found: &mut Vec<(String, Self)>) {
        let is_busy = self.late.iter().any(|(by, _)| *by == me);
        match standing.course(true) {
            Course::Answer
                if self.answered < WRITES && !(rules.mode == Mode::Through && is_busy) =>
            {
                self.with(format!("a client of {me} writes"), found, |s| {
                    s.servers[me].log += 1;
                    let log = s.servers[me].log;
                    match rules.mode {
                        Mode::Back => s.answered = s.answered.max(log),
                        Mode::Through => s.late.push((me, log)),
                    }
                });
            }
            Course::Pull => self.with(format!("a client of {me} writes"), found, |s| {
                s.servers[me].standing = Some(Standing::Pulling);
                s.words.push((me, Word::Pull));
            }),
            _ => {}
        }
    }

    /// Steps that a server takes by itself.
    fn work(&self, me: usize, standing: Standing, rules: Rules, found: &mut Vec<(String, Self)>) {
        let log = self.servers[me].log;
        let is_busy = self.late.iter().any(|(by, _)| *by == me);
        match standing {
            Standing::Near | Standing::Giving if !is_busy && self.backing < log => {
                self.with(format!("{me} destages"), found, |s| s.late.push((me, log)));
            }
            Standing::Pulling if !self.words.contains(&(me, Word::Pull)) => {
                self.with(format!("{me} asks again"), found, |s| s.words.push((me, Word::Pull)));
                self.with(format!("{me} waits no longer"), found, |s| {
                    s.servers[me].standing = Some(Standing::Far);
                });
            }
            _ => {}
        }
        let is_out = !is_busy && self.backing == log;
        if standing == Standing::Giving && (is_out || !rules.drains) {
            self.with(format!("{me} lets go"), found, |s| {
                s.dirty = None;
                s.servers[me].standing = Some(Standing::Far);
                s.words.push((me, Word::LetGo));
            });
        }
    }

    fn hear(&mut self, me: usize, word: Word, rules: Rules) {
        let Some(standing) = self.servers[me].standing else { return };
        match word {
            // There are two: who asks is the one for whom it was let go of, if it was.
            Word::Pull => match standing.pulled(true) {
                Pulled::Give => self.servers[me].standing = Some(Standing::Giving),
                Pulled::Given => self.words.push((me, Word::LetGo)),
                Pulled::Refused => {}
            },
            Word::LetGo if standing == Standing::Pulling => self.open(me, rules),
            Word::Read(floor) if standing.answers_servers() => {
                self.words.push((me, Word::Found(floor, self.servers[me].log)));
            }
            Word::Found(floor, value) if value < floor => {
                self.wrong = Some("a read was answered out of an older state");
            }
            _ => {}
        }
    }

    fn open(&mut self, me: usize, rules: Rules) {
        let other = &self.servers[1 - me];
        // I/O of a killed process ends before its locks are released.
        let is_locked = matches!(other.standing, Some(Standing::Near | Standing::Giving))
            || self.late.iter().any(|(by, _)| *by != me);
        if self.dirty.is_some_and(|owner| owner != me) || (rules.locks && is_locked) {
            return;
        }
        let log = if self.dirty == Some(me) { self.servers[me].log } else { self.backing };
        self.servers[me] = Server { standing: Some(Standing::Near), log };
        self.dirty = (rules.mode == Mode::Back).then_some(me);
    }

    fn kill(&mut self, me: usize) {
        self.kills += 1;
        self.servers[me].standing = None;
        // Whoever waited for an answer waits for another one.
        self.words.retain(|(by, word)| *by == me || !matches!(word, Word::Read(_)));
        self.words.retain(|(by, word)| *by != me || !matches!(word, Word::Read(_)));
    }

    /// A server is started again, with the disk on its command line, or told to ask the other one
    /// for it.
    fn start(&self, me: usize, rules: Rules, found: &mut Vec<(String, Self)>) {
        if self.late.iter().any(|(by, _)| *by == me) {
            return;
        }
        self.with(format!("{me} is started and opens it"), found, |s| s.open(me, rules));
        if self.servers[1 - me].standing.is_some_and(Standing::answers_servers) {
            self.with(format!("{me} is started and asks for it"), found, |s| {
                s.servers[me].standing = Some(Standing::Far);
            });
        }
    }
}

/// All states in which at most four words are on their way; the steps to one that is wrong.
fn explore(rules: Rules) -> Result<usize, (&'static str, Vec<String>)> {
    let first = State::first(rules.mode);
    let mut seen = HashSet::from([first.clone()]);
    // From which step each came, and by what.
    let mut steps: Vec<(usize, String)> = vec![(0, String::new())];
    let mut todo = VecDeque::from([(first, 0)]);
    while let Some((state, mut step)) = todo.pop_front() {
        if let Some(wrong) = state.wrong() {
            let mut way = Vec::new();
            while step > 0 {
                way.insert(0, steps[step].1.clone());
                step = steps[step].0;
            }
            return Err((wrong, way));
        }
        for (what, next) in state.next(rules) {
            if next.words.len() <= 4 && seen.insert(next.clone()) {
                todo.push_back((next, steps.len()));
                steps.push((step, what));
            }
        }
    }
    Ok(seen.len())
}

#[test]
fn no_order_of_pulls_and_kills_breaks_ownership() {
    for mode in [Mode::Through, Mode::Back] {
        match explore(all(mode)) {
            Ok(states) => assert!(states > 1000, "{states} states are not all there are"),
            Err((wrong, way)) => panic!("{mode:?}: {wrong}:\n  {}", way.join("\n  ")),
        }
    }
}

#[test]
fn each_rule_of_a_pull_is_needed() {
    let without = |rules: Rules, step: &str| {
        let (wrong, way) = explore(rules).expect_err("it goes wrong");
        assert!(way.iter().any(|taken| taken.contains(step)), "{wrong}: {way:?}");
    };
    without(Rules { drains: false, ..all(Mode::Back) }, "lets go");
    without(Rules { drains: false, ..all(Mode::Through) }, "lets go");
    // In mode back a log that is not empty is seen in the sidecar, whoever opens it.
    without(Rules { locks: false, ..all(Mode::Through) }, "opens it");
    assert!(explore(Rules { locks: false, ..all(Mode::Back) }).is_ok(), "the sidecar is enough");
}
