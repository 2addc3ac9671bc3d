use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use run_store::gauge::Gauge;
use run_store::slice::Slice;
use units::Nanos;

/// Merges the slices of several hosts. Slices of the same time become one slice of the whole load.
/// It is handed out in order, as soon as all hosts' parts have arrived.
///
/// Clocks start at one moment and slices end at its multiples, so slices with equal numbers usually
/// cover the same time. A delayed host combines two slices into one, and its later numbers differ.
/// Therefore slices are matched by time, and the merged slice is as long as the longest part.
#[derive(Debug)]
pub(crate) struct Gather {
    hosts: Vec<Queue>,
    /// Time at which the first part of the next slice arrived.
    first_at: Option<Instant>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeMap<u64, (Slice, Vec<Gauge>)>,
    /// Number of the host's next slice to hand out.
    next: u64,
    /// Total number of slices; `None` until it is known.
    slices: Option<u64>,
    late_max: Duration,
    fetched: u64,
}

/// Merged slice.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Each host's own slice with its gauges, if it has one.
    pub parts: Vec<Option<(Slice, Vec<Gauge>)>>,
}

impl Queue {
    /// Returns the slices that can be handed out, in order, up to the first missing one.
    fn ready(&self) -> impl Iterator<Item = &Slice> {
        (self.next..).map_while(|number| self.waiting.get(&number)).map(|(slice, _)| slice)
    }

    /// Returns the number of the first missing slice.
    fn missing(&self) -> u64 {
        self.next + self.ready().count() as u64
    }

    /// Returns true if no slice follows the first `count` slices.
    fn ends_at(&self, count: u64) -> bool {
        self.slices.is_some_and(|slices| slices <= count)
    }

    /// Returns true if all slices until `end` have arrived.
    fn covers(&self, end: Nanos) -> bool {
        self.ends_at(self.missing()) || self.ready().any(|slice| slice.end() >= end)
    }

    /// Returns the end of the slice that contains a moment.
    fn around(&self, moment: Nanos) -> Option<Nanos> {
        let mut ready = self.ready();
        ready.find(|slice| slice.start < moment && moment < slice.end()).map(Slice::end)
    }

    /// Takes all slices until `end` and merges them into one.
    fn take_until(&mut self, end: Nanos) -> Option<(Slice, Vec<Gauge>)> {
        let mut whole: Option<(Slice, Vec<Gauge>)> = None;
        while self.waiting.get(&self.next).is_some_and(|(slice, _)| slice.end() <= end) {
            let Some((slice, gauges)) = self.waiting.remove(&self.next) else { break };
            self.next += 1;
            whole = Some(match whole {
                None => (slice, gauges),
                Some((before, mut all)) => {
                    all.extend(gauges);
                    (before.followed_by(slice), all)
                }
            });
        }
        whole
    }
}

impl Gather {
    pub fn new(hosts: usize) -> Self {
        Self { hosts: (0..hosts).map(|_| Queue::default()).collect(), first_at: None }
    }

    /// Stores an arrived slice, in any order and possibly repeated. Returns true if it was new.
    pub fn put(
        &mut self,
        host: usize,
        number: u64,
        part: (Slice, Vec<Gauge>),
        now: Instant,
    ) -> bool {
        let queue = &mut self.hosts[host];
        if number < queue.next || queue.waiting.contains_key(&number) {
            return false;
        }
        queue.waiting.insert(number, part);
        if number == queue.next {
            let late = self.first_at.map_or(Duration::ZERO, |first| now.duration_since(first));
            queue.late_max = queue.late_max.max(late);
            self.first_at.get_or_insert(now);
        }
        true
    }

    /// Records that a host's load ended after this many slices.
    pub fn ended(&mut self, host: usize, slices: u64) {
        self.hosts[host].slices = Some(slices);
    }

    /// Drops a host and its waiting slices.
    pub fn gone(&mut self, host: usize) {
        self.hosts[host].slices = Some(0);
        self.hosts[host].waiting.clear();
    }

    /// Ends a lost host. Its slices count up to the first missing one.
    pub fn lost_host(&mut self, host: usize) {
        let queue = &mut self.hosts[host];
        let told = queue.missing();
        let slices = queue.slices.map_or(told, |count| count.min(told));
        queue.slices = Some(slices);
        queue.waiting.retain(|number, _| *number < slices);
    }

