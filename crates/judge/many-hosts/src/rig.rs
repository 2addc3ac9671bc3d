use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bench::BenchError;
use bench::fleet::{DiskNeed, StepOrder, fleet};
use bench::plan::ResolvedPlan;
use bench::rig::{Clocks, PrefillSoFar, Prefilled, Rig};
use bench::run::{RunOptions, Site, TileLoad};
use cluster::{ClockOffset, monotonic};
use meter::Panel;
use run_store::run::{LoadHost, TargetFacts, Warning};
use run_store::rundir::RunId;
use serde_json::{Map, Value};
use units::{Bytes, Nanos};

use crate::controller::Controller;
use crate::happening::{Happening, Script};
use crate::link::{Link, host_error_of};
use crate::load::HostsLoad;
use crate::merge::{LoadPart, VmsOf};
use crate::moves::Tiles;
use crate::opening::{TILES_MAX, questions};
use crate::options::Sharing;
use crate::wire::{Began, Begin, Failed, Job, JobDone, JobState, Opened, Ready, Sees, topic};

/// Rig that drives load on hosts, each with its own datastore or its part of a shared one.
#[derive(Debug)]
pub struct HostsRig {
    controller: Controller,
    link: Arc<Link>,
    opened: Vec<Opened>,
    /// Host of each tile, for the maximum number of tiles.
    placed: Vec<usize>,
    epoch: u64,
    /// Run id of the disks, without the host's suffix.
    run_id: String,
    /// Number of tiles whose disks exist.
    made: u32,
    is_cleared: bool,
    power: Option<Arc<Panel>>,
}

/// Objects that remain on hosts at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cleared {
    /// Files that were deliberately left in place, each with its host.
    pub stays: Vec<String>,
    /// Files that could not be removed, each with its host.
    pub not_removed: Vec<String>,
}

/// Result of a host's job.
type JobEnd = Result<JobDone, Failed>;

/// Maximum time for opening, which examines devices and may wait for a sleeping disk.
const OPEN_WITHIN: Duration = Duration::from_secs(60);
/// Maximum time for building the VMs of hundreds of tiles.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Interval for polling a job's state.
const LOOK: Duration = Duration::from_millis(100);
/// Minimum time between the request and the common start. The time is ten times the slowest round
/// trip, but at least the time to set up rings and buffers.
const LEAD_MIN: Nanos = Nanos::from_millis(300);
/// Number of clock probes before each step. Clocks drift apart by less than 100 ppm, a millisecond
/// in ten seconds.
const STEP_PROBES: u32 = 5;
impl HostsRig {
    /// Opens the target on every host.
    pub(crate) fn open(
        plan: &ResolvedPlan,
        options: &RunOptions,
        id: &RunId,
        controller: Controller,
    ) -> Result<Self, BenchError> {
        let link = Arc::clone(&controller.link);
        let placed = plan.placement.of(link.names(), TILES_MAX);
        let placed = placed.map_err(bench::plan::PlanError::from)?;
        let questions = questions(plan, options, id, link.names(), &placed)?;
        let opened = link.ask_all(topic::OPEN, &questions, OPEN_WITHIN)?;
        let made_by = match &options.reuse {
            Some(reuse) => reuse.to_string(),
            None => id.to_string(),
        };
        let rig = Self {
            controller,
            link,
            opened,
            placed,
            epoch: 0,
            run_id: made_by.clone(),
            made: 0,
            is_cleared: false,
            power: None,
        };
        rig.see_one_storage(&|name| format!("{made_by}-{name}"))?;
        Ok(rig)
    }

    /// Adds power meters that are read on this host during every step.
    #[must_use]
    pub(crate) fn with_power(mut self, power: Option<Arc<Panel>>) -> Self {
        self.power = power;
        self
    }

