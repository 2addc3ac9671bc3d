use std::fs::File;
use std::io::{Seek, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use analyze::{Filter, Fold, HostPart, Limit, Options, Remark, Settings, Subject, View, analyse};
use capture::{By, Capture, Recorder, SenderFilter, disks_of};
use cluster::Name;
use run_store::run::ToolFacts;
use trace::TraceInfo;
use trace::store::{self, PartOf, Store, Writer};
use units::{Bytes, Nanos};

use super::wire::{
    FOLDED, FoldOrder, Offered, Order, RecordOrder, SenderBy, SoFar, State, Stop, topic,
};
use crate::allowed::Allowed;
use crate::refusal::{AgentError, json, read};
use crate::under_way::held;

/// Maximum time for the start of a recording. Enabling its events takes milliseconds.
const BEGIN_WAIT: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(20);

/// Resources of the agent that recordings need.
pub(crate) struct Sight {
    pub allowed: Allowed,
    pub base: PathBuf,
    pub tool: ToolFacts,
    pub offer: Offer,
}

/// Function that offers a file under a name.
type Offer = Box<dyn Fn(&str, File) -> std::io::Result<()> + Send>;

/// Recording or analysis on an agent. Only one is in progress at a time.
#[derive(Debug, Default)]
pub(crate) struct Seeing {
    job: Mutex<Option<Arc<Job>>>,
}

#[derive(Debug)]
struct Job {
    order: Order,
    /// 0 to continue, or a [`Stop`] plus one.
    stop: AtomicU8,
    state: Mutex<State>,
}

impl Job {
    fn stop(&self, how: Stop) {
        let how = if how == Stop::Discard { 2 } else { 1 };
        self.stop.fetch_max(how, Ordering::AcqRel);
    }

    fn stopped(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Stop::Keep),
            _ => Some(Stop::Discard),
        }
    }

    fn is_going(&self) -> bool {
        matches!(*held(&self.state), State::Going(_))
    }
}

impl Seeing {
    /// Returns true if a request belongs to this module.
    pub fn is_asked(asked: &str) -> bool {
        [topic::BEGIN, topic::STATE, topic::STOP].contains(&asked)
    }

    /// Answers a request. `sight` is called if an order is started.
    pub fn answer(
        &self,
        asked: &str,
        question: &[u8],
        sight: impl FnOnce(&str) -> Result<Sight, AgentError>,
    ) -> Result<Vec<u8>, AgentError> {
        match asked {
            topic::BEGIN => json(&self.begin(read(question)?, sight)?),
            topic::STATE => json(&*held(&self.current()?.state)),
            _ => {
                let how: Stop = read(question)?;
                json(&self.current()?.stop(how))
            }
        }
    }

    fn current(&self) -> Result<Arc<Job>, AgentError> {
        held(&self.job).clone().ok_or_else(|| AgentError::refused("nothing was begun"))
    }

    /// Starts an order on a separate thread. A repeated request changes nothing.
    fn begin(
        &self,
        order: Order,
        sight: impl FnOnce(&str) -> Result<Sight, AgentError>,
    ) -> Result<(), AgentError> {
        let mut current = held(&self.job);
        if let Some(job) = current.as_ref().filter(|job| job.is_going()) {
            return match job.order == order {
                true => Ok(()),
                false => Err(AgentError::refused("the agent is busy with another job")),
            };
        }
        let who = match &order {
            Order::Record(order) => {
                format!("recording {} of {}", order.recording, order.controller)
            }
            Order::Fold(FoldOrder { recording, .. }) | Order::Offer { recording, .. } => {
                format!("what {recording} recorded")
            }
        };
        let sight = sight(&who)?;
        let (stop, state) = (AtomicU8::new(0), Mutex::new(State::Going(SoFar::default())));
        let job = Arc::new(Job { order, stop, state });
        let (began, beginning) = sync_channel(1);
        let own = Arc::clone(&job);
        let work = move || {
            let done = own.work(&sight, &began).unwrap_or_else(|error| {
                let failed = State::Failed(error.to_remote());
                // The requester that waits for the start gets the reason of its failure.
                let _ = began.try_send(Err(error));
                failed
            });
            *held(&own.state) = done;
        };
        std::thread::Builder::new()
            .name("seeing".to_owned())
            .spawn(work)
            .map_err(AgentError::Thread)?;
        let begun = beginning.recv_timeout(BEGIN_WAIT);
        *current = Some(job);
        let late = |_| format!("it did not begin within {} s", BEGIN_WAIT.as_secs());
        begun.map_err(late).map_err(AgentError::failed)?
    }

