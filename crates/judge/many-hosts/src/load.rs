use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::rig::{HostEvent, HostLoad, Load, LoadOutcome, Received};
use cluster::{Event, monotonic};
use run_store::gauge::{GaugeSource, Readings};
use run_store::slice::Topology;
use units::{Bytes, Nanos};

use crate::happening::{EventResults, Happening};
use crate::link::{Link, host_error, host_error_of};
use crate::merge::{LoadPart, Merge};
use crate::under_way::held;
use crate::wire::{Finished, Lost, topic};

/// Load that hosts drive together.
#[derive(Debug)]
pub struct HostsLoad {
    link: Arc<Link>,
    epoch: u64,
    merge: Merge,
    unit: Bytes,
    began: Nanos,
    is_stopping: bool,
    ends: Option<Receiver<(usize, Result<Finished, BenchError>)>>,
    finished: Vec<Option<Finished>>,
    gone: Vec<bool>,
    asked_at: Instant,
    /// Time of the last message from each part.
    last_sign: Vec<Nanos>,
    /// Thread that carries out events; `None` without events.
    happening: Option<Happening>,
    driven: Driven,
    /// End of the last slice that was handed out.
    end: Nanos,
}

/// Current host of each tile. Updated with every slice of time, because tiles can move.
#[derive(Debug, Default)]
struct Driven {
    by_tile: Vec<usize>,
    /// Number of moves that were already applied.
    seen: usize,
    has_changed: bool,
}

/// Lateness after which a slice is requested again. The next constants are the interval and the
/// time limit of these requests.
const PATIENCE: Duration = Duration::from_secs(1);
const ASK_EVERY: Duration = Duration::from_millis(250);
const ASK_WITHIN: Duration = Duration::from_millis(500);
/// Maximum silence of a host while others send. After that the host is given up. Our choice: ten
/// slices.
const LATE_MAX: Duration = Duration::from_secs(10);
/// Maximum silence of a host whose load was told to stop, equal to the wait in `bench`.
const FINISH_WITHIN: Duration = Duration::from_secs(60);

impl HostsLoad {
    pub(crate) fn new(
        link: Arc<Link>,
        epoch: u64,
        topology: Topology,
        parts: Vec<LoadPart>,
        unit: Bytes,
        (began, by_tile): (Nanos, Vec<usize>),
    ) -> Self {
        let count = parts.len();
        Self {
            merge: Merge::new(epoch, topology, parts, link.names().len()),
            link,
            epoch,
            unit,
            is_stopping: false,
            ends: None,
            finished: vec![None; count],
            gone: vec![false; count],
            asked_at: Instant::now(),
            began,
            last_sign: vec![Nanos::ZERO; count],
            happening: None,
            driven: Driven { by_tile, ..Driven::default() },
            end: Nanos::ZERO,
        }
    }

    /// Adds events of the hosts.
    pub(crate) fn with_happening(self, happening: Happening) -> Self {
        Self { happening: Some(happening), ..self }
    }

    fn part_of(&self, name: &str) -> Option<usize> {
        self.merge.parts().iter().position(|part| part.name == name)
    }

    fn part(&self, part: usize) -> &LoadPart {
        &self.merge.parts()[part]
    }

    /// Handles an event of the connection.
    fn take(&mut self, event: Event) -> Result<(), BenchError> {
        match event {
            Event::Joined(_) => Ok(()),
            Event::Left(member) => {
                let error = self.link.lost(member.as_str());
                let part = self.part_of(member.as_str());
                if let (Some(part), Some(happening)) = (part, &self.happening)
                    && happening.has_restart()
                {
                    if !std::mem::replace(&mut self.gone[part], true) {
                        happening.lost(self.part(part).host, self.last_sign[part]);
                        self.merge.gather.lost_host(part);
                    }
                    return Ok(());
                }
                if let Some(part) = part {
                    (self.gone[part], self.is_stopping) = (true, true);
                    self.merge.gather.gone(part);
                }
                Err(error)
            }
            Event::Sent { member, bytes, .. } => match self.part_of(member.as_str()) {
                // Messages of a host may arrive after its loss.
                Some(part) if self.gone[part] => Ok(()),
                Some(part) => {
                    self.last_sign[part] = monotonic().saturating_sub(self.began);
                    self.keep(part, &bytes).map(drop)
                }
                None => Ok(()),
            },
        }
    }

