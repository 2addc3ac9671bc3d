use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use state_machine::{
    ActionDone, ActionId, ActionOpen, Call, Content, CpuBurst, DiskId, Draws, Effects, Event,
    GroupId, IoRequest, KindId, METADATA, Machine, Observation, Operation, Pattern, Purpose,
    Stream, Token,
};
use units::Nanos;

use crate::address::{Addresses, BlockRequest};
use crate::commit::CommitLog;
use crate::group::{Arrivals, Group, Load, Pace};
use crate::moving::{MoveOrder, POLL, Task};
use crate::payload::Payload;
use crate::program::{Op, Program};

/// Instance of a workload: all its users, their dialogues and its disks' addresses.
#[derive(Debug, Clone)]
pub struct WorkloadMachine {
    pub(crate) program: Program,
    pub(crate) groups: Vec<Group>,
    pub(crate) addresses: Addresses,
    pub(crate) payload: Payload,
    /// True if CPU steps keep a core busy.
    pub(crate) burn: bool,
    pub(crate) seeds: Seeds,
    /// Orders that its steps give for moves of disks and for snapshots.
    pub(crate) orders: Vec<Arc<MoveOrder>>,
    turn: usize,
    /// State of the users that most events need. Rarely needed state is in `asides`, at the same
    /// positions.
    pub(crate) users: Vec<User>,
    pub(crate) asides: Vec<Aside>,
    pub(crate) strands: Vec<Strand>,
    pub(crate) counters: Vec<u32>,
    pub(crate) logs: Vec<CommitLog>,
    /// Time at which the users start.
    begins: Nanos,
}

/// Seeds of an instance's random streams.
#[derive(Debug, Clone)]
pub struct Seeds {
    pub seed: u64,
    /// Tile, position of the workload in the tile, and copy.
    pub path: [u64; 3],
    /// Number of the measurement in the run.
    pub round: u64,
}

impl Seeds {
    /// Creates the random stream for the arrival times of an open group.
    pub fn arrivals(&self, group: usize) -> Stream {
        let [tile, position, copy] = self.path;
        let path = [tile, position, copy, self.round, group as u64];
        Stream::derive(self.seed, &path, Purpose::Arrivals)
    }

    /// Creates the source of the contents of writes.
    pub fn payload(&self) -> Payload {
        let [tile, position, copy] = self.path;
        Payload::new(self.seed, &[tile, position, copy, self.round])
    }

    pub fn user(&self, group: usize, user: usize) -> Stream {
        let [tile, position, copy] = self.path;
        let path = [tile, position, copy, self.round, group as u64, user as u64];
        Stream::derive(self.seed, &path, Purpose::User)
    }
}

/// User, who has one dialogue at a time. It contains the fields that each event needs, in one cache
/// line. A step of 40 tiles has tens of thousands of users. Each is handled rarely, so handling a
/// user is mostly waiting for memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[repr(align(64))]
pub(crate) struct User {
    stream: Stream,
    pub group: u16,
    action: u16,
    is_busy: bool,
    /// True if every I/O and call of the action has succeeded so far.
    pub ok: bool,
    /// True if an I/O or call of the action was answered.
    pub is_answered: bool,
    /// True while a stage is in progress.
    is_on_stage: bool,
    /// Intended start of the action, or of the next one while idle.
    intended: Nanos,
    started: Nanos,
    /// Position of its first strand and counter in the lists of the state machine.
    strands: u32,
    counters: u32,
}

/// State that few events or only some users need.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Aside {
    /// Last stage, if the workload has stages.
    stage: u16,
    stage_began: Nanos,
    /// Order that the user waits for.
    order: Option<u32>,
    /// Random number of the action, if calls have drawn values.
    draw: u64,
    pace: PacedUser,
}

/// Position of a paced user on its grid, and the starts that are overdue.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PacedUser {
    phase: Nanos,
    number: u64,
    behind: VecDeque<Nanos>,
}

