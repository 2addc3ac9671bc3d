use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::rig::{HostLoad, Load, LoadOutcome, Received};
use cluster::Event;
use record::gauge::{Gauge, GaugeSource, Readings, ScopeKind};
use record::slice::{InstanceId, Slice, Topology, VmId};
use units::{Bytes, Nanos};

use crate::gather::Gather;
use crate::link::{Link, host_error};
use crate::wire::{Finished, Lost, Sent, topic};

/// One host's part of a load.
#[derive(Debug)]
pub(crate) struct Part {
    /// Its position among the hosts of the run.
    pub host: usize,
    /// The ids of the whole, by its own.
    pub instances: Vec<InstanceId>,
    /// The same of machines.
    pub vms: Vec<VmId>,
    /// When it began, and how sure that is.
    pub began_late: Nanos,
    /// By how much the common moment may be wrong there.
    pub clock_uncertainty: Nanos,
}

/// A load that hosts drive together.
#[derive(Debug)]
pub struct HostsLoad {
    link: Arc<Link>,
    epoch: u64,
    topology: Topology,
    parts: Vec<Part>,
    hosts: Vec<HostLoad>,
    gather: Gather,
    gauges: Vec<Gauge>,
    unit: Bytes,
    is_stopping: bool,
    ends: Option<Receiver<(usize, Result<Finished, BenchError>)>>,
    finished: Vec<Option<Finished>>,
    gone: Vec<bool>,
    asked_at: Instant,
}

/// A slice that is so late is asked for; so often, and so long.
const PATIENCE: Duration = Duration::from_secs(1);
const ASK_EVERY: Duration = Duration::from_millis(250);
const ASK_WITHIN: Duration = Duration::from_millis(500);
/// A host that tells nothing for so long while others do is given up. Our choice: ten slices.
const LATE_MAX: Duration = Duration::from_secs(10);
/// How long the machine of a load that was told to stop may be silent: as long as `bench` waits.
const FINISH_WITHIN: Duration = Duration::from_secs(60);

impl HostsLoad {
    pub(crate) fn new(
        link: Arc<Link>,
        epoch: u64,
        topology: Topology,
        parts: Vec<Part>,
        unit: Bytes,
    ) -> Self {
        let (count, all) = (parts.len(), link.names().len());
        let mut load = Self {
            link,
            epoch,
            topology,
            hosts: vec![HostLoad::default(); all],
            gather: Gather::new(count),
            gauges: Vec::new(),
            unit,
            is_stopping: false,
            ends: None,
            finished: vec![None; count],
            gone: vec![false; count],
            asked_at: Instant::now(),
            parts,
        };
        load.reset();
        load
    }

    /// Forgets what hosts did until now.
    fn reset(&mut self) {
        for (at, part) in self.parts.iter().enumerate() {
            let _ = self.gather.punctuality(at);
            self.hosts[part.host] = HostLoad {
                began_late: part.began_late,
                clock_uncertainty: part.clock_uncertainty,
                ..HostLoad::default()
            };
        }
    }

    fn part_of(&self, name: &str) -> Option<usize> {
        self.parts.iter().position(|part| self.link.names()[part.host] == name)
    }

    fn name(&self, part: usize) -> &str {
        &self.link.names()[self.parts[part].host]
    }

    /// What came of itself.
    fn take(&mut self, event: Event) -> Result<(), BenchError> {
        match event {
            Event::Joined(_) => Ok(()),
            Event::Left(member) => {
                let error = self.link.lost(member.as_str());
                if let Some(part) = self.part_of(member.as_str()) {
                    (self.gone[part], self.is_stopping) = (true, true);
                    self.gather.gone(part);
                }
                Err(error)
            }
            Event::Sent { member, bytes, .. } => match self.part_of(member.as_str()) {
                Some(part) => self.keep(part, &bytes).map(drop),
                None => Ok(()),
            },
        }
    }

    /// Keeps what a host sent, whatever else it is told by; whether it was new.
    fn keep(&mut self, part: usize, bytes: &[u8]) -> Result<bool, BenchError> {
        let wrong = |what: &str| host_error(self.name(part), what);
        let sent = Sent::read(bytes).ok_or_else(|| wrong("sent what is no slice"))?;
        if sent.epoch != self.epoch {
            return Ok(false);
        }
        let Some(slice) = sent.slice else {
            self.gather.ended(part, sent.number);
            return Ok(true);
        };
        let own = &self.parts[part];
        let slice = slice
            .renumbered(&own.instances, &own.vms)
            .filter(|slice| fits(slice, &self.topology))
            .ok_or_else(|| wrong("sent a slice of what it does not drive"))?;
        Ok(self.gather.put(part, sent.number, (slice, sent.gauges), Instant::now()))
    }

