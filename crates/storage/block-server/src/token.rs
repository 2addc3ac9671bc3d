//! Tokens of work in the ring: the part of the server that gets each completion.

/// Number of the front end for NBD.
pub(crate) const NBD: usize = 0;
/// Number of the front end for vhost-user.
pub(crate) const VHOST: usize = 1;
/// Number of front ends.
pub(crate) const FRONT_ENDS: usize = 2;

/// Owner of a piece of work in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    /// The server's owner, or a thread of a front end, wants attention.
    Event,
    /// I/O of a service.
    Service {
        place: usize,
        io: u64,
    },
    Nbd(NbdWork),
    Vhost(VhostWork),
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
