use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use block_server::ClientTls;
use nbd::{Abilities, Uri};
use tier::format::{Holder, Identity, LABEL_BYTES, Sidecar, Uuid};
use tier::{HeldCopy, IoError, Media, Place, Since, TakeOverError, Taken, Taking, ownership};

use crate::files::{
    disputed_sidecar, hold, identity_of, is_accepted, is_of_version_1, known_sidecar,
    path_of_sidecar, replace_sidecar, room_for_new,
};
use crate::identity::copy_name;
use crate::media::Files;
use crate::peers::PeerAddress;
use crate::reserved::{Reserve, Reserved};
use crate::way::Way;
use crate::{SetError, identity, marks};

/// Bytes that are read at once over a network.
const READ_MAX: usize = 1 << 20;

/// How it is known that the owner so far writes no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The reservation that he holds of the backing device is taken away; he may live on.
    Reservation,
    /// Whoever takes the disk over has seen to it.
    Word,
}

/// A disk that is to be taken over, opened: nobody on this machine has it, and none will.
#[derive(Debug)]
pub struct TakeOver {
    name: String,
    backing: PathBuf,
    /// Where its sidecar is.
    beside: PathBuf,
    proof: Proof,
    bytes: u64,
    sidecar: Sidecar,
    files: Files,
    identity: Identity,
    is_vouched: bool,
}

/// Why it is not taken over.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverFailure {
    /// By its log and its copies.
    #[error("{name} is not taken over: {}", said(.source, .unreached))]
    Refused {
        /// The disk.
        name: String,
        /// Why.
        source: TakeOverError,
        /// Holders who could not be asked, with the reason.
        unreached: Vec<String>,
    },
    /// By the kernel, or because somebody has it.
    #[error(transparent)]
    Set(#[from] SetError),
}

/// The refusal, who could not be asked, and then the hint.
fn said(source: &TakeOverError, unreached: &[String]) -> String {
    let text = source.to_string();
    let (refusal, hint) = match text.split_once("\nhint: ") {
        Some((refusal, hint)) => (refusal, format!("\nhint: {hint}")),
        None => (&text[..], String::new()),
    };
    let unreached: String = unreached.iter().map(|words| format!("; {words}")).collect();
    format!("{refusal}{unreached}{hint}")
}

impl TakeOver {
    /// Opens the backing store and the sidecar of a disk. `accepted` are words by which the owner accepts a backing store
    /// although the sidecar knows another: each is in the refusal, and counts once.
    ///
    /// # Errors
    /// Somebody on this machine has it, or there is no sidecar.
    pub fn open(
        name: &str,
        backing: PathBuf,
        beside: Option<PathBuf>,
        proof: Proof,
        accepted: &[String],
    ) -> Result<Self, TakeOverFailure> {
        let held = hold(&backing)?;
        let side = match proof {
            Proof::Word => known_sidecar(&backing, beside.as_deref())?,
            // Its owner may live, and have it.
            Proof::Reservation => disputed_sidecar(&backing, beside.as_deref())?,
        };
        let beside = path_of_sidecar(&backing, beside.as_deref())?;
        let bytes = held.size;
        let store = OwnedFd::from(held.file);
        let identity = identity_of(&store, &backing)?;
        let is_vouched =
            is_accepted(accepted, &identity, &side) || is_of_version_1(&side, &store, bytes);
        let mut files = Files {
            cache: Arc::new(rustix::io::dup(&side).map_err(|errno| SetError::Kernel {
                what: "open the sidecar of",
                path: backing.clone(),
                source: errno.into(),
            })?),
            disks: vec![Some((Arc::new(store), side))],
        };
        let refused = |source| TakeOverFailure::Refused {
            name: name.to_owned(),
            source,
            unreached: Vec::new(),
        };
        let sidecar = tier::read_sidecar(&mut files, 0).map_err(refused)?;
        if sidecar.disk != identity::of_disk(name) {
            return Err(refused(TakeOverError::OtherDisk));
        }
        let name = name.to_owned();
        Ok(Self { name, backing, beside, proof, bytes, sidecar, files, identity, is_vouched })
    }