/// Position in a dialogue. A user has one strand, and further ones while parts of the dialogue run
/// in parallel.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Strand {
    pub user: u32,
    /// Current instruction.
    pub op: u32,
    /// Instruction to jump to if the action has failed.
    pub exit: u32,
    /// Number of I/Os of the current access, or calls of the current step, that have not completed.
    left: u32,
    /// Number of a copy's block.
    block: u32,
}

/// Target of a timer, in two bits of the token. The other bits are the position of a strand, a user
/// or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Strand = 0,
    User = 1,
    Group = 2,
}

const TIMER_SHIFT: u32 = 30;

/// Limit for the numbers of strands, users and groups.
pub const TOKENS_MAX: u64 = 1 << TIMER_SHIFT;

fn token(timer: Timer, position: u32) -> Token {
    Token((timer as u32) << TIMER_SHIFT | position)
}

impl WorkloadMachine {
    pub(crate) fn new(
        program: Program,
        groups: Vec<Group>,
        addresses: Addresses,
        payload: Payload,
        seeds: Seeds,
    ) -> Self {
        Self {
            logs: vec![CommitLog::default(); program.logs as usize],
            program,
            groups,
            addresses,
            payload,
            burn: false,
            seeds,
            users: Vec::new(),
            asides: Vec::new(),
            strands: Vec::new(),
            counters: Vec::new(),
            orders: Vec::new(),
            turn: 0,
            begins: Nanos::ZERO,
        }
    }

    /// Creates the state machine of another round of the same plan (`InstancePlan::round`). Call it
    /// before this state machine has received an event.
    #[must_use]
    pub fn in_round(&self, round: u64) -> Self {
        let mut other = self.clone();
        other.seeds.round = round;
        other.payload = other.seeds.payload();
        // Orders belong to the state machines of one round.
        other.orders.clear();
        let mut numbers = vec![0; other.groups.len()];
        for user in &mut other.users {
            let group = usize::from(user.group);
            user.stream = other.seeds.user(group, numbers[group]);
            numbers[group] += 1;
        }
        for (number, group) in other.groups.iter_mut().enumerate() {
            if let Load::Open(arrivals) = &mut group.load {
                arrivals.stream = other.seeds.arrivals(number);
            }
        }
        other
    }

    /// Reserves memory for exactly `users` more users.
    pub(crate) fn make_room(&mut self, users: usize) {
        self.users.reserve_exact(users);
        self.asides.reserve_exact(users);
        self.strands.reserve_exact(users * self.program.strands as usize);
        self.counters.reserve_exact(users * self.program.counters as usize);
    }

    /// Adds a user with this number in its group.
    pub(crate) fn add_user(&mut self, group: usize, number: usize) -> u32 {
        let position = u32::try_from(self.users.len()).expect("users were counted before");
        let strands = u32::try_from(self.strands.len()).expect("strands were counted before");
        let counters = u32::try_from(self.counters.len()).expect("counters were counted before");
        let strand = Strand { user: position, op: 0, exit: 0, left: 0, block: 0 };
        self.strands.extend((0..self.program.strands).map(|_| strand));
        self.counters.extend((0..self.program.counters).map(|_| 0));
        self.asides.push(Aside::default());
        self.users.push(User {
            stream: self.seeds.user(group, number),
            group: u16::try_from(group).expect("groups were counted before"),
            action: 0,
            is_busy: false,
            ok: true,
            is_answered: false,
            is_on_stage: false,
            intended: Nanos::ZERO,
            started: Nanos::ZERO,
            strands,
            counters,
        });
        position
    }

    /// Sets the time at which the users start. Starts before this time are skipped.
    pub(crate) fn begin_at(&mut self, at: Nanos) {
        self.begins = at;
    }