    /// Ends the work in progress. A recording keeps its data. Returns the work that did not end in
    /// this time.
    pub fn end(&self, within: Duration) -> Vec<String> {
        let Some(job) = held(&self.job).take() else { return Vec::new() };
        job.stop(Stop::Keep);
        let until = Instant::now() + within;
        while job.is_going() && matches!(job.order, Order::Record(_)) {
            if Instant::now() > until {
                return vec!["a recording did not end".to_owned()];
            }
            std::thread::sleep(LOOK);
        }
        Vec::new()
    }
}

impl Job {
    fn work(
        &self,
        sight: &Sight,
        began: &SyncSender<Result<(), AgentError>>,
    ) -> Result<State, AgentError> {
        match &self.order {
            Order::Record(order) => self.record(sight, order, began),
            Order::Fold(order) => {
                let (store, path) = found(sight, &order.recording, &order.host)?;
                let _ = began.try_send(Ok(()));
                let part = folded(sight, order, &store, &path)?;
                let bytes = postcard::to_stdvec(&part).map_err(AgentError::failed)?;
                let size = bytes.len() as u64;
                let file = in_memory(&bytes).map_err(AgentError::failed)?;
                (sight.offer)(FOLDED, file).map_err(AgentError::failed)?;
                let offered = Offered { what: FOLDED.into(), file: String::new(), bytes: size };
                Ok(State::Offered(vec![offered]))
            }
            Order::Offer { recording, host } => {
                let (store, _) = found(sight, recording, host)?;
                let _ = began.try_send(Ok(()));
                offered(sight, &store)
            }
        }
    }

    /// Records as `tilemark record` does, into a directory that the owner allows.
    fn record(
        &self,
        sight: &Sight,
        order: &RecordOrder,
        began: &SyncSender<Result<(), AgentError>>,
    ) -> Result<State, AgentError> {
        let directories = directories(sight)?;
        let directory = directories
            .first()
            .ok_or_else(|| AgentError::refused("no directory is allowed for recordings"))?;
        let target = directory.join(file_name(&order.recording, &order.host));
        let capture = Capture::start(options(order)?).map_err(|error| {
            let hint = error.hint();
            AgentError::hinted(error, hint)
        })?;
        std::fs::create_dir_all(directory)
            .map_err(|error| AgentError::failed(format!("{}: {error}", directory.display())))?;
        let part_of = PartOf {
            recording: order.recording.to_string(),
            host: order.host.to_string(),
            after_ns: capture.began().0.saturating_sub(order.zero_ns),
            known_to_ns: order.known_to_ns,
        };
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let options = store::Options {
            host: Some(host),
            part_of: Some(part_of),
            ..Recorder::store_options()
        };
        let writer =
            Writer::create(&target, &capture.info(), options).map_err(AgentError::failed)?;
        let mut recorder = Recorder::start(capture, writer).map_err(AgentError::failed)?;
        let _ = began.try_send(Ok(()));
        let duration = order.duration_ns.map(Nanos);
        let how = loop {
            let turn = recorder.turn().map_err(AgentError::failed)?;
            let (records, bytes, _) = recorder.tally().totals();
            let (elapsed, lost) = (turn.progress.elapsed, turn.progress.lost);
            let so_far = SoFar { elapsed_ns: elapsed.0, records, bytes, lost };
            *held(&self.state) = State::Going(so_far);
            let is_over = duration.is_some_and(|duration| elapsed >= duration);
            match self.stopped() {
                None if turn.is_taken && !is_over => {}
                how => break how.unwrap_or(Stop::Keep),
            }
        };
        match how {
            Stop::Keep => {
                let ended = recorder.finish(|_| ()).map_err(AgentError::failed)?;
                Ok(State::Recorded(Box::new(ended)))
            }
            Stop::Discard => {
                recorder.abandon().map_err(AgentError::failed)?;
                Ok(State::Discarded)
            }
        }
    }
}

fn options(order: &RecordOrder) -> Result<capture::Options, AgentError> {
    let targets: Vec<PathBuf> = order.targets.iter().map(PathBuf::from).collect();
    Ok(capture::Options {
        disks: disks_of(&targets).map_err(AgentError::failed)?,
        buffer: Bytes::new(order.buffer_bytes),
        by: match order.by {
            SenderBy::Name => By::Name,
            SenderBy::Process => By::Process,
            SenderBy::Cgroup => By::Cgroup,
        },
        wanted: SenderFilter { vm: order.vm.clone(), process: None, cgroup: order.cgroup.clone() },
        order: capture::Order::Issue,
    })
}

fn directories(sight: &Sight) -> Result<Vec<PathBuf>, AgentError> {
    Ok(sight.allowed.recordings(&sight.base)?)
}

/// Returns the file name of a host's trace. Names of recordings and hosts are safe in paths
/// ([`Name`]).
fn file_name(recording: &Name, host: &Name) -> String {
    format!("{recording}-{host}.tmt")
}

