//! Files that a protocol serves, the way to them, and the parts of a session while it is set up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::network::Network;
use crate::process::Process;

/// A file of a datastore that is to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFile {
    /// Name of the disk.
    pub disk: String,
    /// Absolute path of the file.
    pub path: PathBuf,
    /// True if the server opens the file without the page cache.
    pub direct: bool,
}

/// Way to the served files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// NBD server and the names of the exports by disk.
    Nbd {
        /// Address of the server.
        server: SocketAddr,
        /// Names of the exports by the names of the disks.
        exports: BTreeMap<String, String>,
    },
    /// A file for each served file, in the order of those.
    Files(Vec<PathBuf>),
}

/// Parts of a session while it is set up.
#[derive(Debug, Default)]
pub struct SetUp {
    pub(crate) network: Option<Network>,
    /// Processes in the order of their start; the first is the server.
    pub(crate) servers: Vec<Process>,
    pub(crate) initiator: Option<Process>,
    pub(crate) reached: Option<Reached>,
}

impl SetUp {
    /// Processes without which no I/O is answered.
    pub(crate) fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let keeper = self.network.as_mut().map(|network| &mut network.keeper);
        self.servers.iter_mut().chain(self.initiator.as_mut()).chain(keeper)
    }

    /// Ends initiator, servers and network, in this order.
    pub(crate) fn take_down(&mut self) {
        drop(self.initiator.take());
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
        drop(self.network.take());
    }
}
