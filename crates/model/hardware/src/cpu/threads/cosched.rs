//! Relaxed co-scheduling: virtual CPUs that are far ahead of a sibling wait for it.

use units::Nanos;

use super::{Machine, Moment, Position, State, ThreadQueues, VirtualCpu, Waiting, index};

/// Virtual CPUs whose state changes because of their lead, by the places of their bursts.
#[derive(Debug, Default)]
pub struct Skewed {
    /// Running ones that are too far ahead.
    pub stop: Vec<u32>,
    /// Stopped ones that may run again.
    pub start: Vec<u32>,
}

impl ThreadQueues {
    /// Returns the virtual CPUs to stop and to start. They are none unless a check is due at `now`.
    pub fn skewed(&self, now: Nanos) -> Skewed {
        let mut skewed = Skewed::default();
        let own = &self.parameters;
        let has_skew = self.waiting_with_siblings > 0 || self.stopped > 0;
        if !has_skew || own.co_stop == Nanos::ZERO || !now.0.is_multiple_of(own.check.0) {
            return skewed;
        }
        for machine in &self.machines {
            if machine.stopped == 0 && (machine.waiting == 0 || machine.running == 0) {
                continue;
            }
            let slowest = machine.slowest(now);
            for cpu in &machine.cpus {
                let lead = cpu.progress_at(now).saturating_sub(slowest);
                match cpu.state {
                    State::Running if lead > own.co_stop => skewed.stop.push(cpu.place),
                    State::Stopped if lead <= own.co_start => skewed.start.push(cpu.place),
                    _ => {}
                }
            }
        }
        skewed
    }

    /// Stops a running virtual CPU, and hands its thread to the slowest sibling that waits.
    pub fn stop(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, thread } = self.bursts[index(place)];
        self.leave_thread(at, place);
        self.shares.stop(at.clock, vm);
        let machine = &mut self.machines[vm];
        machine.change(at.now, cpu, State::Stopped);
        self.stopped += 1;
        let waits = |cpu: &&VirtualCpu| cpu.state == State::Waiting;
        let slowest = machine.cpus.iter().filter(waits).min_by_key(|cpu| cpu.progress);
        let Some(VirtualCpu { thread: from, place, .. }) = slowest.copied() else { return };
        let waiting = &self.threads[from].waiting;
        if let Some(found) = waiting.iter().position(|waiting| waiting.place == place) {
            let waiting = self.take(from, found);
            self.enqueue(at, thread, Waiting { is_next: true, ..waiting });
        }
    }

    /// Makes a stopped virtual CPU wait for a thread again.
    pub fn start(&mut self, at: Moment, place: u32) {
        let Position { vm, cpu, .. } = self.bursts[index(place)];
        let turn = self.shares.ask(at.clock, vm);
        self.stopped -= 1;
        self.wake(at, Waiting { vm, cpu, place, turn, is_next: false });
    }
}

impl Machine {
    /// Returns the progress of the slowest virtual CPU that has work; zero if none has.
    pub(super) fn slowest(&self, now: Nanos) -> Nanos {
        let at_work = self.cpus.iter().filter(|cpu| cpu.state != State::Idle);
        at_work.map(|cpu| cpu.progress_at(now)).min().unwrap_or(Nanos::ZERO)
    }

    pub(super) fn change(&mut self, now: Nanos, cpu: usize, state: State) {
        let own = &mut self.cpus[cpu];
        own.account(now);
        let before = std::mem::replace(&mut own.state, state);
        if let Some(count) = self.count(before) {
            *count -= 1;
        }
        if let Some(count) = self.count(state) {
            *count += 1;
        }
    }

    const fn count(&mut self, state: State) -> Option<&mut usize> {
        match state {
            State::Idle => None,
            State::Waiting => Some(&mut self.waiting),
            State::Running => Some(&mut self.running),
            State::Stopped => Some(&mut self.stopped),
        }
    }
}

impl VirtualCpu {
    fn progress_at(&self, now: Nanos) -> Nanos {
        let running =
            if self.state == State::Running { now.saturating_sub(self.since) } else { Nanos::ZERO };
        self.progress + running
    }

    /// Adds the time since the last change of state.
    pub(super) fn account(&mut self, now: Nanos) {
        self.progress = self.progress_at(now);
        self.since = now;
    }
}