/// Finds this host's trace of a recording.
fn found(sight: &Sight, recording: &Name, host: &Name) -> Result<(Store, PathBuf), AgentError> {
    let directories = directories(sight)?;
    let name = file_name(recording, host);
    let path = directories.iter().map(|directory| directory.join(&name));
    let Some(path) = path.into_iter().find(|path| store::is_store(path)) else {
        let places: Vec<String> =
            directories.iter().map(|path| path.display().to_string()).collect();
        let missing = format!("there is no {name} in {}", places.join(", "));
        return Err(AgentError::refused(missing));
    };
    let store = store::open(&path).map_err(AgentError::failed)?;
    Ok((store, path))
}

/// Analyzes a store, with times since the start of the recording.
fn folded(
    sight: &Sight,
    order: &FoldOrder,
    store: &Store,
    path: &Path,
) -> Result<HostPart, AgentError> {
    let alone = || format!("{} is not part of a recording over hosts", path.display());
    let part_of = store.part_of().ok_or_else(|| AgentError::refused(alone()))?;
    let info = store.info();
    let filter = filter(order, info);
    let settings = Settings {
        slice: Nanos(order.slice_ns.max(1)),
        filter: filter.clone(),
        after: Nanos(part_of.after_ns),
        ..Settings::default()
    };
    let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = order.threads.unwrap_or_else(cores);
    let fold = Fold::of_store(store, &settings, threads).map_err(AgentError::failed)?;
    let sums = fold.clone().into_sums();
    let mut subject =
        Subject { name: order.recording.to_string(), info: info.clone(), remarks: Vec::new() };
    subject.info.format = "store";
    // Times count from the recording's time zero, which was this much earlier.
    let after_ns = i64::try_from(part_of.after_ns).unwrap_or(i64::MAX);
    subject.info.started_unix_ns = info.started_unix_ns.map(|at| at.saturating_sub(after_ns));
    subject.remarks.extend(store.is_unfinished().then(Remark::unfinished));
    let options = Options {
        tool: format!("tilemark {}", sight.tool.version),
        views: View::ALL
            .into_iter()
            .filter(|view| {
                *view != View::Time && order.views.iter().any(|name| name == view.name())
            })
            .collect(),
        limit: Limit { ns: order.limit.0, source: order.limit.1.clone() },
        filter,
    };
    Ok(HostPart {
        host: order.host.to_string(),
        trace: path.display().to_string(),
        trace_bytes: store.bytes(),
        clock_known_to_ns: part_of.known_to_ns,
        vms: info.vms.clone(),
        machines: store.machines().to_vec(),
        devices: info.devices.iter().map(|device| device.name.clone()).collect(),
        lost_events: info.losses.dropped,
        is_unfinished: store.is_unfinished(),
        sums,
        analysis: analyse(fold, &subject, &options),
    })
}

fn filter(order: &FoldOrder, info: &TraceInfo) -> Filter {
    let devices = info.devices.iter().map(|device| device.name.as_str());
    Filter {
        vms: positions(&order.host, &order.vms, info.vms.iter().map(String::as_str)),
        devices: positions(&order.host, &order.devices, devices),
        direction: order.direction,
        from: order.from_ns.map(Nanos),
        to: order.to_ns.map(Nanos),
    }
}

/// Returns the positions of known names, with or without `HOST/` before them; `None` if no name was
/// given.
fn positions<'a>(
    host: &Name,
    wanted: &[String],
    known: impl Iterator<Item = &'a str>,
) -> Option<Vec<u16>> {
    let is_it = |wanted: &String, name: &str| {
        let own = wanted.strip_prefix(host.as_str()).and_then(|rest| rest.strip_prefix('/'));
        wanted == name || own == Some(name)
    };
    let found =
        (0..).zip(known).filter(|(_, name)| wanted.iter().any(|wanted| is_it(wanted, name)));
    (!wanted.is_empty()).then(|| found.map(|(at, _)| at).collect())
}

/// Offers every file of a store.
fn offered(sight: &Sight, store: &Store) -> Result<State, AgentError> {
    let mut all = Vec::new();
    for (number, path) in store.files().into_iter().enumerate() {
        let failed =
            |error: std::io::Error| AgentError::failed(format!("{}: {error}", path.display()));
        let file = untrusted::open(&path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let what = format!("trace-{number}");
        (sight.offer)(&what, file).map_err(failed)?;
        all.push(Offered { what, file: name, bytes });
    }
    Ok(State::Offered(all))
}

/// Creates an anonymous file, which is freed with its last descriptor.
pub(crate) fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let made = rustix::fs::memfd_create(FOLDED, rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = File::from(made);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
