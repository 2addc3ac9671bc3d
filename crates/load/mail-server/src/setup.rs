//! Directories, user and ports of a mail server.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::path::{Path, PathBuf};

use process_home::Account;

use crate::MailServerError;
use crate::error::failed;

/// Ports of a mail server on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// SMTP port of Exim, for clients that send mail.
    pub smtp: u16,
    /// IMAP port of Dovecot, for clients that read mail.
    pub imap: u16,
    /// LMTP port of Dovecot, for Exim.
    pub lmtp: u16,
}

/// Ports that are tried: below 32,768, from where on Linux gives ports to outgoing connections. One of
/// those is often in use again before a server has bound to it.
const RANGE: Range<u16> = 10_240..32_768;
/// Ports that are tried before this host counts as full.
const ATTEMPTS: u32 = 1000;

impl Ports {
    /// Chooses three ports that are free now. If another program takes one before the servers do,
    /// the servers do not become ready.
    ///
    /// # Errors
    /// If this host has no free ports.
    pub fn free() -> Result<Self, MailServerError> {
        // All three are held until each is known, so that they differ.
        let held = || Ok([bind()?, bind()?, bind()?]);
        let ports = |held: [TcpListener; 3]| {
            let port = |at: usize| held[at].local_addr().map(|own| own.port());
            Ok(Self { smtp: port(0)?, imap: port(1)?, lmtp: port(2)? })
        };
        let found = held().and_then(ports);
        found.map_err(|source| failed("find a free port on", Path::new("127.0.0.1"))(source))
    }
}

/// Binds to a free port of the range, by chance, so that several programs seldom try the same one.
fn bind() -> io::Result<TcpListener> {
    let mut attempts = 0;
    loop {
        let random =
            RandomState::new().build_hasher().finish() % u64::from(RANGE.end - RANGE.start);
        #[expect(clippy::cast_possible_truncation, reason = "below the length of the range")]
        let port = RANGE.start + random as u16;
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempts < ATTEMPTS => {
                attempts += 1;
            }
            bound => return bound,
        }
    }
}

/// Directories, user and ports of a mail server.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// Existing directory for mailboxes, queue and logs, on the measured storage.
    pub data: &'a Path,
    /// Directory for settings, sockets and passwords. It is created, and removed at the end. Its
    /// path has at most 70 bytes.
    pub runtime: &'a Path,
    /// User that the servers run as.
    pub account: &'a Account,
    /// Ports to listen on.
    pub ports: Ports,
    /// Files `cgroup.procs` of the control groups that the servers enter.
    pub groups: &'a [PathBuf],
}
