use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::Arc;

use block_server::ClientTls;
use nbd::{Abilities, Uri, UriError};
use tier::format::{Holder, Identity, LABEL_BYTES, Sidecar, Uuid};
use tier::{HeldCopy, IoError, IoTarget, Media, Since, TakeOverError, Taken, Taking, ownership};

use crate::files::{
    disputed_sidecar, hold, identity_of, is_accepted, is_of_version_1, known_sidecar,
    path_of_sidecar, replace_sidecar, room_for_new,
};
use crate::identity::copy_name;
use crate::media::Files;
use crate::peers::PeerAddress;
use crate::reserved::{Reserve, Reserved};
use crate::way::ExportConnection;
use crate::{Refusal, SetError, identity, marks};

/// Maximum size of one read over a network, in bytes.
const READ_MAX: usize = 1 << 20;

/// Proof that the old owner cannot write any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// No proof. It is enough only if the owner ran on this host and has ended.
    Absent,
    /// Reservation of the backing device, which is taken from the owner. The owner may still run.
    Reservation,
    /// Shell command that succeeds once the owner is switched off.
    Agent(String),
    /// Statement of the operator that the owner is switched off.
    Word,
}

impl FromStr for Proof {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("agent:") {
            None if text == "pr" => Ok(Self::Reservation),
            Some(command) if !command.trim().is_empty() => Ok(Self::Agent(command.to_owned())),
            _ => Err(
                "a proof is pr, for a disk that is served with --reserve, or agent:COMMAND, whose exit code is 0 when the host is off",
            ),
        }
    }
}

/// Disk to take over, opened. No process on this host has the disk open, or can open it.
#[derive(Debug)]
pub struct TakeOver {
    name: String,
    backing: PathBuf,
    /// Path of the sidecar.
    beside: PathBuf,
    proof: Proof,
    bytes: u64,
    sidecar: Sidecar,
    files: Files,
    identity: Identity,
    is_vouched: bool,
}

/// Error of a takeover.
#[derive(Debug, thiserror::Error)]
pub enum TakeOverFailure {
    /// The log and its copies do not allow the take-over.
    #[error("{name} is not taken over: {source}{}", listed(.unreached))]
    Refused {
        /// Name of the disk.
        name: String,
        /// Reason of the refusal.
        source: TakeOverError,
        /// Holders that could not be reached, with the reasons.
        unreached: Vec<String>,
    },
    /// Another process holds a file, or the system returned an error.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The owner may still write.
    #[error(
        "{name}: its owner ran on another host, or before this host was started, and may still \
        write"
    )]
    Unproven {
        /// Name of the disk.
        name: String,
    },
    /// The fence agent could not switch the owner off.
    #[error("the fence agent refused ({status}): {command}")]
    Agent {
        /// Command of the agent.
        command: String,
        /// Exit status of the agent.
        status: ExitStatus,
    },
    /// The fence agent could not be started.
    #[error("running {command}: {source}")]
    NoAgent {
        /// Command of the agent.
        command: String,
        /// Error that the system returned.
        source: std::io::Error,
    },
}

impl TakeOverFailure {
    /// Returns advice on how to continue, if there is any.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Refused { source, .. } => source.hint(),
            Self::Set(error) => error.hint(),
            Self::Unproven { .. } => Some(
                "--fence-proof agent:COMMAND that switches the owner \
                off, or --i-fenced HOST after you have done so; --fence-proof pr if the disk was \
                served with --reserve"
                    .into(),
            ),
            Self::Agent { .. } | Self::NoAgent { .. } => None,
        }
    }
}

crate::error::refusal_from!(TakeOverFailure);

/// Returns the list of holders that could not be reached, each after a semicolon.
fn listed(unreached: &[String]) -> String {
    unreached.iter().map(|words| format!("; {words}")).collect()
}