    /// Asks for what was lost on the way, now and then.
    fn fetch(&mut self) -> Result<(), BenchError> {
        let now = Instant::now();
        if now.duration_since(self.asked_at) < ASK_EVERY {
            return Ok(());
        }
        self.asked_at = now;
        for (part, number) in self.gather.lost(now, PATIENCE) {
            if self.gather.waited_for(part, now) > LATE_MAX {
                let what = format!("told nothing for {} s", LATE_MAX.as_secs());
                return Err(host_error(self.name(part), what));
            }
            let lost = Lost { epoch: self.epoch, number };
            let asked = self.link.ask_bytes(self.parts[part].host, topic::SLICE, &lost, ASK_WITHIN);
            // No answer now is no reason to end: it is asked again.
            if let Ok(bytes) = asked
                && !bytes.is_empty()
                && self.keep(part, &bytes)?
            {
                self.gather.fetched(part);
            }
        }
        Ok(())
    }

    /// The next slice of all, if everyone's is there.
    fn gathered(&mut self) -> Option<Slice> {
        let gathered = self.gather.take(Instant::now())?;
        let mut whole: Option<Slice> = None;
        for (part, own) in gathered.parts.into_iter().enumerate() {
            let Some((slice, gauges)) = own else { continue };
            let name = &self.link.names()[self.parts[part].host];
            self.gauges.extend(gauges.into_iter().map(|gauge| of_host(gauge, name)));
            self.hosts[self.parts[part].host].generator.add(&slice);
            whole = Some(match whole {
                Some(whole) => whole.merge(slice),
                None => slice,
            });
        }
        whole
    }

    /// Notes whose load has ended, and how.
    fn note_ends(&mut self) -> Result<(), BenchError> {
        let Some(ends) = &self.ends else { return Ok(()) };
        let all: Vec<_> = ends.try_iter().collect();
        for (part, end) in all {
            match end {
                Ok(finished) => {
                    self.gather.ended(part, finished.slices);
                    self.finished[part] = Some(finished);
                }
                Err(error) if !self.gone[part] => {
                    self.gone[part] = true;
                    self.gather.gone(part);
                    return Err(error);
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let has_ended = |part: usize| self.gone[part] || self.finished[part].is_some();
        self.is_stopping && self.gather.is_over() && (0..self.parts.len()).all(has_ended)
    }
}

impl GaugeSource for HostsLoad {
    fn read(&mut self) -> Readings {
        Readings { gauges: std::mem::take(&mut self.gauges), ..Readings::default() }
    }
}

impl Load for HostsLoad {
    fn next(&mut self, wait: Duration) -> Received {
        let until = Instant::now() + wait;
        loop {
            if let Err(error) = self.note_ends() {
                return Received::Failed(error);
            }
            if let Some(slice) = self.gathered() {
                return Received::Slice(slice);
            }
            if self.is_over() {
                return Received::Ended;
            }
            if !self.is_stopping && self.gather.is_over() {
                // All of them ended by themselves: there is a reason, which `finish` has.
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
                    Err(BenchError::Hosts("the network has ended".to_owned()))
                }
            };
            if let Err(error) = taken {
                return Received::Failed(error);
            }
        }
    }

    fn mark(&mut self) {
        self.reset();
        for part in &self.parts {
            self.link.tell(part.host, topic::MARK, self.epoch);
        }
    }

    fn hosts(&mut self) -> Vec<HostLoad> {
        for (at, part) in self.parts.iter().enumerate() {
            let (late, fetched) = self.gather.punctuality(at);
            let host = &mut self.hosts[part.host];
            host.slice_late_max = host.slice_late_max.max(late.into());
            host.slices_fetched += fetched;
        }
        self.hosts.clone()
    }

    fn unit(&self) -> Bytes {
        self.unit
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        if self.ends.is_some() {
            return;
        }
        let (sender, ends) = channel();
        for (at, part) in self.parts.iter().enumerate() {
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
            let name = self.name(part);
            let outcome = finished.outcome.clone().map_err(|what| host_error(name, what))?;
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

/// Adds what a host's load came to.
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

/// A gauge of this host among those of others.
fn of_host(gauge: Gauge, name: &str) -> Gauge {
    let scope = match gauge.name.scope() {
        ScopeKind::Host => name.to_owned(),
        _ => format!("{name}:{}", gauge.scope),
    };
    Gauge { scope, ..gauge }
}

/// Whether a slice names nothing that is not there.
fn fits(slice: &Slice, topology: &Topology) -> bool {
    use record::slice::Unfinished;
    let entry = |instance: InstanceId| topology.instances.get(instance.0 as usize);
    let kind = |instance, kind: u16| {
        entry(instance).is_some_and(|own| usize::from(kind) < own.kinds.len())
    };
    let action = |instance, action: u16| {
        entry(instance).is_some_and(|own| usize::from(action) < own.actions.len())
    };
    let vm = |vm: VmId| topology.vms.get(vm.0 as usize).map(|vm| vm.instance);
    slice.io.iter().all(|row| vm(row.vm).is_some_and(|own| kind(own, row.kind)))
        && slice.calls.iter().all(|row| kind(row.instance, row.kind))
        && slice.actions.iter().all(|row| {
            let groups = entry(row.instance).map_or(0, |own| own.groups.len());
            action(row.instance, row.action) && usize::from(row.group) < groups.max(1)
        })
        && slice.open.iter().all(|row| match row.what {
            Unfinished::Action(number) => action(row.instance, number),
            Unfinished::Io(number, _) | Unfinished::Call(number) => kind(row.instance, number),
        })
}
