use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Timers of services, the earliest first. Timers that are due at the same moment come in the order
/// in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    heap: BinaryHeap<Reverse<(Instant, u64, usize, u64)>>,
    asked: u64,
}

impl Alarms {
    pub fn add(&mut self, at: Instant, place: usize, alarm: u64) {
        self.heap.push(Reverse((at, self.asked, place, alarm)));
        self.asked += 1;
    }

    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Removes and returns the next timer that is due: the index of its service, and the service's
    /// number for the timer.
    pub fn due(&mut self, now: Instant) -> Option<(usize, u64)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, place, alarm))| (place, alarm))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn alarms_go_off_in_their_order_and_not_before_their_time() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut alarms = Alarms::default();
        alarms.add(later, 0, 1);
        alarms.add(now, 7, 2);
        alarms.add(now, 3, 3);
        assert_eq!(alarms.next(), Some(now));
        assert_eq!(
            [alarms.due(now), alarms.due(now), alarms.due(now)],
            [Some((7, 2)), Some((3, 3)), None]
        );
        assert_eq!((alarms.next(), alarms.due(later)), (Some(later), Some((0, 1))));
        assert_eq!(alarms.next(), None);
    }
}
