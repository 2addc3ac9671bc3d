//! Execution of the plan's events during the measurement of a step, each at its time, and restart
//! of a lost host's tiles on other hosts.
//!
//! It runs on a separate thread, so that slices are still merged meanwhile. Events are carried out
//! one at a time. An event that becomes due meanwhile starts late, and its recorded times show
//! that.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bench::BenchError;
use bench::rig::HostEvent;
use cluster::monotonic;
use run_store::run::{StepEvent, StepEventKind, TileMove};
use spec::events::{EventKind, PlannedEvent, Restart, in_order};
use units::Nanos;

use crate::link::{Link, SOON, host_error};
use crate::moves::Tiles;
use crate::under_way::held;
use crate::wire::{Came, Lose, Put, Stand, Stands, Take, Taken, topic};

/// Maximum time of a move: half a minute for a tile's I/Os in flight, and then time to write its
/// verification state to storage.
const MOVE_WITHIN: Duration = Duration::from_secs(60);
/// Number of leases after which a host that lost power joins again. By then all have noticed the
/// loss.
const AWAY_LEASES: u32 = 3;

/// Events of a load.
pub(crate) struct Script {
    pub epoch: u64,
    /// Start of the load, on this host's monotonic clock.
    pub began: Nanos,
    pub events: Vec<PlannedEvent>,
    pub restart: Option<Restart>,
    pub tiles: Tiles,
}

/// Handle of the thread that carries out events.
#[derive(Debug)]
pub(crate) struct Happening {
    notes: Sender<Note>,
    told: Arc<Mutex<EventResults>>,
    thread: Option<JoinHandle<()>>,
    has_restart: bool,
}

/// Results of the events so far.
#[derive(Debug, Default)]
pub(crate) struct EventResults {
    pub events: Vec<HostEvent>,
    /// Moves in order: time, tile and new host.
    pub moved: Vec<(Nanos, u32, usize)>,
    /// Reason why the step is invalid.
    pub failure: Option<BenchError>,
}

#[derive(Debug)]
enum Note {
    /// Start of the measurement, since the start of the load.
    Measured(Nanos),
    /// Loss of a host, with the time of its last message since the start of the load.
    Lost {
        host: usize,
        last_sign: Nanos,
    },
    Over,
}

impl Happening {
    /// Starts the thread.
    pub fn start(link: Arc<Link>, script: Script) -> std::io::Result<Self> {
        let (notes, noted) = channel();
        let told = Arc::new(Mutex::default());
        let has_restart = script.restart.is_some();
        let mut course = Course {
            link,
            epoch: script.epoch,
            began: script.began,
            planned: in_order(&script.events).into_iter().map(|(_, own)| own.clone()).collect(),
            restart: script.restart,
            tiles: script.tiles,
            measured: None,
            restarts: VecDeque::new(),
            told: Arc::clone(&told),
        };
        let thread = std::thread::Builder::new().name("events".to_owned());
        let thread = Some(thread.spawn(move || course.run(&noted))?);
        Ok(Self { notes, told, thread, has_restart })
    }

    /// Returns true if tiles of a lost host restart.
    pub const fn has_restart(&self) -> bool {
        self.has_restart
    }

    /// Reports the start of the measurement.
    pub fn measured(&self, since_start: Nanos) {
        let _ = self.notes.send(Note::Measured(since_start));
    }

    /// Reports the loss of a host.
    pub fn lost(&self, host: usize, last_sign: Nanos) {
        let _ = self.notes.send(Note::Lost { host, last_sign });
    }

    /// Calls `get` with the results so far.
    pub fn told<T>(&self, get: impl FnOnce(&mut EventResults) -> T) -> T {
        get(&mut held(&self.told))
    }

