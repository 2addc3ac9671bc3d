//! Time for which the kernel blocked a worker during submission.
//!
//! The queue of a device is bounded. A submission beyond it waits in the kernel until a request
//! completes (`blk_mq_get_tag`), and meanwhile the worker's timers are late. The storage causes
//! this delay: requests that are due then wait as they would behind any full queue. Their response
//! time counts from the intended start, and the generator was not late.
//!
//! Invariant: spans do not overlap and are in order of time.

use std::collections::VecDeque;

use units::Nanos;

/// Minimum duration of a submission that counts as blocked. A shorter duration is the work of
/// submitting.
const SPAN_MIN: Nanos = Nanos::from_micros(100);
/// Maximum number of spans kept. The oldest are dropped, so requests due before them are counted as
/// later than they were.
const SPANS_MAX: usize = 1 << 14;

/// Spans in which the worker was blocked.
#[derive(Debug, Default)]
pub(crate) struct BlockedSpans {
    spans: VecDeque<Span>,
    total: Nanos,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    from: Nanos,
    to: Nanos,
    /// Total length of the earlier spans.
    before: Nanos,
}

impl BlockedSpans {
    /// Adds a submission that lasted from `from` to `to`.
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

    /// Returns the lateness at `now` of something due at `due`, minus the time in which the worker
    /// was blocked.
    #[inline]
    pub(crate) fn lateness(&self, due: Nanos, now: Nanos) -> Nanos {
        let late = now.saturating_sub(due);
        if self.spans.back().is_none_or(|last| last.to <= due) {
            return late;
        }
        late.saturating_sub(self.until(now).saturating_sub(self.until(due)))
    }

    /// Returns the total blocked time before `time`.
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
        let mut held = BlockedSpans::default();
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