    fn start(&mut self, now: Nanos, fx: &mut Effects) {
        let begins = self.begins;
        for user in 0..self.users.len() {
            let user = u32::try_from(user).expect("users were counted before");
            let Self { users, asides, groups, .. } = self;
            let state = &mut users[user as usize];
            match &groups[usize::from(state.group)].load {
                Load::Closed { think } => {
                    let ready = begins.saturating_add(think.part(&mut state.stream));
                    self.closed_next(user, now, ready, fx);
                }
                Load::Paced { pace, .. } => {
                    let own = &mut asides[user as usize].pace;
                    own.phase = pace.phase(&mut state.stream);
                    let group = &groups[usize::from(state.group)];
                    while next_on_grid(own, pace, group).is_some_and(|at| at < begins) {
                        own.number += 1;
                    }
                    self.paced_due(user, now, fx);
                }
                Load::Open(_) => {}
            }
        }
        for group in 0..self.groups.len() {
            let Group { load, windows, .. } = &mut self.groups[group];
            if let Load::Open(arrivals) = load
                && arrivals.draw_from(begins, windows).is_some()
            {
                self.arrive(group, now, fx);
            }
        }
    }

    /// Lets a closed user start its next action when it is ready.
    fn closed_next(&mut self, user: u32, now: Nanos, ready: Nanos, fx: &mut Effects) {
        let state = &mut self.users[user as usize];
        let group = &self.groups[usize::from(state.group)];
        let Load::Closed { think } = group.load else { return };
        let Some(at) = group.closed_start(ready, think, &mut state.stream) else {
            // A user that never starts again must not count as overdue.
            state.intended = Nanos::MAX;
            return;
        };
        if at <= now {
            self.begin(user, at, now, fx);
        } else {
            state.intended = at;
            fx.wake_at(at, token(Timer::User, user));
        }
    }

    /// Takes all intended starts of a paced user that are due, and sets a timer for the next.
    fn paced_due(&mut self, user: u32, now: Nanos, fx: &mut Effects) {
        loop {
            let state = &self.users[user as usize];
            let own = &mut self.asides[user as usize].pace;
            let group = &self.groups[usize::from(state.group)];
            let Load::Paced { pace, backlog } = &group.load else { return };
            let Some(intended) = next_on_grid(own, pace, group) else { return };
            if intended > now {
                fx.wake_at(intended, token(Timer::User, user));
                return;
            }
            own.number += 1;
            if !state.is_busy {
                self.begin(user, intended, now, fx);
            } else if own.behind.len() < *backlog {
                own.behind.push_back(intended);
            } else {
                let group = GroupId(state.group);
                fx.observe(Observation::Dropped { group, intended });
            }
        }
    }

    /// Takes all arrivals of an open group that are due, and sets a timer for the next.
    fn arrive(&mut self, group: usize, now: Nanos, fx: &mut Effects) {
        loop {
            let Group { load, windows, .. } = &mut self.groups[group];
            let Load::Open(arrivals) = load else { return };
            let intended = arrivals.next;
            let position = u32::try_from(group).expect("groups were counted before");
            if intended > now {
                fx.wake_at(intended, token(Timer::Group, position));
                return;
            }
            let has_next = arrivals.draw(windows).is_some();
            if let Some(user) = self.free_user(group) {
                self.begin(user, intended, now, fx);
            } else {
                self.wait_in_line(group, intended, fx);
            }
            if !has_next {
                return;
            }
        }
    }

    /// Returns an idle user of an open group, or creates one if the limit allows it.
    fn free_user(&mut self, group: usize) -> Option<u32> {
        let arrivals = self.arrivals(group)?;
        if let Some(user) = arrivals.free.pop() {
            return Some(user);
        }
        if arrivals.made == arrivals.limit {
            return None;
        }
        let number = arrivals.made;
        arrivals.made += 1;
        Some(self.add_user(group, number))
    }

    fn wait_in_line(&mut self, group: usize, intended: Nanos, fx: &mut Effects) {
        let id = GroupId(u16::try_from(group).expect("groups were counted before"));
        let Some(arrivals) = self.arrivals(group) else { return };
        if arrivals.waiting.len() < arrivals.limit {
            arrivals.waiting.push_back(intended);
        } else {
            fx.observe(Observation::Dropped { group: id, intended });
        }
    }

    fn arrivals(&mut self, group: usize) -> Option<&mut Arrivals> {
        match &mut self.groups[group].load {
            Load::Open(arrivals) => Some(arrivals),
            Load::Closed { .. } | Load::Paced { .. } => None,
        }
    }

