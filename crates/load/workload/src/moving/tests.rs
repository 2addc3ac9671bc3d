//! Instance whose disk moves, on storage that lands and answers in any order, against a plain
//! model of the disks' content.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use spec::workload::Workload;
use state_machine::{
    Content, DiskId, Effects, Event, IoError, IoRequest, Machine, Operation, SplitMix, Token,
};
use units::Nanos;

use super::{Carry, KINDS, MoveOrder, Moved, Task};
use crate::layout::{Instance, InstancePlan};
use crate::{InstanceMachine, build};

const PAGE: u64 = 4096;
/// Users of the disk that moves. Each has a part of its own, so that no two writes under way touch
/// one page, whose order nobody could tell; two parts lie in each block of the move.
const USERS: u32 = 8;
const DISKS: usize = 5;
const DATA: usize = 0;
const MOVED: usize = 2;
const SNAPSHOT: usize = 3;
const MOVED_SNAPSHOT: usize = 4;

fn carried(seed: u64) -> Instance {
    let mut text = String::from(
        r#"
name = "writers"
title = "Writers"
source = "ours"
metric = { unit = "", count = "none" }

[[vm]]
name = "vm"
disk = [{ name = "data", size = "1MiB" }, { name = "log", size = "1MiB" }]
"#,
    );
    for user in 0..USERS {
        let part = format!(
            "address = {{ within = {{ start = \"{}%\", length = \"12.5%\", address = \"uniform\" }} }}",
            f64::from(user) * 12.5
        );
        write!(
            text,
            r#"
[[users]]
name = "user-{user}"
vm = "vm"
load = {{ closed = {{ users = 1, think = "20us" }} }}
mix = {{ "act-{user}" = 1 }}

[[action]]
name = "act-{user}"
steps = [
    {{ write = {{ disk = "data", size = {{ "4k" = 70, "32k" = 30 }}, {part} }} }},
    {{ read = {{ disk = "data", size = "8k", {part} }} }},
    {{ append = {{ disk = "log", size = "4k" }} }},
    {{ flush = {{ disk = "data" }} }},
]
"#
        )
        .expect("a text grows");
    }
    let workload: Workload = toml::from_str(&text).expect("a workload");
    let built = build(&InstancePlan {
        workload: &workload,
        seed,
        round: 0,
        tile: 0,
        position: 0,
        copy: 0,
        footprint: 1.0,
        time_scale: 1.0,
        cpu: None,
        schedule: None,
    });
    let carry = Carry {
        disk: "data".to_owned(),
        moves: true,
        snapshots: true,
        block: 256 << 10,
        outstanding: 3,
    };
    built.expect("builds").carrying(&carry, &workload, seed).expect("has the disk")
}

/// The number of the write that wrote a page last.
type Pages = BTreeMap<u64, u64>;

/// An I/O under way: it lands, and later it is answered.
struct Flight {
    request: IoRequest,
    lands: Nanos,
    answered: Nanos,
    has_landed: bool,
    /// Pages of a write, or pages that a read found.
    pages: Vec<(u64, u64)>,
}

struct Storage {
    machine: InstanceMachine,
    order: Arc<MoveOrder>,
    /// Number of the inner state machine's own kinds.
    kinds: usize,
    now: Nanos,
    timers: Vec<(Nanos, Token)>,
    flights: Vec<Flight>,
    disks: [Pages; DISKS],
    /// Acknowledged writes of the state machine.
    expected: Pages,
    writes: u64,
    /// Pages that reads keep for the request that follows, by token.
    kept: BTreeMap<Token, Vec<(u64, u64)>>,
    random: SplitMix,
    /// The move's I/O, counted from here, that fails.
    fails: Option<u64>,
    /// True if copies write other pages than they are given.
    lies: bool,
    /// Places that were compared and held something else than they were given.
    wrong: u64,
    /// Number of answers to the inner state machine's requests, and to those of the move.
    answers: (u64, u64),
    checked: u64,
}

impl Storage {
    fn new(seed: u64, fails: Option<u64>) -> Self {
        let Instance { machine, kinds, .. } = carried(seed);
        Self {
            order: Arc::clone(machine.move_order().expect("it can move")),
            kinds: kinds.len() - KINDS.len(),
            machine,
            now: Nanos::ZERO,
            timers: Vec::new(),
            flights: Vec::new(),
            disks: Default::default(),
            expected: Pages::new(),
            writes: 0,
            kept: BTreeMap::new(),
            random: SplitMix(seed),
            fails,
            lies: false,
            wrong: 0,
            answers: (0, 0),
            checked: 0,
        }
    }

