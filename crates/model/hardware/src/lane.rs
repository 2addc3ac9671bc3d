//! One direction of a wire, shared frame by frame.
//!
//! A real wire sends a frame of each I/O in turn. So 8 KiB beside 1 MiB wait for about their own
//! frames twice over, not for the whole 1 MiB. An event per frame would cost 500 events for 1 MiB
//! of Fibre Channel. The lane computes the turns instead: it is the fluid limit of round robin
//! (processor sharing), in the virtual time of Parekh and Gallager (IEEE/ACM ToN 1 (3), 1993).
//!
//! - Virtual time runs at `1 / n` of real time while `n` messages are on the wire. It is the amount
//!   sent of each message so far, in nanoseconds of an otherwise idle wire.
//! - A message that needs `w` ns alone leaves at virtual time `arrival + w`, which never changes. A
//!   heap sorts messages by this time; arrivals and departures cost `O(log n)`.
//! - Only the first departure has an alarm. The alarm may come early, when others arrived
//!   meanwhile: the lane then sets the next one.
//!
//! Invariants: the wire is never idle while a message is on it; a single message takes exactly its
//! time; equal messages leave in order of arrival. A departure is rounded up to 1 ns. Compared with
//! frames that are really sent in turn, a departure differs by at most two frames of each message
//! on the wire (tested below).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use state_machine::Slab;
use units::Nanos;

use crate::part::Outbox;

/// Number of bits for fractions of a nanosecond in virtual time; 2^54 ns, 208 days, remain for
/// whole nanoseconds.
const FRACTION: u32 = 10;

/// A direction of a link or of a host's port, with the messages on it.
#[derive(Debug)]
pub struct Lane<T> {
    /// Time between the last byte's departure and its arrival.
    latency: Nanos,
    tag: u32,
    /// Messages on the wire, as virtual time of departure, order of arrival, and place in
    /// `messages`.
    on_wire: BinaryHeap<Reverse<(u64, u64, u32)>>,
    messages: Slab<T>,
    virtual_now: u64,
    /// Real time that corresponds to `virtual_now`.
    at: Nanos,
    arrivals: u64,
    /// Messages that left the wire, with their times of arrival at the far end.
    arriving: VecDeque<(Nanos, T)>,
    /// Earliest pending alarm.
    alarm: Option<Nanos>,
    busy: Nanos,
}

impl<T> Lane<T> {
    /// Creates an idle lane; its alarms carry `tag`.
    pub fn new(latency: Nanos, tag: u32) -> Self {
        Self {
            latency,
            tag,
            on_wire: BinaryHeap::new(),
            messages: Slab::new(),
            virtual_now: 0,
            at: Nanos::ZERO,
            arrivals: 0,
            arriving: VecDeque::new(),
            alarm: None,
            busy: Nanos::ZERO,
        }
    }

    /// Puts a message on the wire; `wire` is the time that it needs alone. A message without bytes
    /// takes only the latency.
    pub fn send(&mut self, now: Nanos, wire: Nanos, message: T) {
        self.advance(now);
        self.busy = self.busy.saturating_add(wire);
        if wire == Nanos::ZERO {
            self.arriving.push_back((now.saturating_add(self.latency), message));
            return;
        }
        let departure = self.virtual_now.saturating_add(wire.0.saturating_mul(1 << FRACTION));
        let place = self.messages.insert(message);
        self.on_wire.push(Reverse((departure, self.arrivals, place)));
        self.arrivals += 1;
    }

    /// Advances the lane to the time of an alarm.
    pub fn wake(&mut self, now: Nanos) {
        if self.alarm == Some(now) {
            self.alarm = None;
        }
        self.advance(now);
    }

    /// Takes the next message that has arrived by now.
    pub fn pop(&mut self, now: Nanos) -> Option<T> {
        self.arriving.front().filter(|(at, _)| *at <= now)?;
        self.arriving.pop_front().map(|(_, message)| message)
    }

    /// Sets an alarm for the next arrival, unless an earlier one is pending.
    pub fn arm(&mut self, out: &mut Outbox) {
        let arriving = self.arriving.front().map(|(at, _)| *at);
        let first = arriving.or_else(|| {
            let Reverse((departure, ..)) = self.on_wire.peek()?;
            Some(self.real(*departure).saturating_add(self.latency))
        });
        if let Some(at) = first.filter(|at| self.alarm.is_none_or(|alarm| alarm > *at)) {
            self.alarm = Some(at);
            out.wake_at(at, self.tag);
        }
    }

    /// Returns the wire time of everything sent so far, including messages still on the wire.
    pub const fn busy(&self) -> Nanos {
        self.busy
    }