    /// Checks that all hosts see each other's files on shared storage.
    fn see_one_storage(&self, run_id: &dyn Fn(&str) -> String) -> Result<(), BenchError> {
        let names = self.link.names();
        let Some((first, others)) = names.split_first() else { return Ok(()) };
        let path = |host: usize| &self.opened[host].path;
        for (at, name) in others.iter().enumerate() {
            let sees = |host: usize, made_by: &String| {
                let asked = Sees { run_id: run_id(made_by) };
                self.link.ask::<_, bool>(host, topic::SEES, &asked, OPEN_WITHIN)
            };
            let (own, other) = (sees(at + 1, first)?, sees(0, name)?);
            match (self.controller.sharing, own && other) {
                (Sharing::Shared, false) => {
                    let what = format!(
                        "hosts {first} and {name} do not see the same storage: {first} made {}, \
                         {name} made {}, and {}",
                        path(0),
                        path(at + 1),
                        if own || other {
                            "only one of them sees the directory of the other"
                        } else {
                            "neither sees the directory of the other"
                        },
                    );
                    let hint = "if each host has its own storage, use --storage local; otherwise mount \
                        the same storage on both";
                    return Err(BenchError::HostsRefused { what, hint });
                }
                (Sharing::Local, _) if own || other => {
                    let what = format!(
                        "hosts {first} and {name} see the same storage, so --storage local would \
                         count its room twice"
                    );
                    return Err(BenchError::HostsRefused {
                        what,
                        hint: "leave out --storage local",
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the facts that are known before the first step.
    pub(crate) fn site(&self, plan: &ResolvedPlan, id: RunId) -> Site {
        let names = self.link.names();
        let (first, all) = (&self.opened[0], self.opened.iter().zip(names));
        let by_host = |get: fn(&Opened) -> &Value| {
            let entries = all.clone().map(|(opened, name)| (name.clone(), get(opened).clone()));
            Value::Object(entries.collect::<Map<_, _>>())
        };
        let warnings = all.clone().flat_map(|(opened, name)| {
            opened.warnings.iter().map(move |warning| Warning {
                text: format!("host {name}: {}", warning.text),
                ..warning.clone()
            })
        });
        Site {
            id,
            target: TargetFacts {
                datastore: plan.datastore.clone(),
                kind: first.kind.clone(),
                summary: match self.controller.sharing {
                    Sharing::Shared => format!("{}, shared by {}", first.summary, names.join(", ")),
                    Sharing::Local => {
                        format!("{}, one on each of {}", first.summary, names.join(", "))
                    }
                },
                capacity_bytes: Some(self.capacity().get()),
                provisioned_bytes: None,
                array_sha256: None,
                second: None,
                tier: None,
                over: None,
            },
            warnings: warnings.collect(),
            caches: first.caches.clone(),
            preflight: by_host(|opened| &opened.preflight),
            environment: by_host(|opened| &opened.environment),
            wear: None,
            hosts: self.controller.present().iter().zip(&self.opened).map(load_host).collect(),
        }
    }

    /// Starts jobs on hosts and follows them to their ends. Returns the results.
    fn jobs(
        &self,
        jobs: Vec<(usize, Job)>,
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Vec<(usize, JobEnd)>, BenchError> {
        self.link.wait_for_away()?;
        self.link.ask_all::<_, ()>(topic::JOB, &jobs, OPEN_WITHIN)?;
        let mut going: Vec<usize> = jobs.iter().map(|(host, _)| *host).collect();
        let mut ended = Vec::new();
        let mut is_stopped = false;
        let mut done_before = (Bytes::ZERO, Bytes::ZERO);
        while !going.is_empty() {
            let asked: Vec<(usize, ())> = going.iter().map(|host| (*host, ())).collect();
            let states: Vec<JobState> = self.link.ask_all(topic::JOB_STATE, &asked, OPEN_WITHIN)?;
            let mut sum =
                PrefillSoFar { done: done_before.0, total: done_before.1, bytes_per_s: 0.0 };
            let mut still = Vec::new();
            for (host, state) in std::mem::take(&mut going).into_iter().zip(states) {
                match state {
                    JobState::Going { done, total, bytes_per_s } => {
                        sum.done = sum.done + Bytes::new(done);
                        sum.total = sum.total + Bytes::new(total);
                        sum.bytes_per_s += bytes_per_s;
                        still.push(host);
                    }
                    JobState::Done(done) => {
                        let bytes = done.prefilled.as_ref().map_or(0, |filled| filled.bytes);
                        let bytes = Bytes::new(bytes);
                        done_before = (done_before.0 + bytes, done_before.1 + bytes);
                        sum.done = sum.done + bytes;
                        sum.total = sum.total + bytes;
                        ended.push((host, Ok(done)));
                    }
                    JobState::Failed(failed) => ended.push((host, Err(failed))),
                }
            }
            going = still;
            let goes_on = sum.total == Bytes::ZERO || progress(sum);
            let has_failed = ended.iter().any(|(_, ended)| ended.is_err());
            if (!goes_on || has_failed) && !is_stopped {
                is_stopped = true;
                let asked: Vec<(usize, ())> = going.iter().map(|host| (*host, ())).collect();
                self.link.ask_all::<_, ()>(topic::JOB_STOP, &asked, OPEN_WITHIN)?;
            }
            std::thread::sleep(LOOK);
        }
        Ok(ended)
    }

    /// Keeps the objects that hosts created, regardless of the plan.
    pub(crate) fn keep(&mut self) -> Result<(), BenchError> {
        let all = (0..self.link.names().len()).map(|host| (host, Job::Keep)).collect();
        for (host, ended) in self.jobs(all, &mut |_| true)? {
            ended.map_err(|failed| self.error_of(host, failed))?;
        }
        self.is_cleared = true;
        Ok(())
    }

    /// Removes the objects that hosts created, or leaves them as evidence. Only the first call has
    /// an effect.
    pub(crate) fn clear(&mut self, is_evidence: bool) -> Cleared {
        let mut cleared = Cleared::default();
        if std::mem::replace(&mut self.is_cleared, true) {
            return cleared;
        }
        for (host, name) in self.link.names().iter().enumerate() {
            let done = self.jobs(vec![(host, Job::Clear { is_evidence })], &mut |_| true);
            let of_host = |text: String| format!("host {name}: {text}");
            match done.map(|mut all| all.pop().map(|(_, done)| done)) {
                Ok(Some(Ok(done))) => {
                    cleared.stays.extend(done.stays.into_iter().map(of_host));
                    cleared.not_removed.extend(done.not_removed.into_iter().map(of_host));
                }
                Ok(Some(Err(failed))) => cleared.not_removed.push(of_host(failed.error.text)),
                Ok(None) => {}
                Err(error) => cleared.not_removed.push(format!(
                    "{error}; its agent removes its files when the connection is lost, and \
                     tilemark cleanup on that host finds the rest"
                )),
            }
        }
        cleared
    }

    /// Returns the tiles of these disks, by host.
    fn tiles_by_host(&self, disks: &[DiskNeed]) -> Vec<(usize, Vec<u32>)> {
        let mut by_host: Vec<(usize, Vec<u32>)> =
            (0..self.link.names().len()).map(|host| (host, Vec::new())).collect();
        for tile in disks.iter().filter_map(|disk| disk.tile) {
            let tiles = &mut by_host[self.host_of(tile)].1;
            if tiles.last() != Some(&tile) {
                tiles.push(tile);
            }
        }
        by_host.retain(|(_, tiles)| !tiles.is_empty());
        by_host
    }

    fn host_of(&self, tile: u32) -> usize {
        self.placed.get(tile as usize).copied().unwrap_or(0)
    }

    fn error_of(&self, host: usize, failed: Failed) -> BenchError {
        let name = &self.link.names()[host];
        match failed {
            Failed { is_interrupted: true, .. } => BenchError::Interrupted,
            Failed { wrong_blocks, .. } if !wrong_blocks.is_empty() => {
                let of_host = |text: &String| format!("host {name}: {text}");
                BenchError::Mismatch(wrong_blocks.iter().map(of_host).collect())
            }
            Failed { error, .. } => host_error_of(name, error),
        }
    }
}

fn load_host((present, opened): (&crate::controller::Present, &Opened)) -> LoadHost {
    let ClockOffset { ahead_ns, round_trip, .. } = present.clock;
    LoadHost {
        name: present.name.clone(),
        reached: present.reached.clone(),
        hostname: present.hello.hostname.clone(),
        version: present.hello.tool.version.clone(),
        clock_ahead_ns: i64::try_from(ahead_ns).unwrap_or(i64::MAX),
        clock_uncertainty_ns: present.clock.uncertainty().0,
        round_trip_ns: round_trip.0,
        target_summary: opened.summary.clone(),
        path: opened.path.clone(),
    }
}

impl Drop for HostsRig {
    fn drop(&mut self) {
        // The error concerns no one now; `cleanup` finds the rest.
        let _ = self.clear(false);
    }
}

impl Rig for HostsRig {
    type Load = HostsLoad;

    fn clocks(&self) -> Clocks {
        bench::rig::clocks()
    }

    fn capacity(&self) -> Bytes {
        self.controller.room_of(self.opened.iter().map(|opened| opened.capacity_bytes))
    }

    fn tiles_that_fit(&self, load: &TileLoad) -> u32 {
        let rooms: Vec<u64> = self.opened.iter().map(|opened| opened.capacity_bytes).collect();
        self.controller.tiles_that_fit(load, &self.placed, &rooms)
    }

    fn power(&self) -> Option<Arc<Panel>> {
        self.power.clone()
    }

    fn can_rest(&self) -> bool {
        true
    }

    fn prepare(
        &mut self,
        disks: &[DiskNeed],
        progress: &mut dyn FnMut(PrefillSoFar) -> bool,
    ) -> Result<Option<Prefilled>, BenchError> {
        let by_host = self.tiles_by_host(disks);
        let most = disks.iter().filter_map(|disk| Some(disk.tile? + 1)).max().unwrap_or(0);
        self.made = self.made.max(most);
        let jobs =
            by_host.into_iter().map(|(host, tiles)| (host, Job::Prepare { tiles })).collect();
        let mut all: Option<Prefilled> = None;
        let mut interrupted = None;
        for (host, ended) in self.jobs(jobs, progress)? {
            match ended {
                Ok(done) => {
                    let Some(more) = done.prefilled else { continue };
                    match &mut all {
                        Some(all) => all.add(more),
                        None => all = Some(more),
                    }
                }
                // Hosts that were stopped because of it say less.
                Err(failed) if failed.is_interrupted => interrupted = Some((host, failed)),
                Err(failed) => return Err(self.error_of(host, failed)),
            }
        }
        match interrupted {
            Some((host, failed)) => Err(self.error_of(host, failed)),
            None => Ok(all),
        }
    }

    fn check_written(&mut self) -> Result<Option<String>, BenchError> {
        self.link.wait_for_away()?;
        let (mut texts, mut wrong) = (Vec::new(), Vec::new());
        for round in self.checks() {
            let mut ended = self.jobs(round, &mut |_| true)?;
            ended.sort_by_key(|(host, _)| *host);
            for (host, ended) in ended {
                match ended {
                    Ok(done) => {
                        let name = &self.link.names()[host];
                        texts.extend(done.verified.map(|text| format!("host {name}: {text}")));
                    }
                    Err(failed) => match self.error_of(host, failed) {
                        BenchError::Mismatch(blocks) => wrong.extend(blocks),
                        other => return Err(other),
                    },
                }
            }
        }
        match wrong.is_empty() {
            true => Ok((!texts.is_empty()).then(|| texts.join("; "))),
            false => Err(BenchError::Mismatch(wrong)),
        }
    }

    fn start(&mut self, plan: &ResolvedPlan, order: &StepOrder) -> Result<HostsLoad, BenchError> {
        self.epoch += 1;
        let whole = fleet(plan, order.clone())?.topology;
        let vms = VmsOf::new(&whole);
        let (mut parts, mut questions) = (Vec::new(), Vec::new());
        for host in 0..self.link.names().len() {
            let Some((positions, guests)) = self.part_of(plan, order, host) else { continue };
            let members = positions.iter().map(|at| order.members[*at]).collect();
            let order = StepOrder { members, ..order.clone() };
            questions.push((host, Ready { epoch: self.epoch, order, guests }));
            parts.push(LoadPart::new((host, &self.link.names()[host]), &positions, &vms));
        }
        self.link.wait_for_away()?;
        self.link.ask_all::<_, ()>(topic::READY, &questions, READY_WITHIN)?;
        let mut clocks = Vec::new();
        for part in &mut parts {
            let clock = self.link.clock(part.host, STEP_PROBES)?;
            part.clock_uncertainty = clock.uncertainty();
            clocks.push(clock);
        }
        let slowest = clocks.iter().map(|clock| clock.round_trip.0).max().unwrap_or(0);
        let at = monotonic() + Nanos(slowest.saturating_mul(10)).max(LEAD_MIN);
        let begin = |(part, clock): (&LoadPart, &ClockOffset)| {
            (part.host, Begin { epoch: self.epoch, at_ns: clock.theirs(at).0 })
        };
        let questions: Vec<(usize, Begin)> = parts.iter().zip(&clocks).map(begin).collect();
        let began: Vec<Began> = self.link.ask_all(topic::BEGIN, &questions, READY_WITHIN)?;
        let unit = began.iter().map(|began| began.unit_bytes).max().unwrap_or(512);
        for (part, began) in parts.iter_mut().zip(&began) {
            part.began_late = Nanos(began.began_late_ns);
        }
        let by_tile: Vec<usize> = (0..order.tiles).map(|tile| self.host_of(tile)).collect();
        let placed = (at, by_tile.clone());
        let link = Arc::clone(&self.link);
        let load = HostsLoad::new(link, self.epoch, whole, parts, Bytes::new(unit), placed);
        self.happening(plan, load, at, by_tile)
    }
}

impl HostsRig {
    /// Returns the jobs to read back, in rounds: first each host reads its own disks, then the
    /// first present host reads the disks of lost hosts.
    fn checks(&self) -> Vec<Vec<(usize, Job)>> {
        let names = self.link.names();
        let (here, gone): (Vec<usize>, Vec<usize>) =
            (0..names.len()).partition(|host| self.link.is_present(*host));
        let Some(first) = here.first().copied() else { return Vec::new() };
        let own = here.iter().map(|host| (*host, Job::Check)).collect();
        let of_gone = gone.into_iter().map(|gone| {
            let made = (0..self.made).filter(|tile| self.host_of(*tile) == gone);
            let run_id = format!("{}-{}", self.run_id, names[gone]);
            vec![(first, Job::CheckOf { run_id, tiles: made.collect() })]
        });
        std::iter::once(own).chain(of_gone).collect()
    }

    /// Returns the positions of the order that a host drives, then the positions of tiles that may
    /// move to it. The map gives, for these tiles, the runs that created their disks. `None` if the
    /// host has nothing to do.
    fn part_of(
        &self,
        plan: &ResolvedPlan,
        order: &StepOrder,
        host: usize,
    ) -> Option<(Vec<usize>, BTreeMap<u32, String>)> {
        let all = || 0..order.members.len();
        let is_own =
            |at: &usize| order.members[*at].tile.is_some_and(|tile| self.host_of(tile) == host);
        let mut positions: Vec<usize> = all().filter(is_own).collect();
        let mut guests = BTreeMap::new();
        if plan.may_move() {
            for at in all().filter(|at| !is_own(at)) {
                let Some(tile) = order.members[at].tile else { continue };
                let by = &self.link.names()[self.host_of(tile)];
                guests.insert(tile, format!("{}-{by}", self.run_id));
                positions.push(at);
            }
        }
        (!positions.is_empty()).then_some((positions, guests))
    }

    /// Adds the plan's events to a load.
    fn happening(
        &self,
        plan: &ResolvedPlan,
        load: HostsLoad,
        began: Nanos,
        by_tile: Vec<usize>,
    ) -> Result<HostsLoad, BenchError> {
        let (events, restart) = (plan.settings.events.clone(), plan.settings.restart);
        if events.is_empty() && restart.is_none() {
            return Ok(load);
        }
        let tiles = Tiles::new(by_tile, self.link.names().len());
        let script = Script { epoch: self.epoch, began, events, restart, tiles };
        let happening = Happening::start(Arc::clone(&self.link), script);
        let failed = |error| BenchError::Hosts(format!("starting a thread: {error}"));
        Ok(load.with_happening(happening.map_err(failed)?))
    }
}
