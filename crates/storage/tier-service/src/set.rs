use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use block_server::{Disk, Offer};
use cache::PolicyKind;
use cache::tier::Admission;
use nbd::{Abilities, BlockSizes, Export};
use tier::format::{Identity, Superblock};
use tier::{
    AttachError, Attachment, Examined, Geometry, OpenError, PageDamage, REQUEST_BYTES_MAX, Session,
    Settings, Skipped, Tier, word_for_cache,
};

use crate::asking::{Control, inbox};
use crate::core::Core;
use crate::disk::{CachedDisk, TierService};
use crate::files::{
    MadeSidecar, failed, hold, hold_to_look, identity_of, is_accepted, is_of_version_1,
    path_of_sidecar, sidecar,
};
use crate::media::{Files, Watched};
use crate::opening::Opening;
use crate::peers::{PeerAddress, Peers};
use crate::reserved::Reserved;
use crate::route::{Route, Shape};
use crate::times::Times;
use crate::{SetError, identity, marks, memory};

/// Caching settings of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// Eviction policy of the pages and of the memory tier.
    pub policy: PolicyKind,
    /// Rule for the admission of pages.
    pub admission: Admission,
    /// Size of the memory tier, in bytes; 0 for none.
    pub memory_bytes: u64,
}

impl Caching {
    fn settings(self, session: Session, place: Identity, is_place_vouched: bool) -> Settings {
        let Self { policy, admission, memory_bytes } = self;
        Settings { policy, admission, memory_bytes, session, place, is_place_vouched }
    }
}

impl Default for Caching {
    fn default() -> Self {
        Self { policy: PolicyKind::Lru, admission: Admission::Always, memory_bytes: 0 }
    }
}

/// Opened set, ready to be served.
#[derive(Debug)]
pub struct Set {
    /// Disks in the order in which they were given, and their service, for one server.
    pub offer: Offer,
    /// Sender of commands to the set while it is served.
    pub control: Control,
    /// Latencies of the backing stores and of the disks.
    pub times: Times,
    /// Receiver of messages for the operator.
    pub told: Receiver<String>,
    /// True if the set had been closed in order.
    pub was_clean: bool,
    /// Number of pages that are valid after the opening.
    pub pages: usize,
    /// Number of writes in logs that are not on their backing stores yet.
    pub writes: usize,
    /// Damage found in the metadata of pages.
    pub damage: PageDamage,
    /// Damage of logs that causes no loss of a write, with the name of the disk.
    pub skipped: Vec<(String, Skipped)>,
    /// Identity of each disk, by name: a text of set, generation and backing store. The identity
    /// changes if the disk was served elsewhere meanwhile, or if it is another disk of the same
    /// name.
    pub identities: Vec<(String, String)>,
}

/// Opened files of a disk: backing store, sidecar and reservation.
pub(crate) struct Backing {
    pub(crate) attachment: Attachment,
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) sidecar: Arc<OwnedFd>,
    pub(crate) reserved: Option<Arc<Reserved>>,
    pub(crate) made: MadeSidecar,
    /// Alignment of offsets and lengths, in bytes.
    alignment: u32,
}

