use std::num::NonZeroUsize;
use std::time::Duration;

use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::progress::{Control, Request};
use bench::rig::Foreseen;
use bench::run::Foresee;
use cluster::{Invitation, RemoteError};
use run_store::run::ToolFacts;
use spec::array::Array;
use units::Bytes;

use crate::controller::Controller;
use crate::link::{SOON, host_error};
use crate::options::Options;
use crate::run::refused;
use crate::shares::{LOOK, Share, Shares};
use crate::wire::{self, SimulateStep, Simulation, topic};

/// Hosts that simulate the steps of a run in advance.
pub struct Steps<'a> {
    shares: Shares<'a>,
    control: Control,
}

/// Maximum accepted size of a step. A slice of a thousand virtual machines is a megabyte, and a
/// step has hundreds. Our choice.
const STEP_MAX: Bytes = Bytes::new(4 << 30);
/// Maximum time to transfer a part of a step.
const PART_WITHIN: Duration = Duration::from_secs(30);

impl<'a> Steps<'a> {
    /// Starts the agents and sends plan and array. `tell` receives invitations, and `tell_lost` is
    /// called for a lost host.
    ///
    /// # Errors
    ///
    /// If a host cannot be reached, or the tile replays a trace, whose file is only on this host.
    pub fn gather(
        (plan, array): (&ResolvedPlan, &Array),
        options: &Options,
        tool: &ToolFacts,
        control: &Control,
        tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
        tell_lost: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self, BenchError> {
        if plan.tile_set.workloads.iter().any(|(workload, _)| workload.replay.is_some()) {
            return refused(
                "a tile that plays a trace is simulated on one host only, because the trace is a \
                local file",
                "leave out --host; --threads simulates steps at the same time here",
            );
        }
        let name = format!("simulate-{}", std::process::id());
        let controller = Controller::gather(&name, options, tool, control, tell)?;
        let asked =
            Simulation { plan: plan.to_plan(), tile: plan.tile_set.clone(), array: array.clone() };
        let shares = Shares::hand_out(controller, (topic::SIMULATION, &asked), tell_lost)?;
        Ok(Self { shares, control: Control::default() })
    }

    /// Simulates a step on a host; `None` if it cannot be simulated there or was stopped.
    fn on(
        &self,
        Share { host, number, received }: Share,
        (tiles, repeat): (u32, u32),
    ) -> Result<Option<Foreseen>, BenchError> {
        let link = &self.shares.controller.link;
        let asked = SimulateStep { number, tiles, repeat, received };
        link.ask::<_, ()>(host, topic::STEP, &asked, SOON)?;
        loop {
            let outcome: Option<Result<(), RemoteError>> =
                link.ask(host, topic::STEP_OUTCOME, &number, SOON)?;
            match outcome {
                Some(Ok(())) => break,
                Some(Err(_)) => return Ok(None),
                None if self.control.request() != Request::GoOn => return Ok(None),
                None => std::thread::sleep(LOOK),
            }
        }
        let failed = |what: String| host_error(&link.names[host], what);
        let member = &link.members[host];
        let bytes = link.hub.fetch(member, &wire::step_name(number), STEP_MAX, PART_WITHIN);
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        let foreseen = wire::read_step(&bytes);
        Ok(Some(foreseen.ok_or_else(|| failed("sent data that is not a step".to_owned()))?))
    }
}

impl Foresee for Steps<'_> {
    fn threads(&self) -> NonZeroUsize {
        self.shares.threads()
    }

    fn foresee(&self, tiles: u32, repeat: u32) -> Option<Foreseen> {
        let on = |share: Share| self.on(share, (tiles, repeat));
        self.shares.on_one(&self.control, on).ok().flatten()
    }

    fn end(&self) {
        self.control.interrupt();
    }
}

impl std::fmt::Debug for Steps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").field("controller", &self.shares.controller).finish_non_exhaustive()
    }
}
