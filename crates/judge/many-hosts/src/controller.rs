use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::progress::{Control, Request};
use bench::run::{Outline, ReusableRun, Reuse, RunOptions, TileLoad, nothing_to_reuse};
use cluster::{ClockOffset, Invitation};
use run_store::run::ToolFacts;
use run_store::rundir::RunId;
use units::Bytes;

use crate::hub::OpenHub;
use crate::launch::By;
use crate::link::{Link, SOON, host_error_with};
use crate::opening::{TILES_MAX, questions};
use crate::options::{Options, Sharing};
use crate::wire::{Examined, Hello, Order, Reusable, Said, topic};

/// Maximum time of a command. An examination takes seconds, and removing terabytes of files takes
/// longer.
const COMMAND_WITHIN: Duration = Duration::from_secs(600);

/// Host that has joined.
#[derive(Debug, Clone)]
pub struct Present {
    /// Name of the host.
    pub name: String,
    /// Address of the host, as in `--host`.
    pub reached: String,
    /// Initial message of its agent.
    pub hello: Hello,
    /// Offset of its clock from this controller's clock.
    pub clock: ClockOffset,
}

/// Number of round trips to measure a clock. The fastest of twenty is within a tenth of the fastest
/// of thousands (measured on loopback and over veth).
pub(crate) const PROBES: u32 = 20;
/// Maximum time of an examination, which reads every device.
const EXAMINE_WITHIN: Duration = Duration::from_secs(60);

/// Controller of the hosts that have joined.
#[derive(Debug)]
pub struct Controller {
    pub(crate) link: Arc<Link>,
    present: Vec<Present>,
    children: Vec<Option<Child>>,
    pub(crate) sharing: Sharing,
    /// Bytes of reused disks on each host.
    held: Vec<u64>,
}

impl Controller {
    /// Starts the agents and waits until all have joined. `tell` receives the invitations for
    /// agents that are started elsewhere.
    ///
    /// # Errors
    ///
    /// If an agent does not join in time, has another version or another controller, or its clock
    /// cannot be measured.
    pub fn gather(
        cluster: &str,
        options: &Options,
        tool: &ToolFacts,
        control: &Control,
        tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        let OpenHub { hub, events, members } = crate::hub::open(cluster, options, VALID_FOR)?;
        let hosts_error = |error: cluster::ClusterError| BenchError::Hosts(error.to_string());
        let names = members.iter().map(ToString::to_string).collect();
        let events = Mutex::new(events);
        let held = vec![0; members.len()];
        let link = Arc::new(Link {
            hub,
            events,
            members,
            names,
            lease: options.lease,
            away: Mutex::default(),
        });
        let mut controller = Self {
            link,
            present: Vec::new(),
            children: Vec::new(),
            sharing: options.sharing,
            held,
        };
        let remote = options.remote();
        for host in &options.hosts {
            let invitation = controller.link.hub.invitation(&host.name).map_err(hosts_error)?;
            let child = host
                .start(&invitation, &remote)
                .map_err(|error| BenchError::Hosts(error.to_string()))?;
            if host.by == By::Nobody {
                tell(&invitation)?;
            }
            controller.children.push(child);
        }
        controller.wait(options, control)?;
        controller.meet(options, tool)?;
        Ok(controller)
    }

    /// Waits until all have joined.
    fn wait(&mut self, options: &Options, control: &Control) -> Result<(), BenchError> {
        let until = Instant::now() + options.join_within;
        let mut is_last = false;
        loop {
            let missing = self.link.hub.wait_for(&self.link.members, Duration::from_millis(50));
            let Some(first) = missing.first() else { return Ok(()) };
            if control.request() != Request::GoOn {
                return Err(BenchError::Interrupted);
            }
            for (child, name) in self.children.iter_mut().zip(&self.link.names) {
                let ended = child.as_mut().and_then(|child| child.try_wait().ok().flatten());
                // An agent that ended at the last moment may have joined before.
                if let Some(status) = ended
                    && missing.iter().any(|missing| missing.as_str() == name)
                    && std::mem::replace(&mut is_last, true)
                {
                    let what = format!("its agent ended before it joined ({status})");
                    let hint = "its output is above; over ssh, `ssh HOST tilemark version` must \
                                work without a password, or --host-program names the program there";
                    return Err(host_error_with(name, what, hint));
                }
            }
            if Instant::now() > until {
                let what = format!("did not join within {} s", options.join_within.as_secs());
                let hint = "the agent must reach this host: --listen ADDRESS:0 names an address \
                            that the agent can reach, and --join-within gives it more time";
                return Err(host_error_with(first.as_str(), what, hint));
            }
        }
    }