    /// Returns the next merged slice, if all hosts that have one have sent their parts.
    pub fn take(&mut self, now: Instant) -> Option<Gathered> {
        let end = self.end()?;
        if !self.hosts.iter().all(|queue| queue.covers(end)) {
            return None;
        }
        let parts = self.hosts.iter_mut().map(|queue| queue.take_until(end)).collect();
        // Parts of the following slice that are already there were early; the other hosts are not
        // late.
        let is_there = self.hosts.iter().any(|queue| queue.ready().next().is_some());
        self.first_at = is_there.then_some(now);
        Some(Gathered { parts })
    }

    /// Returns the end of the next merged slice; `None` while a host's part is missing.
    fn end(&self) -> Option<Nanos> {
        let lacks = |queue: &Queue| queue.ready().next().is_none() && !queue.ends_at(queue.next);
        if self.hosts.iter().any(lacks) {
            return None;
        }
        let mut end =
            self.hosts.iter().filter_map(|queue| queue.ready().next()).map(Slice::end).max()?;
        // A delayed host's slice may end later, and in the middle of another's.
        while let Some(later) = self.hosts.iter().filter_map(|queue| queue.around(end)).max() {
            end = later;
        }
        Some(end)
    }

    /// Returns true if the next merged slice waits for this host.
    fn is_awaited(&self, queue: &Queue) -> bool {
        match self.end() {
            Some(end) => !queue.covers(end),
            None => queue.ready().next().is_none() && !queue.ends_at(queue.next),
        }
    }

    /// Returns true if all loads have ended and all slices were handed out.
    pub fn is_over(&self) -> bool {
        self.hosts.iter().all(|queue| queue.ends_at(queue.next))
    }

    /// Returns the hosts whose next slice is surely lost, or is more than `patience` later than
    /// another host's; each with the number of the slice.
    pub fn lost(&self, now: Instant, patience: Duration) -> Vec<(usize, u64)> {
        let waited = self.first_at.map_or(Duration::ZERO, |first| now.duration_since(first));
        let is_lost = |queue: &Queue| {
            let missing = queue.missing();
            let has_later = queue.waiting.range(missing..).next().is_some();
            let is_known = queue.slices.is_some_and(|count| count > missing);
            let is_long = waited > patience && self.is_awaited(queue);
            !queue.ends_at(missing) && (has_later || is_known || is_long)
        };
        let all = self.hosts.iter().enumerate();
        all.filter(|(_, queue)| is_lost(queue))
            .map(|(host, queue)| (host, queue.missing()))
            .collect()
    }

    /// Records that a slice arrived after a repeated request.
    pub fn fetched(&mut self, host: usize) {
        self.hosts[host].fetched += 1;
    }

    /// Returns the wait for this host's next slice since another host's slice arrived.
    pub fn waited_for(&self, host: usize, now: Instant) -> Duration {
        match self.first_at {
            Some(first) if self.is_awaited(&self.hosts[host]) => now.duration_since(first),
            _ => Duration::ZERO,
        }
    }