impl Backing {
    /// Checks that the reservation is still held. Only then is the durable sidecar valid.
    fn is_still_held(&self, disk: &Opening) -> Result<(), SetError> {
        match self.reserved.as_ref().map(|reserved| reserved.check()) {
            Some(Err(_)) => Err(SetError::ReservedElsewhere { path: disk.backing.clone() }),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Passes the files to the core. They stay held after this process ends.
    fn hold_in(&mut self, core: &mut Core) {
        self.made.keep();
        if let Some(reserved) = &self.reserved {
            reserved.keep();
            core.hold(self.attachment.index, Arc::clone(reserved));
        }
    }
}

impl Set {
    /// Reads all metadata of a set, and changes nothing.
    ///
    /// # Errors
    /// If another process holds the set, the file is not a set, or it is damaged.
    pub fn examine(cache: &Path) -> Result<Examined, SetError> {
        let held = hold_to_look(cache)?;
        let mut files = Files { cache: Arc::new(held.file.into()), disks: Vec::new() };
        Tier::examine(&mut files)
            .map_err(|source| SetError::Open { path: cache.to_owned(), source })
    }

    /// Opens the set in a cache file with these disks. `accepted` are words by which the owner
    /// accepts cache files, backing stores and sidecars that do not match. The refusal shows each
    /// word, and a word is valid once.
    ///
    /// # Errors
    /// [`SetError`]: a file is in use, is not a set, or must not be served.
    pub fn open(
        cache: &Path,
        caching: Caching,
        accepted: &[String],
        disks: &[Opening],
    ) -> Result<Self, SetError> {
        memory::check(caching.memory_bytes)?;
        let held = hold(cache)?;
        let refused = |source| SetError::Open { path: cache.to_owned(), source };
        let mut files = Files { cache: Arc::new(held.file.into()), disks: Vec::new() };
        let superblock = Tier::inspect(&mut files).map_err(refused)?;
        let indexes = places(&superblock, disks)?;
        files.disks.resize_with(superblock.disks.len(), || None);
        let mut backings = Vec::new();
        for (disk, index) in disks.iter().zip(indexes) {
            let backing = open_backing(disk, index, accepted)?;
            files.disks[usize::from(index)] =
                Some((Arc::clone(&backing.file), Arc::clone(&backing.sidecar)));
            backings.push(backing);
        }
        let attachments: Vec<Attachment> =
            backings.iter().map(|backing| backing.attachment.clone()).collect();
        let session = identity::session().map_err(failed("find a number for", cache))?;
        let place = identity_of(&files.cache, cache)?;
        let is_vouched = accepted.contains(&word_for_cache(&place.name, &superblock));
        let settings = caching.settings(session, place, is_vouched);
        let mut media = Watched::new(&files);
        let opened = Tier::open(&mut media, settings, &attachments);
        let opened = opened.map_err(|error| {
            let indexes = attachments.iter().map(|attachment| attachment.index);
            let failure = media.failure(&error, cache, indexes.clone().zip(disks));
            failure.unwrap_or_else(|| match error {
                OpenError::Attach { index, error } => {
                    refused_disk(cache, index, error, indexes.zip(disks))
                }
                error => refused(error),
            })
        })?;
        for (disk, backing) in disks.iter().zip(&backings) {
            backing.is_still_held(disk)?;
        }
        let mut names = vec![None; superblock.disks.len()];
        let mut peer_names = vec![Vec::new(); superblock.disks.len()];
        let waker = Arc::default();
        let mut peers = Peers::new(Arc::clone(&waker));
        let mut identities = Vec::new();
        for (disk, backing) in disks.iter().zip(&backings) {
            let index = backing.attachment.index;
            names[usize::from(index)] = Some(disk.name.clone());
            peer_names[usize::from(index)] =
                disk.copies.peers.iter().map(|peer| peer.name.clone()).collect();
            let generation = opened.tier.status(index).map_or(0, |status| status.generation);
            let (set, store) =
                (u128::from_be_bytes(superblock.set), &backing.attachment.backing.name);
            identities.push((disk.name.clone(), format!("{set:032x} {generation} {store}")));
            disk.look_for_peers(&mut peers, index, generation)
                .map_err(failed("connect to the peers of", cache))?;
        }
        let name_of = |index: u16| names[usize::from(index)].clone().unwrap_or_default();
        let skipped = opened.skipped.iter().map(|(index, what)| (name_of(*index), *what)).collect();
        let (control, inbox, told) = inbox(names, peer_names, waker);
        let most = opened.tier.request_bytes_max();
        let exports = exports(disks, &backings, most)?;
        let mut core = Core::new(opened.tier, files, inbox, peers, superblock.set);
        core.routes = routes(disks, &backings, &exports);
        backings.iter_mut().for_each(|backing| backing.hold_in(&mut core));
        let times = core.times.clone();
        let core = Arc::new(Mutex::new(core));
        // It is set only here, so this cannot fail.
        let _ = control.core.set(Arc::downgrade(&core));
        Ok(Self {
            offer: offer(core, exports),
            control,
            times,
            told,
            was_clean: opened.was_clean,
            pages: opened.pages,
            writes: opened.writes,
            damage: opened.damage,
            skipped,
            identities,
        })
    }
}

/// Returns the error of a refused disk, with the name of the disk.
fn refused_disk<'a>(
    cache: &Path,
    index: u16,
    error: AttachError,
    disks: impl Iterator<Item = (u16, &'a Opening)>,
) -> SetError {
    let named = disks.into_iter().find(|(at, _)| *at == index);
    let name = named.map_or_else(String::new, |(_, disk)| disk.name.clone());
    SetError::Disk { name, path: cache.to_owned(), source: Box::new(error) }
}

fn exports(disks: &[Opening], backings: &[Backing], most: u32) -> Result<Vec<Export>, SetError> {
    disks.iter().zip(backings).map(|(disk, backing)| export(disk, backing, most)).collect()
}

/// Returns the disks and the service for the front end, in the order of their routes.
fn offer(core: Arc<Mutex<Core>>, exports: Vec<Export>) -> Offer {
    let served = exports.into_iter().enumerate().map(|(route, export)| {
        let disk = CachedDisk { core: Arc::clone(&core), export, route };
        Box::new(disk) as Box<dyn Disk>
    });
    let disks = served.collect();
    Offer { disks, service: Some(Box::new(TierService { core })), ..Offer::default() }
}

/// Creates the routes of the disks, which this set owns at the start.
fn routes(disks: &[Opening], backings: &[Backing], exports: &[Export]) -> Vec<Option<Route>> {
    let all = disks.iter().zip(backings).zip(exports);
    let near = |((disk, backing), export): ((&Opening, &Backing), &Export)| {
        Some(Route::near(disk.clone(), backing.attachment.index, Shape::of(export)))
    };
    all.map(near).collect()
}

/// Returns the index of an entry of the set for each disk: the disk's earlier entry, or a free one.
pub(crate) fn places(superblock: &Superblock, disks: &[Opening]) -> Result<Vec<u16>, SetError> {
    let mut taken: Vec<usize> = Vec::new();
    for (at, disk) in disks.iter().enumerate() {
        if !identity::is_name(&disk.name) {
            return Err(SetError::Name { name: disk.name.clone() });
        }
        if disks[..at].iter().any(|other| other.name == disk.name) {
            return Err(SetError::Twice { name: disk.name.clone() });
        }
        let uuid = identity::of_disk(&disk.name);
        let is_its = |entry: &Option<_>| {
            entry.as_ref().is_some_and(|e: &tier::format::DiskEntry| e.disk == uuid)
        };
        let own = superblock.disks.iter().position(is_its);
        let free = || {
            (0..superblock.disks.len())
                .find(|at| superblock.disks[*at].is_none() && !taken.contains(at))
        };
        let most = Geometry::of(superblock).disks_max();
        let place = own.or_else(free).ok_or(SetError::Many { disks: disks.len(), most })?;
        taken.push(place);
    }
    Ok(taken
        .into_iter()
        .map(|at| u16::try_from(at).expect("a set has at most 63 places"))
        .collect())
}

pub(crate) fn open_backing(
    disk: &Opening,
    index: u16,
    accepted: &[String],
) -> Result<Backing, SetError> {
    let held = hold(&disk.backing)?;
    let (bytes, alignment) = (held.size, held.alignment.unwrap_or(512).max(512));
    let file: Arc<OwnedFd> = Arc::new(held.file.into());
    // The sidecar says who owns the disk, so it is opened and read only after the device is
    // reserved.
    let reserved = disk.reserve.as_ref().map(|how| Reserved::take(how, &file, &disk.backing));
    let reserved = reserved.transpose()?.map(Arc::new);
    let (sidecar, made) = sidecar(&disk.backing, disk.sidecar.as_deref())?;
    let failed =
        |errno: rustix::io::Errno| failed("read the sidecar of", &disk.backing)(errno.into());
    let beside = path_of_sidecar(&disk.backing, disk.sidecar.as_deref())?;
    let (backing_id, sidecar_id) =
        (identity_of(&file, &disk.backing)?, identity_of(&sidecar, &beside)?);
    // A sidecar of version 1 has no identities that could be compared. So it is accepted if size
    // and inode match.
    let is_old = is_of_version_1(&sidecar, &file, bytes);
    let is_backing_vouched = is_old || is_accepted(accepted, &backing_id, &sidecar);
    let is_sidecar_vouched = is_old || is_accepted(accepted, &sidecar_id, &sidecar);
    let since = marks::since(&file, &sidecar, reserved.is_some()).map_err(failed)?;
    let disk_name = identity::of_disk(&disk.name);
    let attachment = Attachment {
        index,
        disk: disk_name,
        bytes,
        mode: disk.mode,
        key: disk.reserve.as_ref().map_or(0, |reserve| reserve.key),
        backing: backing_id,
        is_backing_vouched,
        sidecar: sidecar_id,
        is_sidecar_vouched,
        since,
        copies: disk.copies.count,
        peers: disk.copies.peers.iter().map(PeerAddress::holder).collect(),
    };
    Ok(Backing { attachment, sidecar, reserved, made, alignment, file })
}

pub(crate) fn export(disk: &Opening, backing: &Backing, most: u32) -> Result<Export, SetError> {
    let failed = |source| SetError::Export { name: disk.name.clone(), source };
    let alignment = backing.alignment;
    let blocks = BlockSizes::new(alignment, alignment.max(4096), most.min(REQUEST_BYTES_MAX))
        .map_err(failed)?;
    let bytes = backing.attachment.bytes / u64::from(alignment) * u64::from(alignment);
    Export::new(&disk.name, bytes, blocks, abilities()).map_err(failed)
}

/// Returns the features of every disk, which are the same on each server.
pub(crate) fn abilities() -> Abilities {
    Abilities::FLUSH
        | Abilities::FUA
        | Abilities::TRIM
        | Abilities::WRITE_ZEROES
        | Abilities::MULTI_CONN
}
