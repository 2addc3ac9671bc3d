use std::io;
use std::path::PathBuf;

use block_server::ClientTls;
use tier::Mode;

use crate::SetError;
use crate::files::path_of_sidecar;
use crate::identity::copy_name;
use crate::peers::{PeerAddress, Peers};
use crate::reserved::Reserve;

/// Settings for the copies of a disk's log in mode back.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// Number of copies that must exist.
    pub count: u8,
    /// Hosts that may hold copies, up to four.
    pub peers: Vec<PeerAddress>,
    /// Certificates of this host, for peers that are reached over TLS.
    pub tls: Option<ClientTls>,
}

/// Settings of a disk to open.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Name of the disk for clients and in the set, which finds the disk's pages and log by the
    /// name: up to 64 letters, digits, dots, hyphens and underscores.
    pub name: String,
    /// Path of the backing file or device.
    pub backing: PathBuf,
    /// Mode in which writes are answered.
    pub mode: Mode,
    /// Path of the sidecar; `None` for the path of the backing file with `.tilemark-tier` added.
    pub sidecar: Option<PathBuf>,
    /// Settings for the copies of the disk's log.
    pub copies: Copies,
    /// Reservation of the backing device for this host, if requested.
    pub reserve: Option<Reserve>,
}

impl Opening {
    pub(crate) fn sidecar_path(&self) -> Result<PathBuf, SetError> {
        path_of_sidecar(&self.backing, self.sidecar.as_deref())
    }

    /// Starts to connect to the peers that may hold copies of the log.
    pub(crate) fn look_for_peers(
        &self,
        peers: &mut Peers,
        index: u16,
        generation: u64,
    ) -> io::Result<()> {
        for (place, peer) in (0..).zip(&self.copies.peers) {
            let export = copy_name(&self.name, generation);
            peers.add((index, place), peer.uri.clone(), export, self.copies.tls.clone())?;
        }
        Ok(())
    }
}