    /// Starts a user's next action.
    #[inline]
    fn begin(&mut self, user: u32, intended: Nanos, now: Nanos, fx: &mut Effects) {
        let state = &mut self.users[user as usize];
        debug_assert!(!state.is_busy, "a user does one action at a time");
        state.action = self.groups[usize::from(state.group)].action(now, &mut state.stream);
        (state.is_busy, state.ok, state.is_answered) = (true, true, false);
        (state.intended, state.started) = (intended, now);
        if self.program.has_draws {
            self.asides[user as usize].draw = state.stream.bits();
        }
        let dialogue = self.program.dialogues[usize::from(state.action)];
        let strand = state.strands;
        self.strands[strand as usize].op = dialogue.entry;
        self.strands[strand as usize].exit = dialogue.exit;
        self.run(strand, now, fx);
    }

    /// Reports a user's completed action. Lets the user continue as its group's load requires.
    fn finish(&mut self, user: u32, now: Nanos, fx: &mut Effects) {
        let state = &mut self.users[user as usize];
        if std::mem::take(&mut state.is_on_stage) {
            // The action failed in this stage.
            let Aside { stage, stage_began, .. } = self.asides[user as usize];
            self.tell_stage(user, stage, (stage_began, now), false, fx);
        }
        let state = &mut self.users[user as usize];
        state.is_busy = false;
        fx.observe(Observation::Action(ActionDone {
            action: ActionId(state.action),
            group: GroupId(state.group),
            intended: state.intended,
            started: state.started,
            finished: now,
            ok: state.ok,
        }));
        let next = match &mut self.groups[usize::from(state.group)].load {
            Load::Closed { think } => {
                let ready = now.saturating_add(think.draw(&mut state.stream));
                return self.closed_next(user, now, ready, fx);
            }
            Load::Paced { .. } => self.asides[user as usize].pace.behind.pop_front(),
            Load::Open(arrivals) => {
                let next = arrivals.waiting.pop_front();
                if next.is_none() {
                    arrivals.free.push(user);
                }
                next
            }
        };
        if let Some(intended) = next {
            self.begin(user, intended, now, fx);
        }
    }

    /// Advances a strand after the event that it waited for.
    #[inline]
    fn proceed(&mut self, strand: u32, now: Nanos, fx: &mut Effects) {
        let state = &mut self.strands[strand as usize];
        if state.left > 1 && self.users[state.user as usize].ok {
            state.left -= 1;
            match self.program.ops[state.op as usize] {
                Op::Access(access) => return self.issue(strand, access, now, fx),
                Op::Call(call) => return self.call(strand, call, now, fx),
                _ => {}
            }
        }
        state.left = 0;
        state.op += 1;
        self.run(strand, now, fx);
    }