    /// Takes the reservation of the backing device from its owner, where he holds one: from now on, and for as long as
    /// it is held, the device refuses what he writes. His sidecar is one that nobody writes to but this.
    ///
    /// # Errors
    /// He holds none, and that was to be the proof; or it cannot be had, and everything is as it was.
    pub fn reserve(&mut self, reserve: &Reserve) -> Result<(), TakeOverFailure> {
        let theirs = self.sidecar.key;
        if theirs == 0 {
            let (name, path) = (self.name.clone(), self.backing.clone());
            return match self.proof {
                Proof::Reservation => Err(SetError::NotReserved { name, path }.into()),
                Proof::Word => Ok(()),
            };
        }
        let (device, side) = self.files.disks[0].clone().expect("it was opened");
        // Known before anything is taken from anybody.
        let new = room_for_new(&self.beside)?;
        Reserved::take_over(reserve, &device, &self.backing, theirs)?.keep();
        // What he wrote there until then counts; what he writes later does not.
        let found = tier::read_sidecar(&mut self.files, 0);
        let found = found.map_err(|error| self.refused(error, Vec::new()))?;
        let is_fenced_so = self.proof == Proof::Reservation && theirs != reserve.key;
        let stays = found.stays || is_fenced_so;
        self.sidecar = Sidecar { seq: found.seq + 1, key: reserve.key, stays, ..found };
        let side = replace_sidecar(&self.beside, &new, &side, &self.sidecar)?;
        self.files.disks[0] = Some((device, side));
        Ok(())
    }

    /// Looks whether anybody else is named who has what the log has, before an owner that may live is fenced.
    ///
    /// # Errors
    /// Nobody is.
    pub fn look_for_copies(&self) -> Result<(), TakeOverFailure> {
        match self.has_log() && self.sidecar.holders.is_empty() {
            true => Err(self.refused(TakeOverError::NoCopy { named: 0, reached: 0 }, Vec::new())),
            false => Ok(()),
        }
    }

    /// Whether its owner ran on this machine since it started: then he is gone, for nobody has the disk.
    #[must_use]
    pub fn is_of_this_machine(&self) -> bool {
        self.sidecar.boot == identity::boot() && self.sidecar.boot != Uuid::default()
    }

