//! Live recording of this process. Records are queued like the slices of a run, but here the thread
//! folds single I/Os into slices.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use run_store::gauge::Gauge;
use run_store::rundir::RunId;
use trace::{IoRecord, TraceInfo};
use units::Nanos;
use view::TraceFacts;
use view::document::LivePhase;
use view::observed::{Observation, ObservedSlice, ObservedSums, WIDTH};

use super::{LiveRun, PRIORITY, Subject};

/// Maximum number of queued batches: three seconds of a recorder that reads every 25 ms.
const WAITING: usize = 128;
/// Wait after the end of a slice until the slice counts as complete without a later I/O. I/Os
/// arrive in order of issue, so a slower I/O delays the I/Os after it; they are shown when they
/// arrive.
const LAG: Nanos = Nanos::from_secs(2);

/// Facts about a recording.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Name, path and other facts of the trace.
    pub facts: TraceFacts,
    /// Devices and initiators known so far.
    pub info: TraceInfo,
    /// Maximum duration; `None` is unlimited.
    pub duration: Option<Nanos>,
}

/// Queued records.
struct RecordedBatch {
    info: Option<TraceInfo>,
    records: Arc<Vec<IoRecord>>,
    gauges: Vec<(Nanos, Nanos, Gauge)>,
    elapsed: Nanos,
}

/// Sender of a recording's events; never waits.
pub struct TraceFeed {
    run: Arc<LiveRun>,
    sender: SyncSender<RecordedBatch>,
    news: Option<TraceInfo>,
    /// Gauges that were not sent yet, each with begin and length of its interval.
    gauges: Vec<(Nanos, Nanos, Gauge)>,
}

impl LiveRun {
    /// Creates a live recording, and the feed for its events.
    pub fn record(recording: Recording) -> std::io::Result<(Arc<Self>, TraceFeed)> {
        let Recording { facts, info, duration } = recording;
        let id = RunId::parse(&facts.id).ok_or(std::io::ErrorKind::InvalidInput)?;
        let run = Arc::new(Self::new(Subject::Trace(id, facts)));
        let (sender, receiver) = sync_channel(WAITING);
        let folding = Arc::clone(&run);
        std::thread::Builder::new().name("fold".to_owned()).spawn(move || {
            let own = Some(rustix::thread::gettid());
            let _ = rustix::process::setpriority_process(own, PRIORITY);
            folding.fold_records(&receiver, info, duration);
        })?;
        let gauges = Vec::new();
        let feed = TraceFeed { run: Arc::clone(&run), sender, news: None, gauges };
        Ok((run, feed))
    }

    fn fold_records(
        &self,
        receiver: &Receiver<RecordedBatch>,
        mut info: TraceInfo,
        duration: Option<Nanos>,
    ) {
        let mut observation = Observation::new(WIDTH);
        for seen in receiver {
            info = seen.info.unwrap_or(info);
            let mut last = None;
            let mut over = |slice: ObservedSlice<'_>| {
                last = Some(slice.sums());
                self.folded(&slice);
            };
            seen.records.iter().for_each(|record| observation.add(record, &info, &mut over));
            observation.advance(seen.elapsed.saturating_sub(LAG), &info, &mut over);
            if !seen.gauges.is_empty() {
                let mut rollup =
                    self.rollup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                Arc::make_mut(&mut rollup).observed_gauges(seen.gauges);
            }
            if let Some(last) = last {
                self.tell(&last, seen.elapsed, duration);
            }
        }
        observation.finish(&info, &mut |slice: ObservedSlice<'_>| self.folded(&slice));
    }

    fn folded(&self, slice: &ObservedSlice<'_>) {
        let mut rollup = self.rollup.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        slice.fold_into(Arc::make_mut(&mut rollup));
    }

    pub(super) fn tell(&self, last: &ObservedSums, elapsed: Nanos, duration: Option<Nanos>) {
        let end = self.rollup().end();
        self.change(|state| {
            state.phase = LivePhase::Measured;
            state.elapsed_ns = end.0;
            state.left_ns = duration.map(|whole| whole.saturating_sub(elapsed).0);
            state.operations_per_s = per_second(last.count);
            state.bytes_per_s = per_second(last.bytes);
            state.p99_ns = last.service_p99.map(|time| time.0);
        });
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a second are far below 2^53")]
fn per_second(count: u64) -> f64 {
    count as f64 / WIDTH.as_secs_f64()
}

impl TraceFeed {
    /// Returns the recording of this feed.
    pub fn run(&self) -> &Arc<LiveRun> {
        &self.run
    }

    /// Adds the records since the last call, with the elapsed time. `info` is given if there are
    /// new devices or initiators.
    pub fn seen(&mut self, info: Option<TraceInfo>, records: &Arc<Vec<IoRecord>>, elapsed: Nanos) {
        let info = info.or_else(|| self.news.take());
        let gauges = std::mem::take(&mut self.gauges);
        let seen = RecordedBatch { info, records: Arc::clone(records), gauges, elapsed };
        if let Err(TrySendError::Full(seen) | TrySendError::Disconnected(seen)) =
            self.sender.try_send(seen)
        {
            // Later records need these names, too.
            (self.news, self.gauges) = (seen.info, seen.gauges);
            self.run.lost.fetch_add(u64::from(!seen.records.is_empty()), Ordering::Relaxed);
        }
    }

    /// Adds gauges, each with begin and length of its interval. They are sent with the next
    /// records.
    pub fn gauges(&mut self, gauges: impl IntoIterator<Item = (Nanos, Nanos, Gauge)>) {
        self.gauges.extend(gauges);
    }

    /// Ends the recording: the trace is complete, or the recording failed.
    pub fn end(&self) {
        self.run.change(|state| state.phase = LivePhase::Ended);
        self.run.has_ended.store(true, Ordering::Release);
    }
}

impl Drop for TraceFeed {
    fn drop(&mut self) {
        self.end();
    }
}
