//! Live page of a server that runs for days. It shows the last hours.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use run_store::gauge::Readings;
use run_store::rollup::{ObservedRow, Rollup};
use run_store::rundir::RunId;
use units::Nanos;
use view::TraceFacts;
use view::document::LivePhase;
use view::observed::ObservedSlice;

use super::{LiveRun, Subject};

/// Minimum time shown, once there is as much data; the maximum is twice this. Our choice: a working
/// day fits into the maximum, with buckets of 32 s.
const LEAST: Nanos = Nanos::from_secs(6 * 3600);

/// Feed of a server. Data older than twelve hours is dropped, six hours at a time.
pub struct Serving {
    run: Arc<LiveRun>,
    /// Rollup that replaces the shown one later, with the begin of its time.
    next: Option<(Nanos, Rollup)>,
    /// Start of the shown time.
    from: Nanos,
}

/// Observations of one interval: a second, or longer if the reading was delayed.
#[derive(Debug, Clone, Copy)]
pub struct ServedSecond<'a> {
    /// Start, since the server started.
    pub start: Nanos,
    /// Length of the interval.
    pub width: Nanos,
    /// I/O completed in this interval.
    pub rows: &'a [ObservedRow<'a>],
    /// Gauges sampled in this interval.
    pub readings: &'a Readings,
}

impl LiveRun {
    /// Creates the page of a server, and the feed for it.
    ///
    /// # Errors
    /// If the id in `facts` is invalid.
    pub fn serve(facts: TraceFacts) -> std::io::Result<(Arc<Self>, Serving)> {
        let id = RunId::parse(&facts.id).ok_or(std::io::ErrorKind::InvalidInput)?;
        let run = Arc::new(Self::new(Subject::Trace(id, facts)));
        Ok((Arc::clone(&run), Serving { run, next: None, from: Nanos::ZERO }))
    }
}

impl Serving {
    /// Adds the observations of one interval.
    pub fn seen(&mut self, second: &ServedSecond<'_>) {
        let ServedSecond { start, width, rows, readings } = *second;
        let slice = |from: Nanos| ObservedSlice { start: start.saturating_sub(from), width, rows };
        let add = |rollup: &mut Rollup, from| {
            slice(from).fold_into(rollup);
            rollup.readings(width, readings);
        };
        let age = start.saturating_sub(self.from);
        if age >= LEAST && self.next.is_none() {
            self.next = Some((start, Rollup::new()));
        }
        if let Some((from, next)) = &mut self.next {
            add(next, *from);
        }
        let mut shown = self.run.rollup.lock().unwrap_or_else(PoisonError::into_inner);
        match self.next.take_if(|_| age >= Nanos(2 * LEAST.0)) {
            Some((from, next)) => (self.from, *shown) = (from, Arc::new(next)),
            // Copied only while a request is being answered.
            None => add(Arc::make_mut(&mut shown), self.from),
        }
        drop(shown);
        self.run.tell(&slice(self.from).sums(), second.start, None);
    }

    /// Ends the page.
    fn end(&self) {
        self.run.change(|state| state.phase = LivePhase::Ended);
        self.run.has_ended.store(true, Ordering::Release);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run_store::gauge::{Gauge, GaugeName};
    use run_store::slice::{Direction, SizeClass};
    use stats::Histogram;

    fn seen(serving: &mut Serving, second: u64) {
        let mut times = Histogram::new();
        times.record(Nanos::from_millis(1));
        let service = times.compact();
        let rows = [ObservedRow {
            name: "vm1",
            is_below: false,
            direction: Direction::Read,
            class: SizeClass::of(4096),
            bytes: 4096,
            errors: 0,
            service: &service,
        }];
        let gauge = |name, value| Gauge { name, scope: "vm1".to_owned(), value };
        let gauges = vec![gauge(GaugeName::TierReads, 1.0), gauge(GaugeName::TierReadHits, 1.0)];
        let readings = Readings { gauges, behind: Vec::new() };
        let start = Nanos::from_secs(second);
        let rows = &rows;
        serving.seen(&ServedSecond { start, width: Nanos::SECOND, rows, readings: &readings });
    }

    #[test]
    fn long_live_run_keeps_its_last_hours_complete() {
        let facts =
            TraceFacts { id: RunId::following("tier", 0).to_string(), ..TraceFacts::default() };
        let (run, mut serving) = LiveRun::serve(facts).expect("its id is one");
        let hours = |run: &LiveRun| run.rollup().end().0 / 3_600_000_000_000;
        let mut least = u64::MAX;
        for second in 0..30 * 3600 {
            seen(&mut serving, second);
            if second > 13 * 3600 && second % 600 == 0 {
                least = least.min(hours(&run));
                assert!(hours(&run) <= 12, "{} hours are kept", hours(&run));
            }
        }
        assert!(least >= 6, "only {least} hours are shown");
        let rollup = run.rollup();
        let seconds = rollup.end().0 / 1_000_000_000;
        assert_eq!(rollup.wide().rows.iter().map(|row| row.count()).sum::<u64>(), seconds);
        assert_eq!(rollup.tiers().iter().map(|row| row.counts.read_hits).sum::<u64>(), seconds);
        drop(serving);
        assert!(run.has_ended());
    }
}
