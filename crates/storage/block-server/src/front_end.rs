//! Ways in to the disks, and what each owes the server's thread.
//!
//! A front end owns its clients: who they are, what they asked and how they are told. The thread ([`crate::worker`]) owns the
//! ring and calls; disks are reached through [`Core`] alone. A new front end is an implementation of
//! [`FrontEnd`], its number and its variant of [`crate::token::Token`], and its field in `worker`.

use std::io;
use std::time::Instant;

use crate::core::Core;

/// One kind of clients.
pub(crate) trait FrontEnd {
    /// Tells clients what their disks have answered ([`Core::next_answer`]).
    fn take_answers(&mut self, core: &mut Core);

    /// Takes what clients ask and hands answers out, once for each client that has anything.
    fn attend(&mut self, core: &mut Core) -> io::Result<()>;

    /// Whether a client has something that does not wait for the ring.
    fn has_work(&self) -> bool;

    /// The next time at which the clock has to be looked at.
    fn next_time(&mut self) -> Option<Instant>;

    /// Does what is due at this time.
    fn look_at_clock(&mut self, now: Instant, core: &mut Core) -> io::Result<()>;

    /// Takes what threads of this front end want.
    fn take_orders(&mut self, core: &mut Core) -> io::Result<()>;

    /// Takes nothing more from any client: the server ends.
    fn stop(&mut self, core: &mut Core) -> io::Result<()>;

    /// The time to answer is over: clients that are left are cut off.
    fn cut_off(&mut self);

    /// Takes nothing more from clients of this disk, which is withdrawn.
    fn withdraw(&mut self, disk: usize, core: &mut Core);

    /// Lets clients of a withdrawn disk go that are answered; those that are late are cut off. Whether one has it still.
    fn let_go(&mut self, disk: usize, is_late: bool, core: &mut Core) -> io::Result<bool>;

    /// Whether no client waits for an answer.
    fn is_settled(&self) -> bool;
}
