//! Tokens of work in the ring: the part of the server that gets each completion.

use state_machine::IoId;

/// Number of the front end for NBD.
pub(crate) const NBD: usize = 0;
/// Number of the front end for vhost-user.
pub(crate) const VHOST: usize = 1;
/// Number of the front end for ublk.
pub(crate) const UBLK: usize = 2;
/// Number of front ends.
pub(crate) const FRONT_ENDS: usize = 3;

/// Owner of a piece of work in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The server's owner, or a thread of a front end, wants attention.
    Event,
    /// I/O of a service.
    Service {
        place: usize,
        io: IoId,
    },
    Nbd(NbdWork),
    Vhost(VhostWork),
    Ublk(UblkWork),
}

/// Work of the front end for NBD, with the number of its listener or client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NbdWork {
    Accept(usize),
    Receive(u32),
    Send(u32),
}

/// Work of the front end for vhost-user, with the number of its listener or VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VhostWork {
    Accept(usize),
    /// Polls the kick of a queue; `era` counts the starts of its queues.
    Kick {
        guest: u32,
        queue: u16,
        era: u32,
    },
}

/// Work of the front end for ublk: a request, or the wait for one, of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UblkWork {
    pub host: u32,
    pub tag: u16,
}
