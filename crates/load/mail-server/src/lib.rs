//! A real mail server in a tile: the host's own Exim (SMTP, queue) and Dovecot (LMTP, IMAP),
//! started in private directories, watched and stopped.
//!
//! What it does: finds the programs ([`Programs`]), creates mailboxes once ([`Pattern`]) and copies
//! them for each tile, starts both servers for one tile ([`MailServer`]), and reports if they still
//! run, the length of the mail queue and the delays of deliveries. [`Session`] makes calls with the
//! clients of `engine`, one after another, to fill mailboxes and to try out a server.
//!
//! What it refuses: to run a server as root, or with more privileges than its user (a setuid
//! program gains nothing here); versions whose settings are unknown; to listen on other addresses
//! than 127.0.0.1; to accept mail for domains other than `tile.test`; to send mail to other
//! servers; directories that already exist.
//!
//! Invariants: nothing runs after [`MailServer::stop`] or a drop. The kernel ends both servers when
//! the thread that started them ends for any reason, and their child processes then exit by
//! themselves. For a stronger guarantee, let the servers enter control groups ([`Setup::groups`]),
//! in which all processes can be found. Passwords are random, in files that only their user can
//! read. Every wait has a time limit.
//!
//! Other users of the host can reach the ports. IMAP asks them for the password; SMTP and LMTP
//! accept mail from anyone for the mailboxes of the tile.
#![forbid(unsafe_code)]

mod delivery;
mod error;
mod pattern;
mod programs;
mod server;
mod session;
mod settings;
mod setup;
mod text;

pub use delivery::Delivered;
pub use error::{MailServerError, Program};
pub use pattern::{PATTERN_MAILBOXES, Pattern};
pub use programs::{DovecotSeries, Programs};
pub use server::MailServer;
pub use session::Session;
pub use setup::{Ports, Setup};
