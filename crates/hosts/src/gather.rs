use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use record::gauge::Gauge;
use record::slice::Slice;

/// Puts the slices of several hosts together: those of one number are one slice of the whole, handed out
/// when everyone's is there, in order.
#[derive(Debug)]
pub(crate) struct Gather {
    hosts: Vec<Queue>,
    next: u64,
    /// When the first of the next number was there.
    first_at: Option<Instant>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeMap<u64, (Slice, Vec<Gauge>)>,
    /// How many there are altogether, once that is known.
    slices: Option<u64>,
    late_max: Duration,
    fetched: u64,
}

/// One slice of the whole.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Each host's own, where it has one.
    pub parts: Vec<Option<(Slice, Vec<Gauge>)>>,
}

impl Gather {
    pub fn new(hosts: usize) -> Self {
        let hosts = (0..hosts).map(|_| Queue::default()).collect();
        Self { hosts, next: 0, first_at: None }
    }

    /// Takes what arrived, however often and in whatever order; whether it was new.
    pub fn put(
        &mut self,
        host: usize,
        number: u64,
        part: (Slice, Vec<Gauge>),
        now: Instant,
    ) -> bool {
        let next = self.next;
        let queue = &mut self.hosts[host];
        if number < next || queue.waiting.contains_key(&number) {
            return false;
        }
        queue.waiting.insert(number, part);
        if number == next {
            let late = self.first_at.map_or(Duration::ZERO, |first| now.duration_since(first));
            self.first_at.get_or_insert(now);
            let queue = &mut self.hosts[host];
            queue.late_max = queue.late_max.max(late);
        }
        true
    }

    /// A host's load has ended after so many.
    pub fn ended(&mut self, host: usize, slices: u64) {
        self.hosts[host].slices = Some(slices);
    }

    /// Nothing more comes from a host.
    pub fn gone(&mut self, host: usize) {
        self.hosts[host].slices = Some(0);
        self.hosts[host].waiting.clear();
    }

    /// The next one, if everyone's is there who still has one.
    pub fn take(&mut self, now: Instant) -> Option<Gathered> {
        let next = self.next;
        let lacks = |queue: &Queue| {
            !queue.waiting.contains_key(&next) && queue.slices.is_none_or(|count| count > next)
        };
        let is_there = self.hosts.iter().any(|queue| queue.waiting.contains_key(&next));
        if !is_there || self.hosts.iter().any(lacks) {
            return None;
        }
        let parts = self.hosts.iter_mut().map(|queue| queue.waiting.remove(&next)).collect();
        self.next += 1;
        let next = self.next;
        // Those of the next that came before were early, not the others late.
        let is_there = self.hosts.iter().any(|queue| queue.waiting.contains_key(&next));
        self.first_at = is_there.then_some(now);
        Some(Gathered { parts })
    }

    /// Whether all have ended and all was handed out.
    pub fn is_over(&self) -> bool {
        self.hosts.iter().all(|queue| queue.slices.is_some_and(|count| count <= self.next))
    }

    /// Whose next one is surely lost, or has been waited for longer than `patience` after another's; and
    /// its number.
    pub fn lost(&self, now: Instant, patience: Duration) -> Vec<(usize, u64)> {
        let waited = self.first_at.map_or(Duration::ZERO, |first| now.duration_since(first));
        let is_lost = |queue: &Queue| {
            let has_later = queue.waiting.range(self.next..).next().is_some();
            let ended = queue.slices.is_some_and(|count| count > self.next);
            let is_done = queue.slices.is_some_and(|count| count <= self.next);
            let is_here = queue.waiting.contains_key(&self.next);
            !is_done && !is_here && (has_later || ended || waited > patience)
        };
        let all = self.hosts.iter().enumerate();
        all.filter(|(_, queue)| is_lost(queue)).map(|(host, _)| (host, self.next)).collect()
    }

    /// Notes that one was asked for again and came.
    pub fn fetched(&mut self, host: usize) {
        self.hosts[host].fetched += 1;
    }

    /// How long the next one of this host is waited for, after another's.
    pub fn waited_for(&self, host: usize, now: Instant) -> Duration {
        let queue = &self.hosts[host];
        let is_due = !queue.waiting.contains_key(&self.next)
            && queue.slices.is_none_or(|count| count > self.next);
        match self.first_at {
            Some(first) if is_due => now.duration_since(first),
            _ => Duration::ZERO,
        }
    }

    /// The longest wait for a host's slices after those of others, and how many were fetched; since
    /// this was last asked.
    pub fn punctuality(&mut self, host: usize) -> (Duration, u64) {
        let queue = &mut self.hosts[host];
        (std::mem::take(&mut queue.late_max), std::mem::take(&mut queue.fetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: u64) -> (Slice, Vec<Gauge>) {
        (Slice { start: units::Nanos(start), ..Slice::default() }, Vec::new())
    }

    fn starts(gathered: &Gathered) -> Vec<Option<u64>> {
        let start = |part: &Option<(Slice, Vec<Gauge>)>| part.as_ref().map(|part| part.0.start.0);
        gathered.parts.iter().map(start).collect()
    }

    #[test]
    fn a_slice_of_the_whole_is_there_when_everyones_is_and_never_twice() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        assert!(gather.put(0, 0, part(10), now));
        assert!(gather.put(0, 1, part(11), now));
        assert!(gather.take(now).is_none(), "the other's is missing");
        assert!(gather.put(1, 0, part(20), now));
        assert!(!gather.put(1, 0, part(99), now), "once is enough");
        assert_eq!(starts(&gather.take(now).expect("both")), [Some(10), Some(20)]);
        assert!(!gather.put(1, 0, part(99), now), "it was handed out");
        assert!(gather.take(now).is_none());
    }

    #[test]
    fn what_is_lost_is_asked_for_and_what_is_only_not_there_yet_is_not() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        let patience = Duration::from_secs(1);
        gather.put(0, 0, part(0), now);
        assert_eq!(gather.lost(now, patience), []);
        assert_eq!(gather.lost(now + patience * 2, patience), [(1, 0)], "waited for too long");
        gather.put(1, 1, part(1), now);
        assert_eq!(gather.lost(now, patience), [(1, 0)], "a later one is there");
        gather.put(1, 0, part(0), now + patience);
        gather.take(now).expect("both");
        assert_eq!(gather.punctuality(1), (patience, 0));
        gather.ended(0, 1);
        assert_eq!(starts(&gather.take(now).expect("the other goes on")), [None, Some(1)]);
        gather.ended(1, 3);
        assert_eq!(gather.lost(now, patience), [(1, 2)], "it says that there is one more");
        assert!(!gather.is_over());
        gather.gone(1);
        assert!(gather.is_over());
    }
}