    fn give(&mut self, event: Event) {
        let mut fx = Effects::default();
        self.machine.handle(self.now, event, &mut fx);
        self.timers.append(&mut fx.timers);
        let mut first_part = Vec::new();
        for request in fx.io {
            let mut pages = Vec::new();
            if request.operation == Operation::Write {
                pages = match self.of_move(&request) {
                    Some("move-write") => self.copied(&request),
                    Some("snapshot-link" | "snapshot-delete") => Vec::new(),
                    Some(_) => std::mem::take(&mut first_part),
                    None => {
                        self.writes += 1;
                        first_part = pages_of(&request).map(|at| (at, self.writes)).collect();
                        first_part.clone()
                    }
                };
            }
            let mut after = || Nanos(self.random.next().unwrap_or(0) % 300_000);
            let (lands, later) = (self.now + after(), after());
            let (answered, has_landed) = (lands + later, false);
            self.flights.push(Flight { request, lands, answered, has_landed, pages });
        }
    }

    /// Pages that a copy writes: those that were read.
    fn copied(&mut self, request: &IoRequest) -> Vec<(u64, u64)> {
        assert_eq!(request.pattern.content, Content::Kept);
        let kept = self.kept.remove(&request.token).expect("it was read before");
        assert_eq!(kept.first().map(|(at, _)| at * PAGE), Some(request.offset));
        let lie = |(at, number)| (at, if self.lies { u64::MAX } else { number });
        kept.into_iter().map(lie).collect()
    }

    /// The name of its kind if it is of the move.
    fn of_move(&self, request: &IoRequest) -> Option<&'static str> {
        let at = usize::from(request.kind.0).checked_sub(self.kinds)?;
        Some(KINDS[at].0)
    }

    /// Lets the next thing happen.
    fn turn(&mut self) {
        let lands = |own: &Flight| if own.has_landed { own.answered } else { own.lands };
        let flight = (0..self.flights.len()).min_by_key(|at| lands(&self.flights[*at]));
        let timer = (0..self.timers.len()).min_by_key(|at| self.timers[*at].0);
        let due = timer.map(|at| self.timers[at].0);
        match flight.map(|at| (at, lands(&self.flights[at]))) {
            Some((at, time)) if due.is_none_or(|due| time <= due) => {
                self.now = time;
                if self.flights[at].has_landed { self.answer(at) } else { self.land(at) }
            }
            _ => {
                let (time, token) = self.timers.swap_remove(timer.expect("something is due"));
                self.now = self.now.max(time);
                self.give(Event::Timer(token));
            }
        }
    }

    fn land(&mut self, at: usize) {
        let Flight { request, pages, has_landed, .. } = &mut self.flights[at];
        *has_landed = true;
        match request.pattern.content {
            Content::Clone(of) => {
                self.disks[usize::from(request.disk.0)] = self.disks[usize::from(of.0)].clone();
                return;
            }
            Content::Discard => return self.disks[usize::from(request.disk.0)].clear(),
            Content::Made | Content::Keep | Content::Kept => {}
        }
        let disk = &mut self.disks[usize::from(request.disk.0)];
        match request.operation {
            Operation::Write => {
                disk.extend(pages.iter().copied().filter(|(_, number)| *number > 0))
            }
            Operation::Read => {
                let held = |at| (at, disk.get(&at).copied().unwrap_or(0));
                *pages = pages_of(request).map(held).collect();
            }
            Operation::Flush => {}
        }
    }

    fn answer(&mut self, at: usize) {
        let Flight { request, pages, .. } = self.flights.swap_remove(at);
        match self.of_move(&request) {
            Some(name) => {
                self.answers.1 += 1;
                if self.fails == Some(self.answers.1) {
                    return self.give(Event::Done(request.token, Err(IoError::Os(5))));
                }
                match request.pattern.content {
                    Content::Keep => {
                        self.kept.insert(request.token, pages);
                    }
                    Content::Kept if name == "move-check" => {
                        let before = self.kept.remove(&request.token).expect("it was read");
                        let mut all = before.iter().chain(&pages);
                        self.wrong += u64::from(all.any(|(_, number)| *number == u64::MAX));
                        if before != pages {
                            return self.give(Event::Done(request.token, Err(IoError::Mismatch)));
                        }
                    }
                    _ => {}
                }
            }
            None => {
                self.answers.0 += 1;
                // The log has numbers of its own.
                if usize::from(request.disk.0) != 1 {
                    match request.operation {
                        Operation::Write => self.expected.extend(pages),
                        Operation::Read => self.check(&pages),
                        Operation::Flush => {}
                    }
                }
            }
        }
        self.give(Event::Done(request.token, Ok(())));
    }

    /// A user reads the data that it wrote last, at the old and at the new place of its disk.
    fn check(&mut self, pages: &[(u64, u64)]) {
        for (at, number) in pages {
            if *number == u64::MAX {
                continue;
            }
            let expected = self.expected.get(at).copied().unwrap_or(0);
            assert_eq!(*number, expected, "page {at} at {}", self.now);
            self.checked += 1;
        }
    }

    /// Moves once, and says how it went.
    fn moves(&mut self) -> Moved {
        self.carries_out(Task::Move)
    }

    fn carries_out(&mut self, task: Task) -> Moved {
        assert!(self.order.ask(task), "no task is under way");
        loop {
            self.turn();
            if let Some(moved) = self.order.told() {
                return moved;
            }
            assert!(self.now < Nanos::from_secs(60), "the move does not end");
        }
    }

    fn for_a_while(&mut self, turns: u32) {
        (0..turns).for_each(|_| self.turn());
    }
}

