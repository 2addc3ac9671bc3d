//! Set without a device, for simulations.

use super::Media;
use super::errors::{Attachment, OpenError, Session, Settings};
use super::structure::Structure;
use crate::event::{IoError, IoTarget, Mode};
use crate::format::{Identity, Uuid};
use crate::geometry::Geometry;
use crate::machine::Tier;
use crate::moment::Since;

/// Fixed identity, used for the set and for its host. It need not be unique, because the set exists
/// only in memory.
const SET: Uuid = [1; 16];

/// Storage that reads as zeros and drops writes.
struct Nothing;

impl Media for Nothing {
    fn read(&mut self, _: IoTarget, _: u64, into: &mut [u8]) -> Result<(), IoError> {
        into.fill(0);
        Ok(())
    }

    fn write(&mut self, _: IoTarget, _: u64, _: &[u8]) -> Result<(), IoError> {
        Ok(())
    }

    fn flush(&mut self, _: IoTarget) -> Result<(), IoError> {
        Ok(())
    }
}

impl Tier {
    /// Creates the state machine of an empty set with these disks, given by size in bytes and mode.
    /// It equals the state machine that [`Tier::open`] returns for a set created by
    /// [`super::init`], but needs no storage.
    ///
    /// # Errors
    /// [`OpenError`], if there is no room for the logs of all disks.
    pub fn blank(
        geometry: Geometry,
        settings: Settings,
        disks: &[(u64, Mode)],
    ) -> Result<Self, OpenError> {
        let superblock = geometry.first_superblock(geometry.chunk_at(geometry.chunks), SET, SET);
        let structure = Structure::empty(&mut Nothing, superblock);
        let disks: Vec<Attachment> = (0..)
            .zip(disks)
            .map(|(index, (bytes, mode))| attachment(index, *bytes, *mode))
            .collect();
        Ok(Self::open_found(&mut Nothing, structure, settings, &disks)?.tier)
    }
}

impl Settings {
    /// Returns settings for a set without a device: no memory tier, and no other host that could
    /// open it.
    pub fn blank(policy: cache::PolicyKind, admission: cache::tier::Admission) -> Self {
        Self {
            policy,
            admission,
            memory_bytes: 0,
            session: Session { boot: SET, opening: 1 },
            place: Identity::default(),
            is_place_vouched: true,
        }
    }
}

fn attachment(index: u16, bytes: u64, mode: Mode) -> Attachment {
    let mut disk = [2; 16];
    disk[..2].copy_from_slice(&index.to_le_bytes());
    Attachment {
        index,
        disk,
        bytes,
        mode,
        key: 0,
        backing: Identity::default(),
        is_backing_vouched: true,
        sidecar: Identity::default(),
        is_sidecar_vouched: true,
        since: Since::Unknown,
        copies: 0,
        peers: Vec::new(),
    }
}