    /// Stops further events, and waits for the one in progress.
    pub fn end(&mut self) {
        let _ = self.notes.send(Note::Over);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Happening {
    fn drop(&mut self) {
        self.end();
    }
}

/// Tiles of a lost host that are to be restarted.
struct Again {
    due: Nanos,
    tiles: Vec<u32>,
    /// Index of the event that they belong to.
    event: usize,
}

struct Course {
    link: Arc<Link>,
    epoch: u64,
    began: Nanos,
    planned: VecDeque<PlannedEvent>,
    restart: Option<Restart>,
    tiles: Tiles,
    /// Start of the measurement, since the start of the load.
    measured: Option<Nanos>,
    restarts: VecDeque<Again>,
    told: Arc<Mutex<EventResults>>,
}

impl Course {
    /// Returns the time since the start of the load.
    fn now(&self) -> Nanos {
        monotonic().saturating_sub(self.began)
    }

    fn run(&mut self, notes: &Receiver<Note>) {
        loop {
            let due = self.next_due();
            let left = due.map(|due| due.saturating_sub(self.now()).to_duration());
            // Without a due event only notes matter.
            match notes.recv_timeout(left.unwrap_or(Duration::from_secs(3600))) {
                Ok(Note::Measured(since_start)) => self.measured = Some(since_start),
                Ok(Note::Lost { host, last_sign }) => self.lose(host, last_sign),
                Ok(Note::Over) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => self.carry_out(),
            }
            if held(&self.told).failure.is_some() {
                return;
            }
        }
    }

    fn next_due(&self) -> Option<Nanos> {
        let planned = self.planned.front().zip(self.measured);
        let planned = planned.map(|(event, measured)| measured.saturating_add(event.at));
        let again = self.restarts.front().map(|again| again.due);
        planned.into_iter().chain(again).min()
    }

    /// Carries out events that are due.
    fn carry_out(&mut self) {
        let now = self.now();
        if self.restarts.front().is_some_and(|again| again.due <= now) {
            if let Some(again) = self.restarts.pop_front() {
                self.start_again(&again);
            }
            return;
        }
        let is_due =
            |event: &PlannedEvent, measured: Nanos| measured.saturating_add(event.at) <= now;
        let measured = self.measured.unwrap_or(Nanos::MAX);
        if !self.planned.front().is_some_and(|event| is_due(event, measured)) {
            return;
        }
        let Some(event) = self.planned.pop_front() else { return };
        let host = event.host.as_ref().and_then(|name| self.position(name));
        let done = match (event.kind, host) {
            (EventKind::Rebalance, _) => self.rebalance(&event),
            (EventKind::Drain, Some(host)) => self.drain(&event, host),
            (EventKind::StopHost, Some(host)) => self.stop(&event, host),
            (EventKind::LoseHost, Some(host)) => self.cut(&event, host),
            // Names were checked with the plan.
            (_, None) => Ok(()),
        };
        if let Err(error) = done {
            self.fail(error);
        }
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.link.names().iter().position(|own| own == name)
    }

    fn fail(&self, error: BenchError) {
        held(&self.told).failure.get_or_insert(error);
    }

    /// Records an event that has begun, and returns its index.
    fn begin(&self, planned: Option<&PlannedEvent>, kind: StepEventKind, began: Nanos) -> usize {
        let event = StepEvent {
            host: planned.and_then(|own| own.host.clone()),
            planned_ns: planned.map(|own| own.at.0),
            ..StepEvent::begun(kind, began.0)
        };
        let mut told = held(&self.told);
        told.events.push(HostEvent { event, affected: Vec::new() });
        told.events.len() - 1
    }

    fn with<T>(&self, event: usize, get: impl FnOnce(&mut HostEvent) -> T) -> T {
        get(&mut held(&self.told).events[event])
    }

    fn drain(&mut self, planned: &PlannedEvent, host: usize) -> Result<(), BenchError> {
        let event = self.begin(Some(planned), StepEventKind::Drain, self.now());
        let tiles = self.tiles.of(host);
        self.tiles.leave(host);
        self.with(event, |own| own.affected.clone_from(&tiles));
        let fixed = planned.to.as_ref().and_then(|name| self.position(name));
        for tile in tiles {
            let to = fixed.or_else(|| self.tiles.fewest());
            self.move_tile(event, tile, to)?;
        }
        self.ended(event, "it had no tile in this step");
        Ok(())
    }

    fn rebalance(&mut self, planned: &PlannedEvent) -> Result<(), BenchError> {
        let event = self.begin(Some(planned), StepEventKind::Rebalance, self.now());
        match planned.to.as_ref().and_then(|name| self.position(name)) {
            Some(to) => {
                for tile in planned.tiles.iter().map(|tile| tile - 1) {
                    if self.tiles.host_of(tile).is_some_and(|from| from != to) {
                        self.with(event, |own| own.affected.push(tile));
                        self.move_tile(event, tile, Some(to))?;
                    }
                }
            }
            None => {
                while let Some((tile, to)) = self.tiles.uneven() {
                    self.with(event, |own| own.affected.push(tile));
                    self.move_tile(event, tile, Some(to))?;
                }
            }
        }
        self.ended(event, "no tile of this step had to move");
        Ok(())
    }

    fn stop(&mut self, planned: &PlannedEvent, host: usize) -> Result<(), BenchError> {
        let event = self.begin(Some(planned), StepEventKind::StopHost, self.now());
        let tiles = self.tiles.of(host);
        self.with(event, |own| own.affected.clone_from(&tiles));
        if tiles.is_empty() {
            self.ended(event, "it had no tile in this step");
            return Ok(());
        }
        let asked = Stand { epoch: self.epoch, for_ns: planned.lasts.unwrap_or_default().0 };
        let Stands { from_ns, until_ns } = self.link.ask(host, topic::STAND, &asked, SOON)?;
        let name = &self.link.names()[host];
        let stood = |tile: u32| TileMove {
            tile,
            from: name.clone(),
            to: Some(name.clone()),
            stood_ns: from_ns,
            goes_on_ns: Some(until_ns),
            outage_ns: Some(until_ns.saturating_sub(from_ns)),
            begins_anew: false,
            ..TileMove::default()
        };
        self.with(event, |own| {
            own.event.tiles = tiles.into_iter().map(stood).collect();
            own.event.ended_ns = Some(until_ns);
        });
        Ok(())
    }

    /// Cuts a host's power. The loss is detected as for any other host.
    fn cut(&mut self, planned: &PlannedEvent, host: usize) -> Result<(), BenchError> {
        let away = self.link.lease * AWAY_LEASES;
        let away_ns = u64::try_from(away.as_nanos()).unwrap_or(u64::MAX);
        held(&self.link.away).insert(host, Instant::now() + away);
        let asked = Lose { epoch: self.epoch, away_ns };
        self.link.ask::<_, ()>(host, topic::LOSE, &asked, SOON)?;
        let event = self.begin(Some(planned), StepEventKind::LoseHost, self.now());
        self.with(event, |own| own.affected = self.tiles.of(host));
        Ok(())
    }

    /// Handles the loss of a host.
    fn lose(&mut self, host: usize, last_sign: Nanos) {
        let (noticed, name) = (self.now(), self.link.names()[host].clone());
        let is_own = |own: &HostEvent| {
            let StepEvent { kind, host, noticed_ns, .. } = &own.event;
            *kind == StepEventKind::LoseHost && *host == Some(name.clone()) && noticed_ns.is_none()
        };
        let known = held(&self.told).events.iter().position(is_own);
        let event = known.unwrap_or_else(|| self.begin(None, StepEventKind::HostLost, last_sign));
        let tiles = self.tiles.of(host);
        self.tiles.leave(host);
        self.with(event, |own| {
            own.affected.clone_from(&tiles);
            own.event.host = Some(name.clone());
            own.event.noticed_ns = Some(noticed.0);
            own.event.detection_ns = Some(noticed.saturating_sub(last_sign).0);
            let out = |tile: &u32| TileMove {
                tile: *tile,
                from: name.clone(),
                to: None,
                stood_ns: own.event.began_ns,
                goes_on_ns: None,
                outage_ns: None,
                begins_anew: true,
                ..TileMove::default()
            };
            own.event.tiles = tiles.iter().map(out).collect();
        });
        match self.restart {
            Some(Restart { delay }) if !tiles.is_empty() => {
                self.restarts.push_back(Again { due: noticed.saturating_add(delay), tiles, event });
            }
            Some(_) => self.ended(event, "it had no tile in this step"),
            None => self.fail(self.link.lost(&name)),
        }
    }

    fn start_again(&mut self, again: &Again) {
        for (at, tile) in again.tiles.iter().enumerate() {
            match self.put(*tile, None, None) {
                Ok((to, came)) => {
                    let name = self.link.names()[to].clone();
                    self.with(again.event, |own| {
                        let tile = &mut own.event.tiles[at];
                        tile.to = Some(name);
                        tile.goes_on_ns = Some(came.0);
                        tile.outage_ns = Some(came.0.saturating_sub(tile.stood_ns));
                    });
                }
                Err(error) => return self.fail(error),
            }
        }
        self.ended(again.event, "");
    }

    /// Moves a tile with the state of its VMs.
    fn move_tile(&mut self, event: usize, tile: u32, to: Option<usize>) -> Result<(), BenchError> {
        let Some(from) = self.tiles.host_of(tile) else { return Ok(()) };
        let asked = Take { epoch: self.epoch, tile };
        let taken: Result<Taken, _> = self.link.ask_data(from, topic::TAKE, &asked, MOVE_WITHIN);
        let taken = match taken {
            Ok(taken) => taken,
            // The tile restarts with all others of that host.
            Err(_) if self.restart.is_some() && self.link.is_gone(from) => return Ok(()),
            Err(error) => return Err(error),
        };
        let stood = taken.stood();
        let (to, came) = self.put(tile, Some(taken), to)?;
        let names = self.link.names();
        let moved = TileMove {
            tile,
            from: names[from].clone(),
            to: Some(names[to].clone()),
            stood_ns: stood.0,
            goes_on_ns: Some(came.0),
            outage_ns: Some(came.0.saturating_sub(stood.0)),
            begins_anew: false,
            ..TileMove::default()
        };
        self.with(event, |own| own.event.tiles.push(moved));
        Ok(())
    }

    /// Puts a tile on its new host, or on the host with the fewest tiles if the new host has been
    /// lost meanwhile.
    fn put(
        &mut self,
        tile: u32,
        taken: Option<Taken>,
        to: Option<usize>,
    ) -> Result<(usize, Nanos), BenchError> {
        let asked = Put { epoch: self.epoch, tile, taken };
        let mut wanted = to;
        loop {
            let Some(to) = wanted.take().or_else(|| self.tiles.fewest()) else {
                let what = format!("tile {} has no host left to move to", tile + 1);
                return Err(BenchError::Hosts(what));
            };
            match self.link.ask_data::<_, Came>(to, topic::PUT, &asked, MOVE_WITHIN) {
                Ok(Came { goes_on_ns }) => {
                    let came = Nanos(goes_on_ns);
                    self.tiles.moved(tile, to);
                    held(&self.told).moved.push((came, tile, to));
                    return Ok((to, came));
                }
                Err(_) if self.restart.is_some() && self.link.is_gone(to) => self.tiles.leave(to),
                Err(error) => {
                    let name = &self.link.names()[to];
                    let what = format!("tile {} could not move to this host: {error}", tile + 1);
                    return Err(host_error(name, what));
                }
            }
        }
    }

    /// Records the end of an event. `none` is the reason if there was nothing to do.
    fn ended(&self, event: usize, none: &str) {
        let now = self.now();
        self.with(event, |own| {
            let last = own.event.tiles.iter().filter_map(|tile| tile.goes_on_ns).max();
            own.event.ended_ns = Some(last.unwrap_or(now.0));
            if own.event.tiles.is_empty() && !none.is_empty() {
                own.event.note = Some(none.to_owned());
            }
        });
    }
}
