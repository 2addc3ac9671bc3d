use std::io;
use std::ops::Index;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::listen::Listener;
use crate::ring::Cargo;
use crate::token::Token;

/// Pause after which a listener that failed (out of file descriptors) accepts again.
const AGAIN: Duration = Duration::from_millis(100);

/// Listeners of one front end.
pub(crate) struct Listeners {
    listeners: Vec<Listener>,
    /// Listeners that failed, and the time when they accept again.
    paused: Vec<(usize, Instant)>,
    token: fn(usize) -> Token,
}

impl Listeners {
    pub fn open(
        listeners: Vec<Listener>,
        token: fn(usize) -> Token,
        core: &mut Core,
    ) -> io::Result<Self> {
        for (door, listener) in listeners.iter().enumerate() {
            core.ring.accept(token(door), &listener.socket)?;
        }
        Ok(Self { listeners, paused: Vec::new(), token })
    }

    /// Handles a completed accept. Returns the client's socket if it may connect.
    pub fn accepted(
        &mut self,
        door: usize,
        cargo: Cargo,
        core: &mut Core,
    ) -> io::Result<Option<OwnedFd>> {
        let Cargo::Client(socket) = cargo else {
            self.paused.push((door, Instant::now() + AGAIN));
            return Ok(None);
        };
        if core.is_stopping {
            return Ok(None);
        }
        core.ring.accept((self.token)(door), &self.listeners[door].socket)?;
        if core.connections >= core.limits.connections {
            core.shared.counters.sent_away.add(1);
            return Ok(None);
        }
        Ok(Some(socket))
    }

    pub fn next_time(&self) -> Option<Instant> {
        self.paused.iter().map(|(_, at)| *at).min()
    }

    /// Accepts again on listeners whose pause is over.
    pub fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()> {
        for (door, at) in std::mem::take(&mut self.paused) {
            if at <= now {
                core.ring.accept((self.token)(door), &self.listeners[door].socket)?;
            } else {
                self.paused.push((door, at));
            }
        }
        Ok(())
    }
}

impl Index<usize> for Listeners {
    type Output = Listener;

    fn index(&self, door: usize) -> &Listener {
        &self.listeners[door]
    }
}