    /// Converts a virtual time to real time, on the assumption that no message arrives before.
    fn real(&self, departure: u64) -> Nanos {
        let shared = u128::from(departure.saturating_sub(self.virtual_now));
        let span = (shared * self.on_wire.len() as u128).div_ceil(1 << FRACTION);
        self.at.saturating_add(Nanos(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    fn advance(&mut self, now: Nanos) {
        while let Some(Reverse((departure, _, place))) = self.on_wire.peek().copied() {
            let at = self.real(departure);
            if at > now {
                let span = u128::from(now.saturating_sub(self.at).0) << FRACTION;
                let share = span / self.on_wire.len() as u128;
                self.virtual_now += u64::try_from(share).expect("less than up to the departure");
                break;
            }
            self.on_wire.pop();
            (self.virtual_now, self.at) = (departure, at);
            let message = self.messages.remove(place);
            self.arriving.push_back((at.saturating_add(self.latency), message));
        }
        if self.on_wire.is_empty() {
            (self.virtual_now, self.arrivals) = (0, 0);
        }
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Wire time of a frame; the wire time of each message is a multiple of it.
    const FRAME: u64 = 1000;

    /// Returns the arrival of each message at the far end, without latency, and the number of
    /// alarms that the lane set.
    fn lane_ends(messages: &[(u64, u64)]) -> (Vec<u64>, usize) {
        let (mut lane, mut out) = (Lane::new(Nanos::ZERO, 0), Outbox::new());
        let mut ends = vec![0; messages.len()];
        let mut alarms: Vec<Nanos> = Vec::new();
        let mut alarm_count = 0;
        let mut next = 0;
        loop {
            alarms.sort_unstable();
            let arrival = messages.get(next).map(|(at, _)| Nanos(*at));
            match (arrival, alarms.first().copied()) {
                (Some(at), alarm) if alarm.is_none_or(|alarm| at < alarm) => {
                    lane.send(at, Nanos(messages[next].1), next);
                    next += 1;
                }
                (_, Some(at)) => {
                    alarms.remove(0);
                    lane.wake(at);
                    while let Some(number) = lane.pop(at) {
                        ends[number] = at.0;
                    }
                }
                _ => return (ends, alarm_count),
            }
            lane.arm(&mut out);
            alarm_count += out.alarms.len();
            alarms.extend(out.alarms.drain(..).map(|(at, _)| at));
        }
    }

    /// Simulates plainly: sends a frame of each message in turn.
    fn frame_by_frame(messages: &[(u64, u64)]) -> Vec<u64> {
        let mut ends = vec![0; messages.len()];
        let mut turns: VecDeque<(usize, u64)> = VecDeque::new();
        let (mut now, mut next) = (0, 0);
        loop {
            if turns.is_empty() {
                let Some((at, _)) = messages.get(next) else { return ends };
                now = now.max(*at);
            }
            while let Some((_, wire)) = messages.get(next).filter(|(at, _)| *at <= now) {
                turns.push_back((next, *wire));
                next += 1;
            }
            let (number, left) = turns.pop_front().expect("one is on the wire");
            let frame = left.min(FRAME);
            now += frame;
            while let Some((_, wire)) = messages.get(next).filter(|(at, _)| *at <= now) {
                turns.push_back((next, *wire));
                next += 1;
            }
            if left > frame {
                turns.push_back((number, left - frame));
            } else {
                ends[number] = now;
            }
        }
    }

    fn on_wire_max(messages: &[(u64, u64)], ends: &[u64]) -> u64 {
        let count = |at: u64| {
            let spans = messages.iter().zip(ends);
            spans.filter(|((from, _), end)| *from <= at && at <= **end).count() as u64
        };
        messages.iter().map(|(at, _)| count(*at)).max().unwrap_or(0)
    }

    fn messages() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let gap = prop_oneof![Just(0), 0_u64..3000, 0_u64..200_000];
        let wire = prop_oneof![1_u64..5000, Just(FRAME), 1_u64..500_000];
        proptest::collection::vec((gap, wire), 1..40).prop_map(|list| {
            let mut at = 0;
            let at_times = |(gap, wire)| {
                at += gap;
                (at, wire)
            };
            list.into_iter().map(at_times).collect()
        })
    }

    proptest! {
        #[test]
        fn departures_are_those_of_frames_in_turn(messages in messages()) {
            let (ends, _) = lane_ends(&messages);
            let plain = frame_by_frame(&messages);
            let bound = 2 * FRAME * on_wire_max(&messages, &plain);
            for (end, plain) in ends.iter().zip(&plain) {
                prop_assert!(end.abs_diff(*plain) <= bound, "{ends:?} against {plain}, {bound}");
            }
            // Work is conserved: the wire rests at the same times, so the last ends are equal.
            let rounded = messages.len() as u64;
            let last_of = |ends: &[u64]| ends.iter().copied().max().unwrap_or(0);
            let (last, plain) = (last_of(&ends), last_of(&plain));
            prop_assert!((plain..=plain + rounded).contains(&last), "{last}, plain {plain}");
        }

        #[test]
        fn messages_cost_few_alarms_and_repeat_exactly(messages in messages()) {
            let (ends, alarms) = lane_ends(&messages);
            prop_assert!(alarms <= 3 * messages.len(), "{alarms} for {}", messages.len());
            prop_assert_eq!(lane_ends(&messages).0, ends);
        }
    }

    #[test]
    fn message_alone_takes_exactly_its_time() {
        assert_eq!(lane_ends(&[(5, 77), (82, 1), (1000, 1 << 40)]).0, [82, 83, 1000 + (1 << 40)]);
    }

    #[test]
    fn small_message_beside_a_large_one_waits_for_its_own_frames() {
        let (ends, _) = lane_ends(&[(0, 500 * FRAME), (100 * FRAME, 4 * FRAME)]);
        assert_eq!(ends, [504 * FRAME, 108 * FRAME]);
    }

    #[test]
    fn message_without_bytes_overtakes_those_on_the_wire() {
        let (mut lane, mut out) = (Lane::new(Nanos(7), 0), Outbox::new());
        lane.send(Nanos(0), Nanos(100), "data");
        lane.send(Nanos(10), Nanos::ZERO, "command");
        lane.arm(&mut out);
        assert_eq!(out.alarms[0].0, Nanos(17));
        lane.wake(Nanos(17));
        assert_eq!((lane.pop(Nanos(17)), lane.pop(Nanos(17))), (Some("command"), None));
        lane.arm(&mut out);
        assert_eq!(out.alarms[1].0, Nanos(107));
    }
}