    /// Returns the longest wait for a host's slices after the slices of other hosts, and the number
    /// of repeated requests, since the last call.
    pub fn punctuality(&mut self, host: usize) -> (Duration, u64) {
        let queue = &mut self.hosts[host];
        (std::mem::take(&mut queue.late_max), std::mem::take(&mut queue.fetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a slice of this many seconds. `submitted` identifies it.
    fn wide(number: u64, seconds: u64, submitted: u64) -> (Slice, Vec<Gauge>) {
        let (start, width) = (Nanos::from_secs(number), Nanos::from_secs(seconds));
        let generator = run_store::slice::GeneratorRow { submitted, ..Default::default() };
        (Slice { start, width, generator, ..Slice::default() }, Vec::new())
    }

    fn part(number: u64, submitted: u64) -> (Slice, Vec<Gauge>) {
        wide(number, 1, submitted)
    }

    fn did(gathered: &Gathered) -> Vec<Option<u64>> {
        let part = |part: &Option<(Slice, Vec<Gauge>)>| Some(part.as_ref()?.0.generator.submitted);
        gathered.parts.iter().map(part).collect()
    }

    #[test]
    fn slice_is_complete_once_every_host_sent_it() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        assert!(gather.put(0, 0, part(0, 10), now));
        assert!(gather.put(0, 1, part(1, 11), now));
        assert!(gather.take(now).is_none(), "the other's is missing");
        assert!(gather.put(1, 0, part(0, 20), now));
        assert!(!gather.put(1, 0, part(0, 99), now), "once is enough");
        assert_eq!(did(&gather.take(now).expect("both")), [Some(10), Some(20)]);
        assert!(!gather.put(1, 0, part(0, 99), now), "it was handed out");
        assert!(gather.take(now).is_none());
    }

    #[test]
    fn lost_slices_are_requested_and_late_ones_are_not() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        let patience = Duration::from_secs(1);
        gather.put(0, 0, part(0, 0), now);
        assert_eq!(gather.lost(now, patience), []);
        assert_eq!(gather.lost(now + patience * 2, patience), [(1, 0)], "waited for too long");
        gather.put(1, 1, part(1, 1), now);
        assert_eq!(gather.lost(now, patience), [(1, 0)], "a later one is there");
        gather.put(1, 0, part(0, 0), now + patience);
        gather.take(now).expect("both");
        assert_eq!(gather.punctuality(1), (patience, 0));
        gather.ended(0, 1);
        assert_eq!(did(&gather.take(now).expect("the other goes on")), [None, Some(1)]);
        gather.ended(1, 3);
        assert_eq!(gather.lost(now, patience), [(1, 2)], "it says that there is one more");
        assert!(!gather.is_over());
        gather.gone(1);
        assert!(gather.is_over());
    }

    #[test]
    fn what_a_lost_host_told_counts_up_to_the_first_that_is_missing() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        for number in [0, 1, 3] {
            gather.put(1, number, part(number, number), now);
        }
        gather.lost_host(1);
        for number in 0..4 {
            gather.put(0, number, part(number, number), now);
        }
        let all = std::iter::from_fn(|| gather.take(now));
        let own: Vec<Option<u64>> = all.map(|gathered| did(&gathered)[1]).collect();
        assert_eq!(own, [Some(0), Some(1), None, None]);
        assert!(!gather.is_over(), "the other goes on");
    }

    /// Regression: merging by number made every slice two seconds long after a delayed slice, and a
    /// step of ten seconds was over after five.
    #[test]
    fn a_host_that_makes_one_slice_of_two_is_put_together_by_time() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        for number in 0..5 {
            gather.put(0, number, part(number, 1), now);
        }
        gather.put(1, 0, part(0, 10), now);
        gather.put(1, 1, wide(1, 2, 20), now);
        gather.put(1, 2, part(3, 30), now);
        let all: Vec<Gathered> = std::iter::from_fn(|| gather.take(now)).collect();
        let told: Vec<Vec<Option<u64>>> = all.iter().map(did).collect();
        assert_eq!(told, [[Some(1), Some(10)], [Some(2), Some(20)], [Some(1), Some(30)]]);
        let spans: Vec<(u64, u64)> = all
            .iter()
            .filter_map(|gathered| gathered.parts[0].as_ref())
            .map(|(slice, _)| (slice.start.0 / 1_000_000_000, slice.width.0 / 1_000_000_000))
            .collect();
        assert_eq!(spans, [(0, 1), (1, 2), (3, 1)]);
        assert_eq!(gather.lost(now, Duration::ZERO), [], "the other's is not due yet");
        gather.put(1, 3, part(4, 40), now);
        assert!(gather.take(now).is_some() && gather.take(now).is_none());
    }

    #[test]
    fn overlapping_wide_slices_merge_into_one() {
        let (mut gather, now) = (Gather::new(2), Instant::now());
        gather.put(0, 0, part(0, 1), now);
        gather.put(0, 1, wide(1, 2, 2), now);
        gather.put(1, 0, wide(0, 2, 3), now);
        assert!(gather.take(now).is_none(), "one ends within the other");
        gather.put(1, 1, part(2, 4), now);
        assert_eq!(did(&gather.take(now).expect("three seconds")), [Some(3), Some(7)]);
    }
}
