//! Tokens of operations in the ring. A token tells which part of the server gets the completion.

use state_machine::IoId;

/// Index of the front end for NBD.
pub(crate) const NBD: usize = 0;
/// Index of the front end for vhost-user.
pub(crate) const VHOST: usize = 1;
/// Index of the front end for ublk.
pub(crate) const UBLK: usize = 2;
/// Number of front ends.
pub(crate) const FRONT_ENDS: usize = 3;

/// Owner of an operation in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// Eventfd that wakes the server's thread, written by the server's owner or by a thread of a
    /// front end.
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

/// Operation of the front end for NBD, with the number of its listener or client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NbdWork {
    Accept(usize),
    Receive(u32),
    Send(u32),
}

/// Operation of the front end for vhost-user, with the number of its listener or VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VhostWork {
    Accept(usize),
    /// Poll for kicks of a queue. `era` is the number of queue starts of the VM when the poll
    /// began.
    Kick {
        guest: u32,
        queue: u16,
        era: u32,
    },
}

/// Command of the front end for ublk: the answer to a request of a device and the wait for the next
/// one, by tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UblkWork {
    pub host: u32,
    pub tag: u16,
}
