use std::num::NonZeroUsize;

use bench::BenchError;
use bench::progress::{Control, Request};
use cluster::Invitation;
use run_store::run::{Step, ToolFacts};
use spec::study::{ResolvedConfiguration, ResolvedStudy};
use study::{PartOutcome, Point, PointError, Simulate, Simulated};

use crate::controller::Controller;
use crate::link::SOON;
use crate::options::Options;
use crate::shares::{LOOK, NoHost, Share, Shares};
use crate::wire::{SimulatePoint, Study, topic};

/// Hosts that simulate a study's points.
pub struct Workers<'a> {
    shares: Shares<'a>,
    /// Simulator on this host for working sets, which are not worth sending.
    here: Simulated,
}

impl<'a> Workers<'a> {
    /// Starts the agents and sends the study. `tell` receives invitations, and `tell_lost` is
    /// called for a lost host.
    ///
    /// # Errors
    ///
    /// If a host cannot be reached.
    pub fn gather(
        study: &ResolvedStudy,
        options: &Options,
        tool: &ToolFacts,
        control: &Control,
        tell: &mut dyn FnMut(&Invitation) -> Result<(), BenchError>,
        tell_lost: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self, BenchError> {
        let name = format!("study-{}", std::process::id());
        let controller = Controller::gather(&name, options, tool, control, tell)?;
        let configurations = study.configurations.clone();
        let here = Simulated::new(&configurations);
        let asked = Study { name: study.study.name.clone(), configurations };
        Ok(Self { shares: Shares::hand_out(controller, (topic::STUDY, &asked), tell_lost)?, here })
    }

    /// Returns the number of points that are simulated concurrently.
    pub fn threads(&self) -> NonZeroUsize {
        self.shares.threads()
    }

    /// Simulates a point on a host.
    fn on(
        &self,
        Share { host, number, received }: Share,
        point: &Point<'_>,
        control: &Control,
    ) -> Result<PartOutcome, BenchError> {
        let link = &self.shares.controller.link;
        let &Point { index, tiles, repeat, seed, .. } = point;
        let asked = SimulatePoint { number, index, tiles, repeat, seed, received };
        link.ask::<_, ()>(host, topic::POINT, &asked, SOON)?;
        let mut is_stopped = false;
        loop {
            let outcome: Option<PartOutcome> =
                link.ask(host, topic::POINT_OUTCOME, &number, SOON)?;
            if let Some(outcome) = outcome {
                return Ok(outcome);
            }
            if control.request() != Request::GoOn && !is_stopped {
                is_stopped = true;
                link.ask::<_, ()>(host, topic::STUDY_STOP, &(), SOON)?;
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Simulate for Workers<'_> {
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
        match self.shares.on_one(control, |share| self.on(share, point, control)) {
            Ok(outcome) => outcome.into(),
            Err(NoHost::Left) => {
                Err(PointError::Failed("no host is left to simulate it".to_owned()))
            }
            Err(NoHost::Stopped) => Err(PointError::Interrupted),
        }
    }

    fn working_set(
        &self,
        configuration: &ResolvedConfiguration,
        share: f64,
        seed: u64,
    ) -> Result<f64, PointError> {
        self.here.working_set(configuration, share, seed)
    }
}

impl std::fmt::Debug for Workers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers")
            .field("controller", &self.shares.controller)
            .finish_non_exhaustive()
    }
}