    /// Stores a slice from a host, received as a message or as an answer. Returns true if it was
    /// new.
    fn keep(&mut self, part: usize, bytes: &[u8]) -> Result<bool, BenchError> {
        let kept = self.merge.keep(part, bytes);
        kept.map_err(|what| host_error(&self.part(part).name, what))
    }

    /// Requests lost slices, at intervals.
    fn fetch(&mut self) -> Result<(), BenchError> {
        let now = Instant::now();
        if now.duration_since(self.asked_at) < ASK_EVERY {
            return Ok(());
        }
        self.asked_at = now;
        for (part, number) in self.merge.gather.lost(now, PATIENCE) {
            if self.merge.gather.waited_for(part, now) > LATE_MAX {
                let what = format!("sent nothing for {} s", LATE_MAX.as_secs());
                return Err(host_error(&self.part(part).name, what));
            }
            let lost = Lost { epoch: self.epoch, number };
            let asked = self.link.ask_bytes(self.part(part).host, topic::SLICE, &lost, ASK_WITHIN);
            // A missing answer does not end the load: the request is repeated.
            if let Ok(bytes) = asked
                && !bytes.is_empty()
                && self.keep(part, &bytes)?
            {
                self.merge.gather.fetched(part);
            }
        }
        Ok(())
    }

