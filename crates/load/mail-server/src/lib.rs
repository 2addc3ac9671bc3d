//! A real mail server in a tile: the host's own Exim (SMTP, queue) and Dovecot (LMTP, IMAP), started
//! in private directories, watched and stopped.
//!
//! What it does: finds the programs ([`Programs`]), makes mailboxes once ([`Pattern`]) and copies
//! them for each tile, starts both servers for one tile ([`MailServer`]), says whether they still
//! run, how many mails are queued and how late mails are delivered. [`Session`] makes calls with the
//! clients of `engine`, one after another, to fill mailboxes and to try a server.
//!
//! What it refuses: to run a server as root, or one with more rights than its user (a setuid program
//! gains nothing here); versions whose settings are unknown; to listen beyond 127.0.0.1; to take
//! mail for any domain but `tile.test`; to send any mail elsewhere; directories that are there
//! already.
//!
//! Invariants: nothing runs after [`MailServer::stop`] or a drop. The kernel ends both servers when
//! the thread that started them ends, however it ends, and their children end when they find nobody.
//! Whoever needs more has them enter control groups ([`Setup::groups`]), in which all are found.
//! Passwords are random, in files that only their user reads. Every wait ends.
//!
//! Other users of the host reach the ports: IMAP asks them for the password, SMTP and LMTP take mail
//! from anyone for the mailboxes of the tile.
#![forbid(unsafe_code)]

mod account;
pub mod careful;
mod delivery;
mod error;
mod pattern;
mod process;
mod programs;
mod server;
mod session;
mod settings;
mod setup;
mod text;

pub use account::{Account, entering};
pub use delivery::Delivered;
pub use error::{MailServerError, Phase, Program};
pub use pattern::{PATTERN_MAILBOXES, Pattern};
pub use programs::{DovecotSeries, Programs};
pub use server::MailServer;
pub use session::Session;
pub use setup::{Ports, Setup};
