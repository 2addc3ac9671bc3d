use std::path::{Path, PathBuf};
use std::time::Duration;

use analyze::HostPart;
use bench::BenchError;
use capture::Recorded;
use cluster::{Name, monotonic};
use serde::Serialize;
use serde::de::DeserializeOwned;
use units::{Bytes, Nanos};

use super::wire::{FOLDED, FoldOrder, Offered, Order, RecordOrder, SoFar, State, Stop, topic};
use crate::controller::{Controller, PROBES};
use crate::link::{SOON, host_error, host_error_of};

/// Interval for polling the hosts' states.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time to transfer a part of a file: 4 MiB at 1 Mbit/s.
const PART_WITHIN: Duration = Duration::from_secs(40);
/// Maximum accepted size of an analysis. Half a million cells take some 100 MB.
const FOLDED_MAX: Bytes = Bytes::new(1 << 30);
/// Maximum accepted size of a file. A part of a trace has at most 4,194,304 I/Os, of some tens of
/// bytes each.
const FILE_MAX: Bytes = Bytes::new(1 << 30);

/// State of a host's recording.
#[derive(Debug)]
pub enum RecordingState {
    /// The recording is in progress.
    Going(Going),
    /// The recording has ended, with its summary.
    Ended(Box<Recorded>),
    /// The recording failed, or the host is lost; with the reason.
    Lost(String),
}

/// Counters of a recording so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Going {
    /// Time since the start.
    pub elapsed: Nanos,
    /// Number of I/Os recorded.
    pub records: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Number of events lost because the kernel's buffer was full.
    pub lost: u64,
}

/// Trace that was copied here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// Name of the host.
    pub host: String,
    /// Directory of the copy.
    pub directory: PathBuf,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Number of files.
    pub files: usize,
}

impl Controller {
    /// Starts recordings on all hosts, or on none: if a host refuses, the others discard their
    /// data.
    ///
    /// # Errors
    ///
    /// If a recording does not start: the host's owner does not allow it, the host has no such
    /// disk, or its kernel has no block events.
    pub fn record(&self, order: &RecordOrder) -> Result<(), BenchError> {
        let zero = monotonic();
        let orders = self.present().iter().zip(&self.link.members).map(|(host, name)| {
            Order::Record(RecordOrder {
                host: name.clone(),
                zero_ns: host.clock.theirs(zero).0,
                known_to_ns: host.clock.uncertainty().0,
                ..order.clone()
            })
        });
        let began = self.each::<_, ()>(topic::BEGIN, &orders.collect::<Vec<_>>());
        let failed = began.iter().position(Result::is_err);
        let Some(failed) = failed else { return Ok(()) };
        for (at, began) in began.iter().enumerate() {
            // A host whose answer was lost may record all the same.
            if began.is_ok() || at != failed {
                let _ = self.link.ask::<_, ()>(at, topic::STOP, &Stop::Discard, SOON);
                let _ = self.settled(at);
            }
        }
        Err(began.into_iter().nth(failed).and_then(Result::err).unwrap_or(BenchError::Interrupted))
    }

    /// Returns the state of each host's recording.
    pub fn recordings(&self) -> Vec<RecordingState> {
        let states = self.each::<_, State>(topic::STATE, &vec![(); self.link.members.len()]);
        let told = |state| match state {
            Ok(State::Going(SoFar { elapsed_ns, records, bytes, lost })) => {
                RecordingState::Going(Going { elapsed: Nanos(elapsed_ns), records, bytes, lost })
            }
            Ok(State::Recorded(recorded)) => RecordingState::Ended(recorded),
            Ok(State::Failed(error)) => RecordingState::Lost(error.text),
            Ok(other) => RecordingState::Lost(format!("it says {other:?}")),
            Err(BenchError::Host { what, .. }) => RecordingState::Lost(what),
            Err(error) => RecordingState::Lost(error.to_string()),
        };
        states.into_iter().map(told).collect()
    }

    /// Ends all recordings and keeps the traces.
    pub fn end_recordings(&self) {
        let _ = self.each::<_, ()>(topic::STOP, &vec![Stop::Keep; self.link.members.len()]);
    }

    /// Returns the drift of each host's clock against this host's clock since the host joined, in
    /// nanoseconds; `None` if the host does not respond.
    pub fn clocks_moved(&self) -> Vec<Option<i64>> {
        let moved = |(at, host): (usize, &crate::Present)| {
            let now = self.link.hub.clock(&self.link.members[at], PROBES).ok()?;
            i64::try_from(now.ahead_ns - host.clock.ahead_ns).ok()
        };
        self.present().iter().enumerate().map(moved).collect()
    }