    /// Records hosts whose load has ended, with its result.
    fn note_ends(&mut self) -> Result<(), BenchError> {
        let Some(ends) = &self.ends else { return Ok(()) };
        let all: Vec<_> = ends.try_iter().collect();
        for (part, end) in all {
            match end {
                Ok(finished) => {
                    self.merge.gather.ended(part, finished.slices);
                    self.finished[part] = Some(finished);
                }
                Err(error) if !self.gone[part] => {
                    self.gone[part] = true;
                    self.merge.gather.gone(part);
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Applies results of events. Tiles that move may be missing after this slice.
    fn follow(&mut self) {
        let Some(happening) = &self.happening else { return };
        let (end, driven) = (self.end, &mut self.driven);
        happening.told(|told| {
            while let Some((since, tile, host)) = told.moved.get(driven.seen)
                && *since <= end
            {
                if let Some(own) = driven.by_tile.get_mut(*tile as usize) {
                    *own = *host;
                }
                (driven.seen, driven.has_changed) = (driven.seen + 1, true);
            }
        });
    }

    fn failure(&self) -> Option<BenchError> {
        self.happening.as_ref()?.told(|told| told.failure.take())
    }

    fn is_over(&self) -> bool {
        let has_ended = |part: usize| self.gone[part] || self.finished[part].is_some();
        self.is_stopping
            && self.merge.gather.is_over()
            && (0..self.merge.parts().len()).all(has_ended)
    }
}

impl GaugeSource for HostsLoad {
    fn read(&mut self) -> Readings {
        Readings { gauges: self.merge.gauges(), ..Readings::default() }
    }
}

impl Load for HostsLoad {
    fn next(&mut self, wait: Duration) -> Received {
        let until = Instant::now() + wait;
        loop {
            if let Err(error) = self.note_ends() {
                return Received::Failed(error);
            }
            if !self.is_stopping
                && let Some(error) = self.failure()
            {
                return Received::Failed(error);
            }
            if let Some(slice) = self.merge.gathered() {
                self.end = slice.end();
                self.follow();
                return Received::Slice(slice);
            }
            if self.is_over() {
                return Received::Ended;
            }
            if !self.is_stopping && self.merge.gather.is_over() {
                // All ended by themselves: `finish` has the reason.
                return Received::Ended;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Received::Nothing;
            }
            let taken = match self.link.event(left.min(Duration::from_millis(20))) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => self.fetch(),
                Err(RecvTimeoutError::Disconnected) => {
                    Err(BenchError::Hosts("the network thread has ended".to_owned()))
                }
            };
            if let Err(error) = taken {
                return Received::Failed(error);
            }
        }
    }

    fn mark(&mut self) {
        self.merge.reset();
        if let Some(happening) = &self.happening {
            happening.measured(self.end);
        }
        for part in self.merge.parts() {
            self.link.tell(part.host, topic::MARK, self.epoch);
        }
    }

    fn hosts(&mut self) -> Vec<HostLoad> {
        self.merge.hosts()
    }

    fn events(&mut self) -> Vec<HostEvent> {
        let told = |told: &mut EventResults| told.events.clone();
        self.happening.as_ref().map_or_else(Vec::new, |happening| happening.told(told))
    }

    fn driven_by(&mut self) -> Option<Vec<usize>> {
        std::mem::take(&mut self.driven.has_changed).then(|| self.driven.by_tile.clone())
    }

    fn began(&self) -> Option<Nanos> {
        Some(self.began)
    }

    fn unit(&self) -> Bytes {
        self.unit
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        if self.ends.is_some() {
            return;
        }
        if let Some(happening) = &mut self.happening {
            happening.end();
        }
        for (at, gone) in self.gone.iter_mut().enumerate() {
            // The loss of a host that is away may not be known yet.
            if held(&self.link.away).contains_key(&self.merge.parts()[at].host)
                && !std::mem::replace(gone, true)
            {
                self.merge.gather.lost_host(at);
            }
        }
        let (sender, ends) = channel();
        for (at, part) in self.merge.parts().iter().enumerate().filter(|(at, _)| !self.gone[*at]) {
            let (link, sender, epoch, host) =
                (Arc::clone(&self.link), sender.clone(), self.epoch, part.host);
            std::thread::spawn(move || {
                let _ = sender.send((at, end_of(&link, host, epoch)));
            });
        }
        self.ends = Some(ends);
    }

    fn finish(self) -> Result<LoadOutcome, BenchError> {
        let mut all = LoadOutcome::default();
        for (part, finished) in self.finished.iter().enumerate() {
            let Some(finished) = finished else { continue };
            let name = &self.part(part).name;
            let outcome = finished.outcome.clone().map_err(|error| host_error_of(name, error))?;
            add(&mut all, outcome, name);
        }
        Ok(all)
    }

    fn abandon(self) {}
}

/// Stops a host's load and waits for its end.
fn end_of(link: &Link, host: usize, epoch: u64) -> Result<Finished, BenchError> {
    link.ask::<_, ()>(host, topic::STOP, &epoch, FINISH_WITHIN)?;
    let until = Instant::now() + FINISH_WITHIN;
    loop {
        let finished: Option<Finished> =
            link.ask(host, topic::FINISH, &epoch, Duration::from_secs(10))?;
        if let Some(finished) = finished {
            return Ok(finished);
        }
        if Instant::now() > until {
            let what = format!("its load did not end within {} s", FINISH_WITHIN.as_secs());
            return Err(host_error(&link.names()[host], what));
        }
    }
}

/// Adds the outcome of a host's load.
fn add(all: &mut LoadOutcome, own: LoadOutcome, name: &str) {
    all.submitted += own.submitted;
    all.completed += own.completed;
    all.failures.extend(own.failures.into_iter().map(|mut failure| {
        failure.disk = format!("{} (host {name})", failure.disk);
        failure
    }));
    all.mismatches.extend(own.mismatches.iter().map(|text| format!("host {name}: {text}")));
    all.depth = all.depth.max(own.depth);
    for mut warning in own.warnings {
        warning.text = format!("host {name}: {}", warning.text);
        all.warnings.push(warning);
    }
    if !all.backend.split(", ").any(|backend| backend == own.backend) {
        let join = if all.backend.is_empty() { "" } else { ", " };
        all.backend += &format!("{join}{}", own.backend);
    }
    all.elapsed = all.elapsed.max(own.elapsed);
    all.cpu_s = match (all.cpu_s, own.cpu_s) {
        (Some((user, system)), Some((more_user, more_system))) => {
            Some((user + more_user, system + more_system))
        }
        (sum, own) => sum.or(own),
    };
    all.handed_over_late.merge(&own.handed_over_late);
    all.disturbances.extend(own.disturbances.into_iter().map(|mut found| {
        found.by = format!("{} on host {name}", found.by);
        found
    }));
}