fn pages_of(request: &IoRequest) -> impl Iterator<Item = u64> + use<> {
    request.offset / PAGE..(request.offset + u64::from(request.length)).div_ceil(PAGE)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn places_are_equal_at_the_switch_over_and_reads_see_writes(seed: u64) {
        let mut storage = Storage::new(seed, None);
        storage.give(Event::Start);
        for turn in 0..3 {
            storage.for_a_while(500);
            let moved = storage.moves();
            prop_assert!(moved.ok(), "move {}: {:?}", turn + 1, moved);
            prop_assert!(moved.began < moved.switched && moved.switched < moved.ended);
            prop_assert!(moved.ended < moved.checked, "places were compared");
        }
        storage.for_a_while(3000);
        prop_assert!(storage.checked > 500, "only {} pages were read", storage.checked);
    }

    #[test]
    fn a_move_that_fails_leaves_the_machine_where_it_was(seed: u64, fails in 1_u64..20) {
        let mut storage = Storage::new(seed, Some(fails));
        storage.give(Event::Start);
        storage.for_a_while(500);
        let failed = storage.moves();
        prop_assume!(!failed.ok() && failed.failed != Some(2));
        storage.for_a_while(2000);
        prop_assert!(storage.checked > 200, "only {} pages were read", storage.checked);
        let writes_there = storage.flights.iter().filter(|own| own.request.disk == DiskId(2));
        prop_assert_eq!(writes_there.count(), 0, "it still writes to where it does not go");
        prop_assert!(storage.moves().ok(), "and the next one succeeds");
        storage.for_a_while(2000);
    }

    #[test]
    fn a_copy_that_is_wrong_fails_in_its_check(seed: u64) {
        let mut storage = Storage::new(seed, None);
        storage.give(Event::Start);
        storage.for_a_while(500);
        storage.lies = true;
        let moved = storage.moves();
        // Writes to both places during the move are checked. Later writes are not compared.
        prop_assert_eq!(storage.wrong > 0, moved.failed == Some(2), "{:?}", moved);
        prop_assert!(moved.checked >= moved.ended, "{:?}", moved);
    }

    #[test]
    fn snapshot_holds_the_disk_as_it_was_while_paused(seed: u64) {
        let mut storage = Storage::new(seed, None);
        storage.give(Event::Start);
        for turn in 0..3 {
            storage.for_a_while(300);
            let keep = Nanos::from_millis(30);
            prop_assert!(storage.order.ask(Task::Snapshot { keep }), "nothing is under way");
            let made = |storage: &Storage| storage.flights.iter().any(|own| {
                matches!(own.request.pattern.content, Content::Clone(_)) && own.has_landed
            });
            while !made(&storage) {
                storage.turn();
            }
            let (of, at) = if turn % 2 == 0 { (DATA, SNAPSHOT) } else { (MOVED, MOVED_SNAPSHOT) };
            let frozen = storage.disks[at].clone();
            prop_assert_eq!(&frozen, &storage.disks[of]);
            // No request was in flight, so the disk has exactly the acknowledged writes.
            prop_assert_eq!(&frozen, &storage.expected, "no write lies between two states");
            storage.for_a_while(30);
            prop_assert_eq!(&frozen, &storage.disks[at], "it changes no more");
            let told = loop {
                storage.turn();
                if let Some(told) = storage.order.told() {
                    break told;
                }
            };
            prop_assert!(told.ok() && told.began < told.switched && told.switched < told.ended);
            prop_assert!(told.ended >= told.switched + keep && told.checked > told.ended);
            prop_assert!(storage.disks[at].is_empty(), "it is gone");
            prop_assert!(storage.moves().ok());
        }
        prop_assert!(storage.checked > 100, "only {} pages were read", storage.checked);
    }
}

#[test]
fn a_machine_that_is_never_asked_does_what_it_would_do_alone() {
    let asked_of = |mut machine: InstanceMachine| {
        let mut fx = Effects::default();
        machine.handle(Nanos::ZERO, Event::Start, &mut fx);
        let io = fx.io.iter().map(|own| (own.disk, own.operation, own.offset, own.pattern));
        (io.collect::<Vec<_>>(), fx.timers.len())
    };
    let with = carried(7).machine;
    let InstanceMachine::Carried(own) = &with else { panic!("it can move") };
    let (alone, timers) = asked_of(own.inner().clone());
    assert_eq!(asked_of(with), (alone, timers + 1), "one timer more, which looks for orders");
}
