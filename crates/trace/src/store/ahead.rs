use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::Part;
use super::columns::Columns;
use super::reader::Store;
use crate::{IoRecord, Source, TraceError, TraceInfo};

/// A whole trace in order, decoded by threads ahead of who reads it.
///
/// Each thread decodes one part at a time, so that memory holds at most one more part than there
/// are threads: about 64 MiB each. Dropped early, the threads end with the batch they are at.
#[derive(Debug)]
pub struct Ahead {
    info: TraceInfo,
    waiting: VecDeque<Part>,
    /// Of the parts that are being decoded, in order.
    decoded: VecDeque<Receiver<Batch>>,
    jobs: Option<Sender<Job>>,
    used: Pool,
    threads: Vec<JoinHandle<()>>,
}

/// Records of a part; none at its end.
type Batch = Result<Vec<IoRecord>, TraceError>;

/// Memory to be used again.
type Pool = Arc<Mutex<Vec<Vec<IoRecord>>>>;

#[derive(Debug)]
struct Job {
    part: Part,
    out: Sender<Batch>,
}

impl Store {
    /// All records, in order, decoded ahead by this many threads; 0 counts as 1.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn source_ahead(&self, columns: Columns, threads: usize) -> Result<Ahead, TraceError> {
        Ahead::new(self, self.directory(), columns, threads)
    }
}

impl Ahead {
    /// Begins to read. No threads count as one.
    pub(super) fn new(
        store: &Store,
        directory: &Path,
        columns: Columns,
        threads: usize,
    ) -> Result<Self, TraceError> {
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        let mut ahead = Self {
            info: store.info().clone(),
            waiting: store.parts().into(),
            decoded: VecDeque::new(),
            jobs: Some(jobs),
            used: Pool::default(),
            threads: Vec::new(),
        };
        for number in 0..threads.max(1) {
            let (queue, used) = (Arc::clone(&queue), Arc::clone(&ahead.used));
            let thread = thread::Builder::new().name(format!("trace-{number}"));
            let thread = thread.spawn(move || work(&queue, columns, &used));
            ahead.threads.push(thread.map_err(TraceError::io(directory))?);
            ahead.begin_next();
        }
        Ok(ahead)
    }

    /// Has another part decoded, if there is one.
    fn begin_next(&mut self) {
        let (Some(jobs), Some(part)) = (&self.jobs, self.waiting.pop_front()) else { return };
        let (out, decoded) = channel();
        // Without threads the reader below finds no end of the part, and says so.
        let _ = jobs.send(Job { part, out });
        self.decoded.push_back(decoded);
    }

    fn stop(&mut self) {
        self.waiting.clear();
        self.decoded.clear();
        self.jobs = None;
    }
}

impl Source for Ahead {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn read(&mut self, batch: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        while let Some(decoded) = self.decoded.front() {
            match decoded.recv().expect("a thread that decodes tells the end of its part") {
                Ok(next) if next.is_empty() => {
                    self.decoded.pop_front();
                    self.begin_next();
                }
                Ok(next) => {
                    let last = std::mem::replace(batch, next);
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).push(last);
                    return Ok(());
                }
                Err(error) => {
                    self.stop();
                    batch.clear();
                    return Err(error);
                }
            }
        }
        batch.clear();
        Ok(())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            // A panic was told by the thread itself, and by whoever missed its records.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>, columns: Columns, used: &Pool) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { part, out }) = job else { return };
        let mut source = part.source(columns);
        loop {
            let mut batch =
                used.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
            let batch = source.read(&mut batch).map(|()| batch);
            let is_last = !matches!(&batch, Ok(batch) if !batch.is_empty());
            if out.send(batch).is_err() || is_last {
                break;
            }
        }
    }
}
