//! Place, user and ports of a mail server.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::failed;
use crate::{Account, MailServerError};

/// Ports of a mail server on 127.0.0.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Port of Exim, for senders.
    pub smtp: u16,
    /// Port of Dovecot, for readers.
    pub imap: u16,
    /// Port of Dovecot, for Exim.
    pub lmtp: u16,
}

impl Ports {
    /// Takes three ports that are free now. Another program may take one before the servers do; then
    /// these do not get ready.
    ///
    /// # Errors
    /// If this host has no free ports.
    pub fn free() -> Result<Self, MailServerError> {
        let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let ports = || {
            // All three are held until each is known, so that they differ.
            let held = [bind()?, bind()?, bind()?];
            let port = |at: usize| held[at].local_addr().map(|own| own.port());
            Ok(Self { smtp: port(0)?, imap: port(1)?, lmtp: port(2)? })
        };
        ports().map_err(|source| failed("find a free port on", Path::new("127.0.0.1"))(source))
    }
}

/// Place and user of a mail server.
#[derive(Debug, Clone)]
pub struct Setup<'a> {
    /// Directory for mailboxes, queue and logs, on the storage that is measured. It exists.
    pub data: &'a Path,
    /// Directory for settings, sockets and passwords, of at most 70 bytes. It is made, and removed
    /// at the end.
    pub runtime: &'a Path,
    /// User as whom the servers run.
    pub account: &'a Account,
    /// Ports to listen on.
    pub ports: Ports,
    /// Files `cgroup.procs` of the control groups that the servers enter.
    pub groups: &'a [PathBuf],
}
