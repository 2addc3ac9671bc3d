//! Names of work that the ring does, by whose it is.

/// Number of the front end for NBD.
pub(crate) const NBD: usize = 0;
/// Number of the front end for vhost-user.
pub(crate) const VHOST: usize = 1;
/// Front ends.
pub(crate) const COUNT: usize = 2;

/// Whose work of the ring has ended.
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

/// Work for NBD, by listener or client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NbdWork {
    Accept(usize),
    Receive(u32),
    Send(u32),
}

/// Work for vhost-user, by listener or machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VhostWork {
    Accept(usize),
    /// Looks for kicks of a queue, in the era in which it was begun.
    Kick {
        guest: u32,
        queue: u16,
        era: u32,
    },
}
