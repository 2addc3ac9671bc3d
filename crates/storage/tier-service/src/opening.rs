use std::io;
use std::path::PathBuf;

use block_server::ClientTls;
use tier::Mode;

use crate::SetError;
use crate::files::path_of_sidecar;
use crate::identity::copy_name;
use crate::peers::{PeerAddress, Peers};
use crate::reserved::Reserve;

/// Copies of a disk's log, which it has in mode back.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// How many there have to be.
    pub count: u8,
    /// Who may hold them, up to four.
    pub peers: Vec<PeerAddress>,
    /// Who this host is, for peers that are reached by TLS.
    pub tls: Option<ClientTls>,
}

/// A disk that is to be cached.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its name for clients and in the set, by which it finds its pages and its log: up to 64 letters,
    /// digits, dots, hyphens and underscores.
    pub name: String,
    /// Its backing file or device.
    pub backing: PathBuf,
    /// How its writes are answered.
    pub mode: Mode,
    /// Its sidecar, if not beside a backing file under its name with `.tilemark-tier`.
    pub sidecar: Option<PathBuf>,
    /// Copies of its log.
    pub copies: Copies,
    /// How its backing device is reserved for this host, if it is to be.
    pub reserve: Option<Reserve>,
}

impl Opening {
    /// Where its sidecar is.
    pub(crate) fn sidecar_path(&self) -> Result<PathBuf, SetError> {
        path_of_sidecar(&self.backing, self.sidecar.as_deref())
    }

    /// Starts to look for those who may hold copies of its log.
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