    /// Runs a strand until it waits for an event.
    pub(crate) fn run(&mut self, mut strand: u32, now: Nanos, fx: &mut Effects) {
        loop {
            let state = &mut self.strands[strand as usize];
            let user = &mut self.users[state.user as usize];
            if !user.ok {
                state.op = state.exit;
            }
            let counters = user.counters;
            match self.program.ops[state.op as usize] {
                Op::Access(access) => {
                    state.left = self.program.accesses[access as usize].count;
                    return self.issue(strand, access, now, fx);
                }
                Op::Flush { disk, kind } => {
                    return fx.submit(flush(Token(strand), (disk, kind), due(user, now)));
                }
                Op::Call(call) => {
                    state.left = self.program.calls[call as usize].count;
                    return self.call(strand, call, now, fx);
                }
                Op::Cpu(cost) => {
                    let cost = cost.draw(&mut user.stream);
                    let vm = self.groups[usize::from(user.group)].vm;
                    let (token, burn) = (Token(strand), self.burn);
                    return fx.run_cpu(CpuBurst { token, cost, burn, vm });
                }
                Op::Wait(time) => {
                    let at = now.saturating_add(time.draw(&mut user.stream));
                    return fx.wake_at(at, token(Timer::Strand, strand));
                }
                Op::Loop { counter, times } => {
                    self.counters[(counters + counter) as usize] = times;
                    state.op += 1;
                }
                Op::Again { counter, body } => {
                    let left = &mut self.counters[(counters + counter) as usize];
                    *left -= 1;
                    state.op = if *left > 0 { body } else { state.op + 1 };
                }
                Op::Fork { counter, first, count, next } => {
                    state.op = next;
                    let base = user.strands;
                    self.counters[(counters + counter) as usize] = count;
                    return self.fork(base, first..first + count, now, fx);
                }
                Op::Join { counter, parent } => {
                    let left = &mut self.counters[(counters + counter) as usize];
                    *left -= 1;
                    if *left > 0 {
                        return;
                    }
                    strand = user.strands + parent;
                }
                Op::CopyRead { copy, counter, done } => {
                    let next = &mut self.counters[(counters + counter) as usize];
                    let copied = &self.program.copies[copy as usize];
                    if *next == copied.blocks {
                        state.op = done;
                    } else {
                        state.block = copied.place(*next, &mut user.stream);
                        *next += 1;
                        return self.copy(strand, copy, Content::Keep, now, fx);
                    }
                }
                Op::CopyWrite(copy) => {
                    return self.copy(strand, copy, Content::Kept, now, fx);
                }
                Op::Goto(op) => state.op = op,
                Op::Whole { disk, kind, content } => {
                    let asked = flush(Token(strand), (disk, kind), due(user, now));
                    return fx.submit(of_disk(asked, content));
                }
                Op::Enter { log, leave } => {
                    if !self.enter(strand, log, leave) {
                        return;
                    }
                }
                Op::Leave { log } => self.leave(strand, log, now, fx),
                Op::Begin(stage) => {
                    let aside = &mut self.asides[state.user as usize];
                    (aside.stage, aside.stage_began, user.is_on_stage) = (stage, now, true);
                    state.op += 1;
                }
                Op::Finish(stage) => {
                    let times = (self.asides[state.user as usize].stage_began, now);
                    user.is_on_stage = false;
                    state.op += 1;
                    let user = state.user;
                    self.tell_stage(user, stage, times, true, fx);
                }
                Op::Ask { .. } => return self.ask(strand, now, fx),
                Op::End => {
                    let user = state.user;
                    return self.finish(user, now, fx);
                }
            }
        }
    }

    /// Reads a block for a copy or comparison and keeps it, or carries out the second half with the
    /// kept block.
    fn copy(&mut self, strand: u32, copy: u32, content: Content, now: Nanos, fx: &mut Effects) {
        let copy = &self.program.copies[copy as usize];
        let state = self.strands[strand as usize];
        let (disk, kind, operation) = match content {
            Content::Kept => (copy.to, copy.write, copy.then),
            _ => (copy.from, copy.read, Operation::Read),
        };
        fx.submit(IoRequest {
            token: Token(strand),
            disk,
            operation,
            kind,
            offset: u64::from(state.block) * u64::from(copy.length),
            length: copy.length,
            due: due(&self.users[state.user as usize], now),
            pattern: Pattern { content, ..Pattern::default() },
            durable: false,
        });
    }

    /// Reports a stage as an action.
    fn tell_stage(
        &self,
        user: u32,
        stage: u16,
        (began, ended): (Nanos, Nanos),
        ok: bool,
        fx: &mut Effects,
    ) {
        fx.observe(Observation::Action(ActionDone {
            action: ActionId(stage),
            group: GroupId(self.users[user as usize].group),
            intended: began,
            started: began,
            finished: ended,
            ok,
        }));
    }