    /// Whether its owner holds a reservation of the backing device.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.sidecar.key != 0
    }

    /// Whether its backing store alone is not all there is.
    #[must_use]
    pub fn has_log(&self) -> bool {
        ownership::has_log(&self.sidecar)
    }

    /// Gives up what its log has, for good.
    ///
    /// # Errors
    /// What the sidecar's storage could not do.
    pub fn give_up(mut self) -> Result<(), TakeOverFailure> {
        match tier::give_up(&mut self.files, 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refused(error.into(), Vec::new())),
        }
    }

    fn refused(&self, source: TakeOverError, unreached: Vec<String>) -> TakeOverFailure {
        TakeOverFailure::Refused { name: self.name.clone(), source, unreached }
    }

    /// Has all holders that can be reached refuse the owner so far, and puts into the backing store what the
    /// longest copy has. `instead` says where holders are who are not where the sidecar says. That the owner
    /// cannot write any more is for the caller to have seen to.
    ///
    /// # Errors
    /// No copy can be reached, or none is whole; then the disk is as it was.
    pub fn carry_out(
        &mut self,
        instead: &[PeerAddress],
        tls: Option<&ClientTls>,
    ) -> Result<Taken, TakeOverFailure> {
        let (mut ways, mut copies, mut unreached) = (Vec::new(), Vec::new(), Vec::new());
        for holder in &self.sidecar.holders {
            match self.reach(holder, instead, tls) {
                Ok(way) => {
                    let place = Place::Copy(0, u8::try_from(ways.len()).unwrap_or(u8::MAX));
                    let capacity = way.requests.agreed().size;
                    ways.push(way);
                    copies.push(HeldCopy { host: holder.host, place, capacity });
                }
                Err(words) => unreached.push(words),
            }
        }
        let taking = Taking {
            index: 0,
            disk: self.sidecar.disk,
            bytes: self.bytes,
            set: identity::random().map_err(|source| SetError::Kernel {
                what: "find a name for the owner of",
                path: self.name.clone().into(),
                source,
            })?,
            boot: identity::boot(),
            backing: self.identity.clone(),
            is_backing_vouched: self.is_vouched,
            since: self.since()?,
            copies,
        };
        let mut reach = Reach { files: self.files.clone(), ways };
        tier::take_over(&mut reach, &taking).map_err(|source| self.refused(source, unreached))
    }

    /// What the marks say that its owner stored last.
    fn since(&self) -> Result<Since, TakeOverFailure> {
        let Some((backing, sidecar)) = self.files.disks[0].as_ref() else {
            return Ok(Since::Unknown);
        };
        let failed = |errno: rustix::io::Errno| SetError::Kernel {
            what: "read the sidecar of",
            path: self.backing.clone(),
            source: errno.into(),
        };
        Ok(marks::since(backing, sidecar, self.is_reserved()).map_err(failed)?)
    }

    /// Goes to a holder: first nobody of this generation writes there any more, then its copy is read.
    fn reach(
        &self,
        holder: &Holder,
        instead: &[PeerAddress],
        tls: Option<&ClientTls>,
    ) -> Result<Way, String> {
        let own = instead.iter().find(|peer| identity::of_disk(&peer.name) == holder.host);
        let end = holder.address.iter().position(|byte| *byte == 0).unwrap_or(holder.address.len());
        let address = match own {
            Some(peer) => peer.address.clone(),
            None => String::from_utf8_lossy(&holder.address[..end]).into_owned(),
        };
        let failed = |error: &dyn std::fmt::Display| format!("{address}: {error}");
        let uri: Uri = address.parse().map_err(|error| failed(&error))?;
        let next = copy_name(&self.name, self.sidecar.generation + 1);
        let fence = Way::open(&uri, &next, tls).map_err(|error| failed(&error))?;
        if fence.requests.agreed().abilities.has(Abilities::READ_ONLY) {
            return Err(failed(&"somebody else has taken the disk over already"));
        }
        let name = copy_name(&self.name, ownership::log_generation(&self.sidecar));
        let way = Way::open(&uri, &name, tls).map_err(|error| failed(&error))?;
        let size = way.requests.agreed().size;
        match size > LABEL_BYTES && size.is_multiple_of(LABEL_BYTES) {
            true => Ok(way),
            false => Err(failed(&"its copy was given up")),
        }
    }
}

/// The shared store, and what holders have.
struct Reach {
    files: Files,
    ways: Vec<Way>,
}

impl Media for Reach {
    fn read(&mut self, place: Place, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        let Place::Copy(_, copy) = place else { return self.files.read(place, at, into) };
        let way = &mut self.ways[usize::from(copy)];
        // A holder serves whole blocks.
        let first = at / 4096 * 4096;
        let end = (at + into.len() as u64).next_multiple_of(4096);
        let mut bytes = Vec::new();
        let mut next = first;
        while next < end {
            let length = u32::try_from((end - next).min(READ_MAX as u64)).unwrap_or(u32::MAX);
            bytes.extend(way.read(next, length).map_err(|_| IoError::Io)?);
            next += u64::from(length);
        }
        let skip = usize::try_from(at - first).unwrap_or(0);
        into.copy_from_slice(&bytes[skip..skip + into.len()]);
        Ok(())
    }

    fn write(&mut self, place: Place, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.files.write(place, at, data)
    }

    fn flush(&mut self, place: Place) -> Result<(), IoError> {
        self.files.flush(place)
    }
}
