//! Event loop of the server's thread: waits for completions, and calls front ends and services.

mod changes;

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

pub(crate) use self::changes::Change;
use self::changes::Leaving;
use crate::clients::Clients;
use crate::core::Core;
use crate::front_end::FrontEnd;
use crate::guest::Guests;
use crate::listen::Listener;
use crate::polling::Polling;
use crate::ring::{Cargo, Finished};
use crate::shared::Shared;
use crate::token::{FRONT_ENDS, Token};
use crate::ublk::Hosts;
use crate::{Limits, Offer};

/// State of the server's thread.
pub(crate) struct Worker {
    core: Core,
    nbd: Clients,
    vhost: Guests,
    ublk: Hosts,
    changes: Receiver<Change>,
    /// Withdrawn disks that a client still has.
    leaving: Vec<Leaving>,
    polling: Polling,
    /// End of the drain time; set once the server stops.
    until: Option<Instant>,
    /// Deadline for the orderly shutdown of services; set once no client is left.
    closing: Option<Instant>,
}

impl Worker {
    pub fn new(
        offer: Offer,
        changes: Receiver<Change>,
        listeners: Vec<Listener>,
        limits: Limits,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let mut core = Core::new(offer, limits, shared)?;
        core.ring.event(Token::Event, &core.shared.event)?;
        let (ublk, listeners): (Vec<_>, Vec<_>) =
            listeners.into_iter().partition(|listener| listener.device.is_some());
        let device = |mut one: Listener| Some((one.device.take()?, one.disk.take()?));
        let (vhost, nbd) = listeners.into_iter().partition(|listener| listener.disk.is_some());
        Ok(Self {
            nbd: Clients::new(nbd, &mut core)?,
            vhost: Guests::new(vhost, &mut core)?,
            ublk: Hosts::new(ublk.into_iter().filter_map(device), &mut core)?,
            core,
            changes,
            leaving: Vec::new(),
            polling: Polling::new(limits.poll),
            until: None,
            closing: None,
        })
    }

    /// Returns the front ends in the order of their turns. VMs come first: their requests may
    /// answer NBD clients, and the requests of these clients give VMs another turn at once.
    fn front_ends(&mut self) -> ([&mut dyn FrontEnd; FRONT_ENDS], &mut Core) {
        ([&mut self.vhost, &mut self.ublk, &mut self.nbd], &mut self.core)
    }

    /// Serves until the server is stopped and all requests are answered.
    pub fn run(mut self) -> io::Result<()> {
        let mut finished = Vec::new();
        self.core.tell_services()?;
        self.attend()?;
        loop {
            let wait = self.wait();
            let requests = std::mem::take(&mut self.core.answered) + self.core.under_way;
            if let Some(longest) = self.polling.look(requests, wait) {
                self.polling.looked(self.core.ring.look(longest)?);
            }
            self.core.ring.enter(wait)?;
            self.core.ring.reap(&mut finished);
            for one in finished.drain(..) {
                self.finished(one)?;
            }
            self.look_at_clock()?;
            self.attend()?;
            self.let_leave()?;
            if let Some(until) = self.until
                && (self.is_nobody_left() || Instant::now() > until + self.core.limits.drain)
                && self.are_services_closed()?
            {
                return Ok(());
            }
        }
    }

    /// Passes requests and answers between clients and disks, and calls the turns of services,
    /// until nothing is left to do.
    fn attend(&mut self) -> io::Result<()> {
        let (mut fronts, core) = self.front_ends();
        loop {
            for front in &mut fronts {
                front.take_answers(core);
                front.attend(core)?;
            }
            if !core.turn()? && !core.has_answers() {
                return Ok(());
            }
        }
    }

    /// Returns the maximum time to wait for a completion. Usually nothing else is due; then no
    /// timer is set and no clock is read.
    fn wait(&mut self) -> Option<Duration> {
        let (fronts, core) = self.front_ends();
        if core.ring.has_more() || fronts.iter().any(|front| front.has_work()) {
            return Some(Duration::ZERO);
        }
        let times = fronts.into_iter().filter_map(|front| front.next_time()).min();
        let drained = self.until.filter(|_| self.closing.is_none()).map(|until| {
            if Instant::now() < until { until } else { until + self.core.limits.drain }
        });
        let next = times
            .into_iter()
            .chain(drained)
            .chain(self.leaving.iter().map(|leaving| leaving.until))
            .chain(self.core.alarms.next())
            .chain(self.closing)
            .min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// Begins the orderly shutdown of the services. Returns true once all are closed, or their time
    /// is over.
    fn are_services_closed(&mut self) -> io::Result<bool> {
        if self.closing.is_none() {
            self.closing = Some(Instant::now() + self.core.limits.close);
            self.core.close_services()?;
            self.attend()?;
        }
        let is_late = self.closing.is_some_and(|closing| closing <= Instant::now());
        Ok(is_late || self.core.are_services_closed())
    }

    fn look_at_clock(&mut self) -> io::Result<()> {
        let until = self.until;
        let (mut fronts, core) = self.front_ends();
        let has_times = fronts.iter_mut().any(|front| front.next_time().is_some());
        if !has_times && until.is_none() && core.alarms.next().is_none() {
            return Ok(());
        }
        let now = Instant::now();
        core.wake_services(now)?;
        for front in fronts {
            front.look_at_clock(now, core)?;
            if until.is_some_and(|until| until <= now) {
                front.cut_off();
            }
        }
        Ok(())
    }

    fn finished(&mut self, finished: Finished<Token>) -> io::Result<()> {
        match finished.token {
            Token::Event => self.told(),
            Token::Nbd(work) => self.nbd.finished(work, finished, &mut self.core),
            Token::Vhost(work) => self.vhost.finished(work, finished, &mut self.core),
            Token::Ublk(work) => {
                self.ublk.finished(work, finished.result, &mut self.core);
                Ok(())
            }
            Token::Service { place, io } => {
                let Cargo::Buffer(data) = finished.cargo else {
                    unreachable!("an I/O completes with its own kind of cargo")
                };
                self.core.done(place, io, finished.result, data)
            }
        }
    }

    /// Handles a wake-up by the owner or a front end's thread: changes of disks, orders, calls of
    /// [`Service::told`](crate::Service::told), or the stop.
    fn told(&mut self) -> io::Result<()> {
        if self.core.shared.stop.load(Ordering::Acquire) {
            return self.stop();
        }
        self.core.ring.event(Token::Event, &self.core.shared.event)?;
        self.take_changes()?;
        let (fronts, core) = self.front_ends();
        for front in fronts {
            front.take_orders(core)?;
        }
        self.core.tell_services()
    }

    /// Stops taking requests.
    fn stop(&mut self) -> io::Result<()> {
        self.until = Some(Instant::now() + self.core.limits.drain);
        let (fronts, core) = self.front_ends();
        core.is_stopping = true;
        for front in fronts {
            front.stop(core)?;
        }
        Ok(())
    }

    /// Returns true if no client waits for an answer.
    fn is_nobody_left(&self) -> bool {
        self.nbd.is_settled() && self.vhost.is_settled() && self.ublk.is_settled()
    }
}