    /// Analyzes a recording on each host, without copying traces.
    ///
    /// # Errors
    ///
    /// If a host has no such recording, cannot read it, or is lost.
    pub fn fold(&self, order: &FoldOrder) -> Result<Vec<HostPart>, BenchError> {
        let orders = self
            .link
            .members
            .iter()
            .map(|host| Order::Fold(FoldOrder { host: host.clone(), ..order.clone() }));
        self.begin(&orders.collect::<Vec<_>>())?;
        let part = |at: usize| {
            self.offered(at)?;
            let bytes = self.fetch(at, FOLDED, FOLDED_MAX)?;
            postcard::from_bytes(&bytes)
                .map_err(|error| host_error(&self.link.names[at], format!("its sums: {error}")))
        };
        self.everyone(part).into_iter().collect()
    }

    /// Copies the traces of a recording to this host, to directories of the same names. Each file
    /// is checked by length and SHA-256.
    ///
    /// # Errors
    ///
    /// If a host has no such recording or is lost, or a directory exists already or cannot be
    /// written.
    pub fn collect(&self, recording: &Name, into: &Path) -> Result<Vec<Collected>, BenchError> {
        let orders = self.link.members.iter().map(|host| {
            let (recording, host) = (recording.clone(), host.clone());
            Order::Offer { recording, host }
        });
        self.begin(&orders.collect::<Vec<_>>())?;
        let here = |error: std::io::Error, path: &Path| {
            BenchError::Hosts(format!("{}: {error}", path.display()))
        };
        std::fs::create_dir_all(into).map_err(|error| here(error, into))?;
        let bring = |at: usize| {
            let name = &self.link.names[at];
            let directory = into.join(format!("{recording}-{name}.tmt"));
            let files = self.offered(at)?;
            std::fs::create_dir(&directory).map_err(|error| here(error, &directory))?;
            let mut bytes = 0;
            for file in &files {
                // A name with a path is not a file of a trace.
                let is_name = file
                    .file
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
                if !is_name || file.file.starts_with('.') {
                    return Err(host_error(name, format!("offers a file called {:?}", file.file)));
                }
                let content = self.fetch(at, &file.what, FILE_MAX)?;
                let path = directory.join(&file.file);
                let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
                made.and_then(|mut made| std::io::Write::write_all(&mut made, &content))
                    .map_err(|error| here(error, &path))?;
                bytes += content.len() as u64;
            }
            let (host, bytes, files) = (name.clone(), Bytes::new(bytes), files.len());
            Ok(Collected { host, directory, bytes, files })
        };
        // One after the other, because they share this computer's link and disk.
        (0..self.link.members.len()).map(bring).collect()
    }

    /// Starts orders on all hosts. Returns the first error.
    fn begin(&self, orders: &[Order]) -> Result<(), BenchError> {
        self.each::<_, ()>(topic::BEGIN, orders).into_iter().collect()
    }

    /// Waits until a host's work has ended. Returns its state.
    fn settled(&self, at: usize) -> Result<State, BenchError> {
        loop {
            match self.link.ask(at, topic::STATE, &(), SOON)? {
                State::Going(_) => std::thread::sleep(LOOK),
                state => return Ok(state),
            }
        }
    }

    /// Returns the files that a host offers after its work.
    fn offered(&self, at: usize) -> Result<Vec<Offered>, BenchError> {
        let name = &self.link.names[at];
        match self.settled(at)? {
            State::Offered(offered) => Ok(offered),
            State::Failed(error) => Err(host_error_of(name, error)),
            other => Err(host_error(name, format!("it says {other:?}"))),
        }
    }

    fn fetch(&self, at: usize, what: &str, size_max: Bytes) -> Result<Vec<u8>, BenchError> {
        let fetched = self.link.hub.fetch(&self.link.members[at], what, size_max, PART_WITHIN);
        fetched.map_err(|error| host_error(&self.link.names[at], error.to_string()))
    }

    /// Sends each host its own request.
    fn each<Q: Serialize + Sync, A: DeserializeOwned + Send>(
        &self,
        topic: &str,
        questions: &[Q],
    ) -> Vec<Result<A, BenchError>> {
        self.everyone(|at| self.link.ask(at, topic, &questions[at], SOON))
    }

    /// Calls a function for all hosts concurrently.
    fn everyone<A: Send>(
        &self,
        of_host: impl Fn(usize) -> Result<A, BenchError> + Sync,
    ) -> Vec<Result<A, BenchError>> {
        std::thread::scope(|scope| {
            let ask = |at| {
                scope.spawn({
                    let of_host = &of_host;
                    move || of_host(at)
                })
            };
            let asked: Vec<_> = (0..self.link.members.len()).map(ask).collect();
            asked.into_iter().map(|one| one.join().expect("asking does not panic")).collect()
        })
    }
}
