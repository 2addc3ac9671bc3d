use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use bench::BenchError;
use bench::progress::{Control, Request};
use cluster::Invitation;
use record::run::{Step, ToolFacts};
use spec::study::{ResolvedConfiguration, ResolvedStudy};
use study::{PartOutcome, Point, PointError, Simulate, Simulated};

use crate::controller::{Controller, Options};
use crate::link::SOON;
use crate::under_way::held;
use crate::wire::{SimulatePoint, Study, topic};

/// Hosts that simulate a study's points, as many at a time as each has processors. A point is data, so its
/// step is the same wherever it is simulated, bit for bit; those of a host that is lost are simulated again
/// on the others.
pub struct Workers<'a> {
    controller: Controller,
    /// What is not worth sending: working sets.
    here: Simulated,
    places: Mutex<Places>,
    has_changed: Condvar,
    numbers: AtomicU64,
    tell_lost: &'a (dyn Fn(&str) + Sync),
}

#[derive(Debug, Default)]
struct Places {
    /// Hosts, each as often as it has room.
    free: Vec<usize>,
    /// By host, what it may forget.
    received: Vec<Vec<u64>>,
    is_lost: Vec<bool>,
}

/// How often a point is asked for: it takes seconds.
const LOOK: Duration = Duration::from_millis(50);
/// A study of hundreds of configurations is some megabytes.
const STUDY_WITHIN: Duration = Duration::from_secs(60);

impl<'a> Workers<'a> {
    /// Starts the agents and hands the study out. `tell` hands out invitations, `tell_lost` hears of a host
    /// that is lost.
    ///
    /// # Errors
    ///
    /// When a host cannot be had.
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
        let hosts = controller.present().len();
        let everyone: Vec<(usize, &Study)> = (0..hosts).map(|host| (host, &asked)).collect();
        controller.link.ask_all::<_, ()>(topic::STUDY, &everyone, STUDY_WITHIN)?;
        // One place of each host, then a second one: where there is less to do than there are processors,
        // every host has a part.
        let cores: Vec<usize> =
            controller.present().iter().map(|host| host.hello.processors.max(1)).collect();
        let most = cores.iter().copied().max().unwrap_or(1);
        let of_turn =
            |turn| (0..hosts).rev().filter(|host| cores[*host] > turn).collect::<Vec<_>>();
        let free = (0..most).rev().flat_map(of_turn).collect();
        let places =
            Places { free, received: vec![Vec::new(); hosts], is_lost: vec![false; hosts] };
        Ok(Self {
            controller,
            here,
            places: Mutex::new(places),
            has_changed: Condvar::new(),
            numbers: AtomicU64::new(1),
            tell_lost,
        })
    }

    /// Points that are simulated at the same time.
    pub fn threads(&self) -> NonZeroUsize {
        NonZeroUsize::new(held(&self.places).free.len()).unwrap_or(NonZeroUsize::MIN)
    }

    /// A place on a host; nothing if none is left.
    fn take(&self) -> Option<usize> {
        let mut places = held(&self.places);
        loop {
            if let Some(host) = places.free.pop() {
                return Some(host);
            }
            if places.is_lost.iter().all(|is_lost| *is_lost) {
                return None;
            }
            places = self.has_changed.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, host: usize, number: u64) {
        let mut places = held(&self.places);
        places.free.push(host);
        places.received[host].push(number);
        self.has_changed.notify_all();
    }

    fn lose(&self, host: usize, error: &BenchError) {
        let mut places = held(&self.places);
        places.free.retain(|free| *free != host);
        if !std::mem::replace(&mut places.is_lost[host], true) {
            (self.tell_lost)(&format!("{error}; its points are simulated elsewhere"));
        }
        self.has_changed.notify_all();
    }

    fn is_lost(&self, host: usize) -> bool {
        held(&self.places).is_lost[host]
    }

    /// A point on a host.
    fn on(
        &self,
        host: usize,
        number: u64,
        point: &Point<'_>,
        control: &Control,
    ) -> Result<PartOutcome, BenchError> {
        let link = &self.controller.link;
        let received = std::mem::take(&mut held(&self.places).received[host]);
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
        while control.request() == Request::GoOn {
            let Some(host) = self.take() else {
                return Err(PointError::Failed("no host is left to simulate it".to_owned()));
            };
            if self.is_lost(host) {
                continue;
            }
            let number = self.numbers.fetch_add(1, Ordering::Relaxed);
            match self.on(host, number, point, control) {
                Ok(outcome) => {
                    self.give_back(host, number);
                    return outcome.into();
                }
                Err(error) => self.lose(host, &error),
            }
        }
        Err(PointError::Interrupted)
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
        f.debug_struct("Workers").field("controller", &self.controller).finish_non_exhaustive()
    }
}
