//! How long the kernel kept a worker in the hand-over of requests.
//!
//! A device's queue has an end. Who hands over one more request on a file waits in the kernel
//! until one is answered (`blk_mq_get_tag`), and the worker's timers come late meanwhile. That
//! is the storage's doing: what is due then waits as it would behind any full queue, its response
//! time counts from its intended start, and the generator was not late.
//!
//! Invariant: spans do not overlap and come in order of time.

use std::collections::VecDeque;

use units::Nanos;

/// Shorter hand-overs are the work of handing over.
const SPAN_MIN: Nanos = Nanos::from_micros(100);
/// Older spans are forgotten; what was due before them counts as late for longer.
const SPANS_MAX: usize = 1 << 14;

/// Spans of time in which the worker was held.
#[derive(Debug, Default)]
pub(crate) struct Held {
    spans: VecDeque<Span>,
    total: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    from: Nanos,
    to: Nanos,
    /// Sum of the spans before it.
    before: Nanos,
}

impl Held {
    /// A hand-over lasted from `from` to `to`.
    pub(crate) fn add(&mut self, from: Nanos, to: Nanos) {
        let width = to.saturating_sub(from);
        if width < SPAN_MIN {
            return;
        }
        if self.spans.len() == SPANS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(Span { from, to, before: self.total });
        self.total += width;
    }

    /// How late something due at `due` is at `now`, without the time in which the worker was held.
    #[inline]
    pub(crate) fn lateness(&self, due: Nanos, now: Nanos) -> Nanos {
        let late = now.saturating_sub(due);
        if self.spans.back().is_none_or(|last| last.to <= due) {
            return late;
        }
        late.saturating_sub(self.until(now).saturating_sub(self.until(due)))
    }

    /// Sum of what was held before `time`.
    fn until(&self, time: Nanos) -> Nanos {
        let next = self.spans.partition_point(|span| span.to <= time);
        let Some(span) = self.spans.get(next) else { return self.total };
        span.before + time.saturating_sub(span.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_held_after_the_due_time_is_taken_off() {
        let ms = Nanos::from_millis;
        let mut held = Held::default();
        assert_eq!(held.lateness(ms(10), ms(30)), ms(20));
        held.add(ms(10), ms(20));
        held.add(ms(40), ms(50));
        held.add(ms(60), ms(60) + Nanos::from_micros(5));
        assert_eq!(held.lateness(ms(5), ms(65)), ms(40));
        assert_eq!(held.lateness(ms(15), ms(65)), ms(35));
        assert_eq!(held.lateness(ms(25), ms(65)), ms(30));
        assert_eq!(held.lateness(ms(55), ms(65)), ms(10));
        assert_eq!(held.lateness(ms(35), ms(45)), ms(5));
        assert_eq!(held.lateness(ms(55), ms(50)), Nanos::ZERO);
    }
}
