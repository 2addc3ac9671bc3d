//! Front ends: protocols by which clients reach disks, each turned by the server's thread.
//!
//! A front end owns its clients, their requests that disks have, and their deadlines. The thread ([`crate::worker`]) owns the
//! ring and calls; disks are reached through [`Core`] alone. A new front end is an implementation of
//! [`FrontEnd`], its number and its variant of [`crate::token::Token`], and its field in `worker`.

use std::io;
use std::time::Instant;

use crate::core::Core;

/// Protocol by which clients reach disks.
pub(crate) trait FrontEnd {
    /// Passes answers of disks on to their clients ([`Core::next_answer`]).
    fn take_answers(&mut self, core: &mut Core);

    /// Takes new requests and sends answers, once for each client that has any.
    fn attend(&mut self, core: &mut Core) -> io::Result<()>;

    /// True if a client can go on without a completion of the ring.
    fn has_work(&self) -> bool;

    /// Earliest deadline; none if nothing is due.
    fn next_time(&mut self) -> Option<Instant>;

    /// Acts on deadlines that have passed.
    fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()>;

    /// Takes orders of this front end's own threads.
    fn take_orders(&mut self, core: &mut Core) -> io::Result<()>;

    /// Stops taking requests, because the server ends.
    fn stop(&mut self, core: &mut Core) -> io::Result<()>;

    /// Cuts off the clients that are left when the drain time is over.
    fn cut_off(&mut self);

    /// Stops taking requests for a disk that is withdrawn.
    fn withdraw(&mut self, disk: usize, core: &mut Core);

    /// Disconnects clients of a withdrawn disk once they are answered, and cuts them off if `is_late`. True while a client
    /// has the disk.
    fn let_go(&mut self, disk: usize, is_late: bool, core: &mut Core) -> io::Result<bool>;

    /// True if no client waits for an answer.
    fn is_settled(&self) -> bool;
}
