use std::net::SocketAddr;
use std::time::Duration;

use crate::launch::{Launch, Remote};

/// Relation between the storage of the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Each host sees the writes of the others, as in a cluster file system.
    #[default]
    Shared,
    /// Each host has its own storage.
    Local,
}

/// Options for gathering hosts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Hosts of the run.
    pub hosts: Vec<Launch>,
    /// Address of this controller. If absent, the address from which the first ssh host is reached,
    /// or loopback without ssh hosts.
    pub listen: Option<SocketAddr>,
    /// Program to start on hosts over ssh.
    pub program: String,
    /// Relation between the storage of the hosts.
    pub sharing: Sharing,
    /// Maximum time for hosts to join.
    pub join_within: Duration,
    /// Silence after which a host counts as lost.
    pub lease: Duration,
    /// True if a root, memory or overlay file system may be used.
    pub allow_root_fs: bool,
    /// Target for which agents are started over ssh.
    pub target: Option<String>,
}

/// Silence after which a host or controller counts as lost.
pub const LEASE: Duration = Duration::from_secs(2);

impl Options {
    /// Creates options with defaults: 30 s to join, a lease of 2 s. A busy host's network thread is
    /// never that late, and a step is not measured to its end without a host.
    pub fn new(hosts: Vec<Launch>) -> Self {
        Self {
            hosts,
            listen: None,
            program: "tilemark".to_owned(),
            sharing: Sharing::Shared,
            join_within: Duration::from_secs(30),
            lease: LEASE,
            allow_root_fs: false,
            target: None,
        }
    }

    /// Returns the arguments of agents that are started over ssh.
    pub(crate) fn remote(&self) -> Remote {
        Remote {
            program: self.program.clone(),
            allow: self.target.clone(),
            allow_root_fs: self.allow_root_fs,
        }
    }
}
