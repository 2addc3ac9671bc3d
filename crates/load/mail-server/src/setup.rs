//! Directories, user and ports of a mail server.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::failed;
use crate::{Account, MailServerError};

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

impl Ports {
    /// Chooses three ports that are free now. If another program takes one before the servers do,
    /// the servers do not become ready.
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
