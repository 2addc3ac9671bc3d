//! Files that a protocol serves, the access to them, and the parts of a session during set-up.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use process_home::Process;

use crate::error::OverError;
use crate::network::Network;

/// File of a datastore to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedFile {
    /// Name of the disk.
    pub disk: String,
    /// Absolute path of the file.
    pub path: PathBuf,
    /// True if the server opens the file without the page cache.
    pub direct: bool,
}

/// Access to the served files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    /// NBD server with an export for each disk.
    Nbd {
        /// Address of the server.
        server: SocketAddr,
        /// Names of the exports, by name of the disk.
        exports: BTreeMap<String, String>,
        /// File of the network namespace from which the server is reached; `None` for that of this
        /// process.
        namespace: Option<PathBuf>,
    },
    /// One file or block device for each served file, in the order of the served files.
    Files(Vec<PathBuf>),
}

/// Part of a session that the kernel keeps, also after the end of the process that made it.
pub(crate) trait KernelPart: std::fmt::Debug + Send {
    /// Returns the error of a part that has lost its server.
    fn check(&self) -> Result<(), OverError>;

    /// Makes open I/O fail, as far as the kernel can.
    fn fail_open_io(&self);

    /// Removes the part.
    fn remove(&self) -> std::io::Result<()>;
}

/// Parts of a session, collected during set-up.
#[derive(Debug, Default)]
pub struct SetUp {
    pub(crate) network: Option<Network>,
    /// Processes in the order of their start; the first is the server.
    pub(crate) servers: Vec<Process>,
    pub(crate) initiator: Option<Process>,
    /// Target and initiator, as far as they are the kernel's.
    pub(crate) kernel: Option<Box<dyn KernelPart>>,
    pub(crate) reached: Option<Reached>,
}

impl SetUp {
    /// Iterates over the processes that are needed to answer I/O.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &Process> {
        let keepers = self.network.iter().flat_map(Network::keepers);
        self.servers.iter().chain(self.initiator.as_ref()).chain(keepers)
    }

    /// Ends initiator, servers and network, in this order.
    ///
    /// # Errors
    ///
    /// If an object of the kernel stays.
    pub(crate) fn take_down(&mut self) -> Result<(), OverError> {
        drop(self.initiator.take());
        let removed = self.kernel.take().map_or(Ok(()), |kernel| kernel.remove());
        while let Some(server) = self.servers.pop() {
            drop(server);
        }
        drop(self.network.take());
        removed.map_err(|source| OverError::Io {
            attempt: "remove",
            object: "the kernel's target or initiator".to_owned(),
            source,
        })
    }
}