    /// Orders a task on a disk of a running VM, or checks if the task is complete.
    fn ask(&mut self, strand: u32, now: Nanos, fx: &mut Effects) {
        let Strand { user, op, .. } = self.strands[strand as usize];
        let Op::Ask { task, stages } = self.program.ops[op as usize] else { return };
        if self.orders.is_empty() {
            return self.ask_nobody(strand, task, now, fx);
        }
        let asked = self.asides[user as usize].order;
        if let Some(moved) = asked.and_then(|at| self.orders[at as usize].told()) {
            self.asides[user as usize].order = None;
            let state = &mut self.users[user as usize];
            state.is_answered = true;
            state.ok &= moved.ok();
            for (stage, (times, ok)) in stages.into_iter().zip(moved.stages()) {
                self.tell_stage(user, stage, times, ok, fx);
            }
            return self.proceed(strand, now, fx);
        }
        if asked.is_none() {
            let count = self.orders.len();
            let turns = (self.turn..self.turn + count).map(|turn| turn % count.max(1));
            if let Some(at) = turns.into_iter().find(|at| self.orders[*at].ask(task)) {
                self.turn = (at + 1) % count;
                self.asides[user as usize].order = u32::try_from(at).ok();
            }
        }
        fx.wake_at(now + POLL, token(Timer::Strand, strand));
    }

    /// Skips a task if there is no VM (ideal storage, warming). A move then takes no time, and a
    /// snapshot takes the time for which it is kept.
    fn ask_nobody(&mut self, strand: u32, task: Task, now: Nanos, fx: &mut Effects) {
        let user = self.strands[strand as usize].user as usize;
        let order = &mut self.asides[user].order;
        if let (Task::Snapshot { keep }, None) = (task, *order) {
            *order = Some(u32::MAX);
            return fx.wake_at(now + keep, token(Timer::Strand, strand));
        }
        *order = None;
        self.users[user].is_answered = true;
        self.proceed(strand, now, fx);
    }

    fn fork(&mut self, base: u32, branches: std::ops::Range<u32>, now: Nanos, fx: &mut Effects) {
        for branch in branches {
            let branch = self.program.branches[branch as usize];
            let strand = base + branch.strand;
            self.strands[strand as usize].op = branch.entry;
            self.strands[strand as usize].exit = branch.exit;
            self.run(strand, now, fx);
        }
    }

    /// Submits one I/O of an access.
    #[inline]
    fn issue(&mut self, strand: u32, access: u32, now: Nanos, fx: &mut Effects) {
        let access = &self.program.accesses[access as usize];
        let user = &mut self.users[self.strands[strand as usize].user as usize];
        let block = &access.blocks[access.size.draw(&mut user.stream)];
        let is_write = access.operation == Operation::Write;
        let mut wanted = BlockRequest { now, length: block.length, is_write };
        let offset = self.addresses.offset(&block.place, &mut wanted, &mut user.stream);
        let pattern = if is_write { self.payload.next(&access.data) } else { Pattern::default() };
        let durable = access.durable > 0.0 && user.stream.chance(access.durable);
        fx.submit(IoRequest {
            token: Token(strand),
            disk: access.disk,
            operation: access.operation,
            kind: access.kind,
            offset,
            length: wanted.length,
            due: due(user, now),
            pattern,
            durable,
        });
    }

    /// Makes one call.
    fn call(&mut self, strand: u32, call: u32, now: Nanos, fx: &mut Effects) {
        let call = &self.program.calls[call as usize];
        let number = self.strands[strand as usize].user as usize;
        let user = &mut self.users[number];
        // A text without values takes nothing of the stream, so what earlier seeds mean stays.
        let draws = match call.has_draws {
            true => Draws { call: user.stream.bits(), action: self.asides[number].draw },
            false => Draws::default(),
        };
        fx.call(Call {
            token: Token(strand),
            endpoint: call.endpoint,
            kind: call.kind,
            due: due(user, now),
            size: call.size,
            draws,
        });
    }