impl TakeOver {
    /// Opens the backing store and the sidecar of a disk. `accepted` are words by which the owner
    /// accepts a backing store that the sidecar does not know. The refusal shows each word, and a
    /// word is valid once.
    ///
    /// # Errors
    /// If a process on this host has the disk, or there is no sidecar.
    pub fn open(
        name: &str,
        backing: PathBuf,
        beside: Option<PathBuf>,
        proof: Proof,
        accepted: &[String],
    ) -> Result<Self, TakeOverFailure> {
        let held = hold(&backing)?;
        let side = match proof {
            // The owner may still run, and hold the lock.
            Proof::Reservation => disputed_sidecar(&backing, beside.as_deref())?,
            _ => known_sidecar(&backing, beside.as_deref())?,
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

    /// Ensures that the old owner cannot write any more, and that the backing device accepts writes
    /// of this host.
    ///
    /// # Errors
    /// If there is no proof, or the reservation of the device cannot be taken. Unless the loss of
    /// the log is accepted, also if the log is needed and the sidecar names no copy of it.
    pub fn fence(&mut self, accepts_loss: bool) -> Result<(), TakeOverFailure> {
        self.prove()?;
        if self.sidecar.key == 0 && self.proof != Proof::Reservation {
            return Ok(());
        }
        if !accepts_loss {
            self.look_for_copies()?;
        }
        self.reserve(&Reserve::of_this_host()?)
    }

    /// Checks that the old owner cannot write any more: on this host because the files are free,
    /// elsewhere by the given proof.
    fn prove(&self) -> Result<(), TakeOverFailure> {
        let command = match &self.proof {
            _ if self.is_of_this_machine() => return Ok(()),
            // The device gives this proof when its reservation is taken.
            Proof::Word | Proof::Reservation => return Ok(()),
            Proof::Absent => {
                return Err(TakeOverFailure::Unproven { name: self.name.clone() });
            }
            Proof::Agent(command) => command,
        };
        // The output of the command is for people. It must not mix with our stdout, which is data.
        let status = Command::new("sh").arg("-c").arg(command).stdout(Stdio::null()).status();
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(TakeOverFailure::Agent { command: command.clone(), status }),
            Err(source) => Err(TakeOverFailure::NoAgent { command: command.clone(), source }),
        }
    }

    /// Takes the reservation of the backing device from the owner, if it has one. The device then
    /// refuses writes of the old owner for as long as the reservation is held. The sidecar is
    /// replaced by a file that the owner does not have open.
    ///
    /// # Errors
    /// If the owner has no reservation although the reservation was to be the proof; or if the
    /// reservation cannot be taken, and then nothing has changed.
    pub fn reserve(&mut self, reserve: &Reserve) -> Result<(), TakeOverFailure> {
        let theirs = self.sidecar.key;
        if theirs == 0 {
            let (name, path) = (self.name.clone(), self.backing.clone());
            return match self.proof {
                Proof::Reservation => Err(SetError::NotReserved { name, path }.into()),
                _ => Ok(()),
            };
        }
        let (device, side) = self.files.disks[0].clone().expect("it was opened");
        // A path in use must be known before the reservation is taken.
        let new = room_for_new(&self.beside)?;
        Reserved::take_over(reserve, &device, &self.backing, theirs)?.keep();
        // The sidecar is read after the preemption: the owner's earlier writes to it count, and
        // later ones fail.
        let found = tier::read_sidecar(&mut self.files, 0);
        let found = found.map_err(|error| self.refused(error, Vec::new()))?;
        let is_fenced_so = self.proof == Proof::Reservation && theirs != reserve.key;
        let stays = found.stays || is_fenced_so;
        self.sidecar = Sidecar { seq: found.seq + 1, key: reserve.key, stays, ..found };
        let side = replace_sidecar(&self.beside, &new, &side, &self.sidecar)?;
        self.files.disks[0] = Some((device, side));
        Ok(())
    }

    /// Checks that the sidecar names a holder of a copy, before an owner that may still run is
    /// fenced.
    ///
    /// # Errors
    /// If no holder is named although the log is needed.
    fn look_for_copies(&self) -> Result<(), TakeOverFailure> {
        match self.has_log() && self.sidecar.holders.is_empty() {
            true => Err(self.refused(TakeOverError::NoCopy { named: 0, reached: 0 }, Vec::new())),
            false => Ok(()),
        }
    }

    /// Returns true if the owner ran on this host since its boot. If so, the owner has ended,
    /// because this process has the lock.
    fn is_of_this_machine(&self) -> bool {
        self.sidecar.boot == identity::boot() && self.sidecar.boot != Uuid::default()
    }

    /// Returns true if the owner has a reservation of the backing device.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.sidecar.key != 0
    }

