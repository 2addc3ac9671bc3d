use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use trace::store::{Machine, Options as StoreOptions, TraceGauges, Writer, Written};
use trace::{IoRecord, TraceError, TraceInfo};
use units::Nanos;

use crate::capture::{Capture, Progress, Report, raise_priority};
use crate::error::CaptureError;
use crate::tally::{NotRecorded, Recorded, Tally};

/// Interval of reading the kernel's buffers: short compared with the time that fills a buffer (8
/// MiB hold about half a second of 200,000 I/Os per second).
const TURN: Duration = Duration::from_millis(25);
/// Maximum number of batches between reading and writing. If the disk of the trace is slower, the
/// kernel's buffers fill and lost events are counted.
const BATCHES_MAX: usize = 64;
/// Maximum time of records that a killed recording loses.
const PART_SPAN: Nanos = Nanos::from_secs(60);
/// Version of [`Recorded`].
const SCHEMA: &str = "tilemark.record/1.0";

/// Reason why a recording ended without a trace.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Error of the capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Error of the trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Thread that could not be started.
    #[error("starting the writing thread: {0}")]
    Thread(#[source] io::Error),
}

impl RecordError {
    /// Returns a hint, as a command or a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Capture(error) => error.hint(),
            Self::Trace(_) | Self::Thread(_) => None,
        }
    }
}

/// New data of one call of [`Recorder::turn`].
#[derive(Debug, Clone)]
pub struct Turn {
    /// Progress of the capture.
    pub progress: Progress,
    /// Facts with new names of initiators, if there are any.
    pub info: Option<TraceInfo>,
    /// Complete I/Os, in order of issue.
    pub records: Arc<Vec<IoRecord>>,
    /// True if the trace still accepts records; otherwise [`Recorder::finish`] returns the reason.
    pub is_taken: bool,
}

/// Capture that is written to a trace. One thread reads, another writes.
#[derive(Debug)]
pub struct Recorder {
    capture: Capture,
    writing: Writing,
    tally: Tally,
    names_sent: usize,
    gauges: TraceGauges,
}

impl Recorder {
    /// Returns options for writing a trace whose writer may be killed: a part is at most a minute
    /// long.
    pub fn store_options() -> StoreOptions {
        StoreOptions { part_span_max: Some(PART_SPAN), ..StoreOptions::default() }
    }

    /// Starts to write what the capture reads. The calling thread does the reading. It gets a
    /// higher priority where allowed, so that buffers are read in time on a busy computer.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(capture: Capture, writer: Writer) -> Result<Self, RecordError> {
        raise_priority();
        let writing = Writing::start(writer).map_err(RecordError::Thread)?;
        let (tally, gauges) = (Tally::default(), TraceGauges::default());
        Ok(Self { capture, writing, tally, names_sent: 0, gauges })
    }

    /// Returns devices, initiators and losses of the records so far.
    pub fn info(&self) -> TraceInfo {
        self.capture.info()
    }

    /// Returns the sums so far.
    pub fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Returns the gauges that were sampled beside the I/O. They are stored with the trace when the
    /// capture ends.
    pub fn gauges(&mut self) -> &mut TraceGauges {
        &mut self.gauges
    }

    /// Waits a moment, then reads new events and passes them on.
    ///
    /// # Errors
    /// If the kernel's pages become unreadable.
    pub fn turn(&mut self) -> Result<Turn, RecordError> {
        std::thread::sleep(TURN);
        let mut records = Vec::new();
        let progress = self.capture.step(&mut records)?;
        let info = self.capture.info_if_more_than(self.names_sent);
        Ok(self.take(progress, info, records))
    }

    fn take(
        &mut self,
        progress: Progress,
        info: Option<TraceInfo>,
        records: Vec<IoRecord>,
    ) -> Turn {
        self.tally.add(&records);
        self.names_sent = info.as_ref().map_or(self.names_sent, |info| info.vms.len());
        let records = Arc::new(records);
        let is_taken = (records.is_empty() && info.is_none()) || {
            let names = info.clone().map(|info| (info, self.capture.machines().to_vec()));
            self.writing.send((names, Arc::clone(&records)))
        };
        Turn { progress, info, records, is_taken }
    }

    /// Ends the capture. The trace has its final name when this returns. `told` gets the last
    /// records.
    ///
    /// # Errors
    /// Errors of the kernel or the trace's disk; everything written until then is readable.
    pub fn finish(mut self, told: impl FnOnce(&Turn)) -> Result<Recorded, RecordError> {
        let mut records = Vec::new();
        let report = self.capture.finish(&mut records)?;
        self.tally.add(&records);
        let (info, records) = (Some(report.info.clone()), Arc::new(records));
        let names = info.clone().map(|info| (info, report.machines.clone()));
        let is_taken = self.writing.send((names, Arc::clone(&records)));
        told(&Turn { progress: report.progress, info, records, is_taken });
        let written = self.writing.finish(self.gauges)?;
        Ok(recorded(&report, &written, &self.tally))
    }

    /// Ends the capture, and removes the trace.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn abandon(self) -> Result<(), RecordError> {
        drop(self.capture);
        Ok(self.writing.join()?.abandon()?)
    }
}

/// New initiator names with the list of virtual machines among them, and records, which are shared
/// with the page.
type Batch = (Option<(TraceInfo, Vec<Machine>)>, Arc<Vec<IoRecord>>);

/// Writer of records on a separate thread.
#[derive(Debug)]
struct Writing {
    batches: SyncSender<Batch>,
    thread: JoinHandle<Result<Writer, TraceError>>,
}

impl Writing {
    fn start(mut writer: Writer) -> io::Result<Self> {
        let (batches, received): (_, Receiver<Batch>) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("trace".to_owned()).spawn(move || {
            for (names, records) in received {
                if let Some((info, machines)) = names {
                    writer.update(&info);
                    writer.set_machines(machines);
                }
                writer.write(&records)?;
            }
            Ok(writer)
        })?;
        Ok(Self { batches, thread })
    }

    /// Sends a batch; returns false if the writing thread has ended.
    fn send(&self, batch: Batch) -> bool {
        self.batches.send(batch).is_ok()
    }

    fn join(self) -> Result<Writer, TraceError> {
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn finish(self, gauges: TraceGauges) -> Result<Written, TraceError> {
        let mut writer = self.join()?;
        writer.set_gauges(gauges);
        writer.finish()
    }
}

#[expect(clippy::cast_precision_loss, reason = "printed with three digits")]
fn recorded(report: &Report, written: &Written, tally: &Tally) -> Recorded {
    let (progress, counts) = (report.progress, report.progress.counts);
    Recorded {
        schema: SCHEMA.to_owned(),
        trace: PathBuf::from(&written.directory),
        trace_bytes: written.bytes,
        elapsed_ns: progress.elapsed.0,
        records: written.records,
        events: progress.events,
        lost_events: progress.lost,
        gaps: report.gaps.clone(),
        not_recorded: NotRecorded {
            unwanted: counts.unwanted,
            unmatched: counts.unmatched,
            unfinished: counts.unfinished,
            abandoned: counts.abandoned,
        },
        cpu_ns: report.cpu.0,
        core_percent: report.cpu.0 as f64 / progress.elapsed.as_secs_f64() / 1e7,
        operations: tally.operations(),
        devices: tally.devices(&report.info.devices),
        senders: tally.senders(&report.info.vms),
        command: None,
    }
}