    fn fired(&mut self, now: Nanos, Token(bits): Token, fx: &mut Effects) {
        let position = bits & ((1 << TIMER_SHIFT) - 1);
        if bits >> TIMER_SHIFT == Timer::Strand as u32 {
            let op = self.strands[position as usize].op;
            match self.program.ops[op as usize] {
                Op::Ask { .. } => self.ask(position, now, fx),
                _ => self.proceed(position, now, fx),
            }
        } else if bits >> TIMER_SHIFT == Timer::Group as u32 {
            self.arrive(position as usize, now, fx);
        } else {
            let state = &self.users[position as usize];
            match self.groups[usize::from(state.group)].load {
                Load::Closed { .. } => self.begin(position, state.intended, now, fx),
                Load::Paced { .. } | Load::Open(_) => self.paced_due(position, now, fx),
            }
        }
    }
}

impl Machine for WorkloadMachine {
    fn handle(&mut self, now: Nanos, event: Event, fx: &mut Effects) {
        match event {
            Event::Start => self.start(now, fx),
            Event::Timer(token) => self.fired(now, token, fx),
            Event::Done(Token(strand), result) => {
                let user = &mut self.users[self.strands[strand as usize].user as usize];
                user.is_answered = true;
                user.ok &= result.is_ok();
                self.proceed(strand, now, fx);
            }
            Event::Ran(Token(strand)) => self.proceed(strand, now, fx),
        }
    }

    /// Lists waiting actions. A start that waits behind the current action of a paced user counts
    /// as this action. Any other start that has not begun counts as its group's first action.
    fn waiting_for(&self, now: Nanos, each: &mut dyn FnMut(ActionOpen)) {
        for (user, aside) in self.users.iter().zip(&self.asides) {
            let group = &self.groups[usize::from(user.group)];
            let first = group.mix.actions.first().copied().unwrap_or_default();
            let action = ActionId(if user.is_busy { user.action } else { first });
            let mut open = |intended, has_begun| each(ActionOpen { action, has_begun, intended });
            let is_due = matches!(group.load, Load::Closed { .. }) && user.intended < now;
            if user.is_busy || is_due {
                open(user.intended, user.is_busy);
            }
            if let Load::Paced { pace, .. } = &group.load {
                aside.pace.behind.iter().for_each(|intended| open(*intended, false));
                // A driver that was blocked has not fired these timers.
                (aside.pace.number..)
                    .map_while(|number| start_on_grid(&aside.pace, number, pace, group))
                    .take_while(|intended| *intended < now)
                    .for_each(|intended| open(intended, false));
            }
        }
        for group in &self.groups {
            let Load::Open(arrivals) = &group.load else { continue };
            let Some(action) = group.mix.actions.first().copied().map(ActionId) else { continue };
            let mut open = |intended| each(ActionOpen { action, has_begun: false, intended });
            arrivals.waiting.iter().copied().for_each(&mut open);
            arrivals.due_before(now, &group.windows, open);
        }
    }
}

/// Creates a flush of a disk.
fn flush(token: Token, (disk, kind): (DiskId, KindId), due: Nanos) -> IoRequest {
    let (operation, pattern) = (Operation::Flush, Pattern::default());
    let (offset, length, durable) = (0, 0, false);
    IoRequest { token, disk, operation, kind, offset, length, due, pattern, durable }
}

/// Converts a request into a request about a whole disk. Models treat it as a durable write of
/// metadata.
fn of_disk(request: IoRequest, content: Content) -> IoRequest {
    let pattern = Pattern { content, ..Pattern::default() };
    let (operation, length) = (Operation::Write, METADATA);
    IoRequest { operation, length, pattern, durable: true, ..request }
}

/// Returns the intended start of an I/O or call that is issued now. Before the action's first
/// answer, an I/O is as late as the action's start. Later ones follow answers and are due when they
/// are issued.
#[inline]
fn due(user: &User, now: Nanos) -> Nanos {
    if user.is_answered {
        now
    } else {
        now.saturating_sub(user.started.saturating_sub(user.intended))
    }
}

fn next_on_grid(user: &PacedUser, pace: &Pace, group: &Group) -> Option<Nanos> {
    start_on_grid(user, user.number, pace, group)
}

fn start_on_grid(user: &PacedUser, number: u64, pace: &Pace, group: &Group) -> Option<Nanos> {
    group.windows.at_active(pace.start(user.phase, number)?)
}