    /// Exchanges initial messages and measures the clocks.
    fn meet(&mut self, options: &Options, tool: &ToolFacts) -> Result<(), BenchError> {
        let everyone: Vec<(usize, ())> = (0..self.link.names.len()).map(|at| (at, ())).collect();
        let hellos: Vec<Hello> = self.link.ask_all(topic::HELLO, &everyone, SOON)?;
        for ((at, hello), host) in hellos.into_iter().enumerate().zip(&options.hosts) {
            let name = self.link.names[at].clone();
            if let Some((what, hint)) = other_version(&hello.tool, tool) {
                return Err(host_error_with(&name, what, hint));
            }
            if let Some(by) = &hello.held_by {
                let hint = "a host works for one controller at a time: wait for that run, or end it, and \
                            name each host once";
                return Err(host_error_with(&name, format!("held by {by}"), hint));
            }
            let clock = self.link.clock(at, PROBES)?;
            self.present.push(Present { name, reached: host.to_string(), hello, clock });
        }
        Ok(())
    }

    /// Returns the hosts in the order in which they were given.
    pub fn present(&self) -> &[Present] {
        &self.present
    }

    /// Examines the target on every host, without writing.
    ///
    /// # Errors
    ///
    /// If a host does not respond, or its owner does not allow the target.
    pub fn examine(
        &self,
        plan: &ResolvedPlan,
        options: &RunOptions,
        id: &RunId,
    ) -> Result<Vec<Examined>, BenchError> {
        let names = self.link.names();
        let placed = plan.placement.of(names, TILES_MAX);
        let placed = placed.map_err(bench::plan::PlanError::from)?;
        let questions = questions(plan, options, id, names, &placed)?;
        self.link.ask_all(topic::EXAMINE, &questions, EXAMINE_WITHIN)
    }

    /// Returns the outline of a plan with the space found on every host.
    ///
    /// # Errors
    ///
    /// If the placement names another host, or a tile has too many users.
    pub fn outline(&self, plan: &ResolvedPlan, found: &[Examined]) -> Result<Outline, BenchError> {
        let rooms: Vec<u64> = found.iter().map(|own| own.preflight.capacity_bytes).collect();
        let room = self.room_of(rooms.iter().copied());
        let plan = &*bench::run::fitted(plan, room)?;
        let placed = plan.placement.of(self.link.names(), TILES_MAX);
        let placed = placed.map_err(bench::plan::PlanError::from)?;
        let load = TileLoad::of(plan)?;
        let fits = self.tiles_that_fit(&load, &placed, &rooms);
        bench::run::outline(plan, &load, (fits, room))
    }

    /// Returns the maximum number of tiles whose disks fit, for this placement and the capacity of
    /// each host.
    pub(crate) fn tiles_that_fit(&self, load: &TileLoad, placed: &[usize], rooms: &[u64]) -> u32 {
        let per_tile = load.bytes;
        if self.sharing == Sharing::Shared {
            let fits = self.room_of(rooms.iter().copied()).get().checked_div(per_tile.get());
            return fits
                .map_or(TILES_MAX, |fits| u32::try_from(fits).unwrap_or(u32::MAX))
                .min(TILES_MAX);
        }
        let (mut left, mut fits) = (rooms.to_vec(), 0);
        for host in placed {
            let Some(less) = left[*host].checked_sub(per_tile.get()) else { break };
            (left[*host], fits) = (less, fits + 1);
        }
        fits
    }

    /// Runs a command of the program on every host. Returns the answers in the order of the hosts.
    ///
    /// # Errors
    ///
    /// If a host does not respond, its owner does not allow the target, or the command cannot be
    /// run there.
    pub fn command(&self, order: &Order) -> Result<Vec<Said>, BenchError> {
        let everyone: Vec<(usize, &Order)> =
            (0..self.link.names.len()).map(|host| (host, order)).collect();
        self.link.ask_all(topic::COMMAND, &everyone, COMMAND_WITHIN)
    }