    /// Returns true if the log has writes that the backing store lacks.
    #[must_use]
    pub fn has_log(&self) -> bool {
        ownership::has_log(&self.sidecar)
    }

    /// Drops the writes of the log for ever.
    ///
    /// # Errors
    /// If the sidecar cannot be read or written.
    pub fn give_up(mut self) -> Result<(), TakeOverFailure> {
        match tier::give_up(&mut self.files, 0) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.refused(error.into(), Vec::new())),
        }
    }

    fn refused(&self, source: TakeOverError, unreached: Vec<String>) -> TakeOverFailure {
        TakeOverFailure::Refused { name: self.name.clone(), source, unreached }
    }

    /// Fences the old owner at all reachable holders, and writes the longest copy to the backing
    /// store. `instead` has new addresses for holders whose address in the sidecar is outdated. The
    /// caller ensures that the owner cannot write any more.
    ///
    /// # Errors If no copy can be reached, or none is complete. In both cases the disk is
    /// unchanged.
    pub fn carry_out(
        &mut self,
        instead: &[PeerAddress],
        tls: Option<&ClientTls>,
    ) -> Result<Taken, TakeOverFailure> {
        let (mut ways, mut copies, mut unreached) = (Vec::new(), Vec::new(), Vec::new());
        for holder in &self.sidecar.holders {
            match self.reach(holder, instead, tls) {
                Ok(way) => {
                    let place = IoTarget::Copy(0, u8::try_from(ways.len()).unwrap_or(u8::MAX));
                    let capacity = way.requests.agreed().size;
                    ways.push(way);
                    copies.push(HeldCopy { host: holder.host, place, capacity });
                }
                Err(refusal) => unreached.push(refusal.text),
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

    /// Compares the marks that the owner stored last with the present marks of the backing store.
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

    /// Connects to a holder. Opening the copy there fences older generations before the copy is
    /// read.
    fn reach(
        &self,
        holder: &Holder,
        instead: &[PeerAddress],
        tls: Option<&ClientTls>,
    ) -> Result<ExportConnection, Refusal> {
        let own = instead.iter().find(|peer| identity::of_disk(&peer.name) == holder.host);
        let end = holder.address.iter().position(|byte| *byte == 0).unwrap_or(holder.address.len());
        let address = match own {
            Some(peer) => peer.address.clone(),
            None => String::from_utf8_lossy(&holder.address[..end]).into_owned(),
        };
        let failed = |error: Refusal| error.within(&address);
        let uri: Uri = address.parse().map_err(|error: UriError| failed(error.into()))?;
        let next = copy_name(&self.name, self.sidecar.generation + 1);
        let fence =
            ExportConnection::open(&uri, &next, tls).map_err(|error| failed(error.into()))?;
        if fence.requests.agreed().abilities.has(Abilities::READ_ONLY) {
            return Err(failed("another host has already taken the disk over".into()));
        }
        let name = copy_name(&self.name, ownership::log_generation(&self.sidecar));
        let way = ExportConnection::open(&uri, &name, tls).map_err(|error| failed(error.into()))?;
        let size = way.requests.agreed().size;
        match size > LABEL_BYTES && size.is_multiple_of(LABEL_BYTES) {
            true => Ok(way),
            false => Err(failed("its copy was given up".into())),
        }
    }
}

/// Access to the disk's own files and to the copies on the holders.
struct Reach {
    files: Files,
    ways: Vec<ExportConnection>,
}

impl Media for Reach {
    fn read(&mut self, place: IoTarget, at: u64, into: &mut [u8]) -> Result<(), IoError> {
        let IoTarget::Copy(_, copy) = place else { return self.files.read(place, at, into) };
        let way = &mut self.ways[usize::from(copy)];
        // A holder serves whole blocks of 4 KiB.
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

    fn write(&mut self, place: IoTarget, at: u64, data: &[u8]) -> Result<(), IoError> {
        self.files.write(place, at, data)
    }

    fn flush(&mut self, place: IoTarget) -> Result<(), IoError> {
        self.files.flush(place)
    }
}
