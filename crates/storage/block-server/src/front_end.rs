//! Front ends: protocols by which clients reach disks, all driven by the server's thread.
//!
//! A front end owns its clients, the requests it has submitted to disks, and the deadlines of its
//! clients. The thread ([`crate::worker`]) owns the ring and calls the front ends. A front end
//! reaches disks only through [`Core`]. A new front end needs an implementation of [`FrontEnd`], a
//! number and a variant of [`crate::token::Token`], and a field in `worker`.

use std::io;
use std::time::Instant;

use crate::core::Core;

/// Protocol by which clients reach disks.
pub(crate) trait FrontEnd {
    /// Passes the answers of disks to their clients ([`Core::next_answer`]).
    fn take_answers(&mut self, core: &mut Core);

    /// Decodes new requests and sends answers, once for each client that has any.
    fn attend(&mut self, core: &mut Core) -> io::Result<()>;

    /// Returns true if a client has work that does not depend on a completion of the ring.
    fn has_work(&self) -> bool;

    /// Returns the earliest deadline; `None` if no deadline is set.
    fn next_time(&mut self) -> Option<Instant>;

    /// Acts on deadlines that have passed.
    fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()>;

    /// Handles the orders that this front end's own threads sent.
    fn take_orders(&mut self, core: &mut Core) -> io::Result<()>;

    /// Stops taking requests, because the server stops.
    fn stop(&mut self, core: &mut Core) -> io::Result<()>;

    /// Cuts off the clients that are left when the drain time is over.
    fn cut_off(&mut self);

    /// Stops taking requests for a disk that is withdrawn.
    fn withdraw(&mut self, disk: usize, core: &mut Core);

    /// Disconnects clients of a withdrawn disk once their requests are answered, or at once if
    /// `is_late`. Returns true while a client has the disk.
    fn let_go(&mut self, disk: usize, is_late: bool, core: &mut Core) -> io::Result<bool>;

    /// Returns true if no client waits for an answer.
    fn is_settled(&self) -> bool;
}