    /// Returns the number of bytes that a run over these hosts may use. Fails if a host refuses.
    pub(crate) fn room(
        &self,
        plan: &ResolvedPlan,
        options: &RunOptions,
        id: &RunId,
    ) -> Result<Bytes, BenchError> {
        let found = self.examine(plan, options, id)?;
        for (found, host) in found.iter().zip(self.link.names()) {
            if let Some(refused) = found.refusals.first() {
                return Err(BenchError::HostRefused {
                    host: host.clone(),
                    what: refused.text.clone(),
                    hint: refused.hint.clone(),
                });
            }
        }
        let rooms = found.iter().map(|found| found.preflight.capacity_bytes);
        Ok(self.room_of(rooms))
    }

    /// Returns the usable bytes. On shared storage, this is the minimum capacity of all hosts
    /// without the reused disks, plus the reused disks of all hosts. On local storage it is the
    /// sum.
    pub(crate) fn room_of(&self, rooms: impl Iterator<Item = u64>) -> Bytes {
        let rooms = rooms.map(Bytes::new);
        let held = self.held.iter().copied().map(Bytes::new);
        match self.sharing {
            Sharing::Shared => {
                let beside = rooms.zip(held.clone()).map(|(room, held)| room.saturating_sub(held));
                beside.min().unwrap_or(Bytes::ZERO) + held.sum()
            }
            Sharing::Local => rooms.sum(),
        }
    }

    /// Returns the options with `latest`, or a part of a run id, replaced by a run id of which
    /// every host has its part.
    pub(crate) fn reusing(
        &mut self,
        plan: &ResolvedPlan,
        options: &RunOptions,
        id: &RunId,
    ) -> Result<RunOptions, BenchError> {
        let Some(reuse) = &options.reuse else { return Ok(options.clone()) };
        let names = self.link.names();
        let placed = plan.placement.of(names, TILES_MAX);
        let placed = placed.map_err(bench::plan::PlanError::from)?;
        let ask = |(at, open)| (at, Reusable { open, reuse: reuse.to_string() });
        let all = questions(plan, options, id, names, &placed)?.into_iter().map(ask);
        let found: Vec<Vec<ReusableRun>> =
            self.link.ask_all(topic::KEPT, &all.collect::<Vec<_>>(), EXAMINE_WITHIN)?;
        let of = |all: &[ReusableRun], run_id: &str| {
            all.iter().find(|kept| kept.run_id == run_id).map(|kept| kept.held)
        };
        let mut whole: Vec<&ReusableRun> = found.first().into_iter().flatten().collect();
        whole.retain(|kept| found.iter().all(|all| of(all, &kept.run_id).is_some()));
        let run_id = match (reuse.chosen(whole)?, reuse) {
            (Some(run_id), _) => run_id,
            (None, Reuse::Run(named)) => named.clone(),
            (None, Reuse::Back(_)) => {
                let looked_at = found.iter().map(Vec::len).max().unwrap_or(0);
                return Err(nothing_to_reuse(plan, reuse, looked_at));
            }
        };
        self.held = found.iter().map(|all| of(all, &run_id).unwrap_or(0)).collect();
        Ok(RunOptions { reuse: Some(Reuse::Run(run_id)), ..options.clone() })
    }

    /// Tells all hosts to leave.
    fn leave(&mut self) {
        let everyone = 0..self.link.names.len();
        for host in everyone {
            let _ = self.link.ask::<_, ()>(host, topic::LEAVE, &(), Duration::from_secs(1));
        }
        let until = Instant::now() + CHILD_WAIT;
        for child in self.children.iter_mut().flatten() {
            while child.try_wait().is_ok_and(|ended| ended.is_none()) {
                if Instant::now() > until {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Maximum time for agents that were started from here to exit.
const CHILD_WAIT: Duration = Duration::from_secs(12);
/// Validity of certificates. They must outlive the longest run: a full one takes a day.
const VALID_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// Returns the refusal of a host with another version of the program, and a hint; `None` if the
/// versions agree.
pub(crate) fn other_version(
    theirs: &ToolFacts,
    ours: &ToolFacts,
) -> Option<(String, &'static str)> {
    let commits = theirs.commit.as_ref().zip(ours.commit.as_ref());
    let differs = theirs.version != ours.version || commits.is_some_and(|(a, b)| a != b);
    let what = || format!("has tilemark {}, but this host has {}", said(theirs), said(ours));
    differs.then(|| (what(), "install the same version on all hosts"))
}

fn said(tool: &ToolFacts) -> String {
    match &tool.commit {
        Some(commit) => format!("{} ({commit})", tool.version),
        None => tool.version.clone(),
    }
}
