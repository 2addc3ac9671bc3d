//! Record, on this host's disk, of objects that were created on a platform and still exist.
//!
//! It is a directory `<16 hex digits>` below `$XDG_STATE_HOME/tilemark/machines` (or
//! `~/.local/state/...`), accessible only to its owner. Like snapshots on a platform, it survives a
//! restart of the host. It contains the marker of its owner, the VM as it was named (with the place
//! of its credentials, never the credentials), and a line for each object. The line is written
//! before the object is requested. A ledger without lines is removed when its owner ends.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use datastore::{Mark, Marker, Owned, OwnerState};
use process_home::HomeError;
use serde::{Deserialize, Serialize};
use spec::named::NamedMachine;
use units::Bytes;

use super::{Limits, take_back};
use crate::VmError;

const MARKER: &str = "owner.json";
const MACHINE: &str = "machine";
const MADE: &str = "made";

/// Created object, or a job in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Made {
    /// A snapshot of the virtual machine.
    Snapshot {
        /// Name on the platform.
        name: String,
    },
    /// A clone of the virtual machine.
    Clone {
        /// Name on the platform.
        name: String,
        /// Number of the clone, on platforms that use numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
    },
    /// A volume in a storage pool.
    Volume {
        /// Storage pool of the volume.
        storage: String,
        /// Name on the platform.
        name: String,
    },
    /// The disk of the virtual machine is on a volume that was created here, and must be moved
    /// back.
    Away {
        /// Name of the disk.
        disk: String,
        /// Place where the disk belongs.
        home: String,
        /// Storage pool of the volume.
        storage: String,
        /// Name on the platform.
        name: String,
    },
    /// A move in progress.
    Moving {
        /// Identifier with which the job is cancelled.
        job: String,
    },
}

impl Made {
    /// Returns the name of a clone; `None` for other objects.
    pub fn clone_name(&self) -> Option<&str> {
        if let Self::Clone { name, .. } = self { Some(name) } else { None }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot { name } => write!(f, "snapshot {name}"),
            Self::Clone { name, id: Some(id) } => write!(f, "clone {name} ({id})"),
            Self::Clone { name, id: None } => write!(f, "clone {name}"),
            Self::Volume { storage, name } => write!(f, "volume {name} in {storage}"),
            Self::Away { disk, home, .. } => write!(f, "disk {disk}, which belongs to {home}"),
            Self::Moving { job } => write!(f, "move under way ({job})"),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Made(Made),
    Gone(Made),
}

/// Ledger of one virtual machine in one run.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    tag: String,
    file: File,
    made: Vec<Made>,
    noted: u64,
    mark: Option<Mark>,
}

fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VmError + use<> {
    let path = path.display().to_string();
    move |source| HomeError { attempt, path, source }.into()
}

/// Returns the directory of ledgers, according to the environment.
///
/// # Errors
/// The environment names neither a directory for state nor a home directory.
pub fn usual_state() -> Result<PathBuf, VmError> {
    let named = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
    let text = "objects made on your machines are recorded below $XDG_STATE_HOME or $HOME, but \
        neither is set";
    Ok(state.ok_or_else(|| VmError::Unsupported(text.to_owned()))?.join("tilemark/machines"))
}

impl Ledger {
    pub(super) fn make(
        state: &Path,
        run_id: &str,
        machine: &NamedMachine,
    ) -> Result<Self, VmError> {
        let mut bytes = [0; 8];
        let random = Path::new("/dev/urandom");
        File::open(random)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(failed("read", random))?;
        let name = format!("{:016x}", u64::from_ne_bytes(bytes));
        let path = state.join(&name);
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true).create(state).map_err(failed("make", state))?;
        builder.recursive(false).create(&path).map_err(failed("make", &path))?;
        let create = |name: &str| {
            OpenOptions::new().append(true).create_new(true).mode(0o600).open(path.join(name))
        };
        let mark =
            create(MARKER).and_then(|file| Mark::write(file, &Marker::new(run_id, Bytes::ZERO)));
        let mark = Some(mark.map_err(failed("mark", &path))?);
        let said = create(MACHINE).and_then(|mut file| {
            file.write_all(machine.to_string().as_bytes())?;
            file.sync_all()
        });
        said.map_err(failed("write in", &path))?;
        let file = create(MADE).map_err(failed("write in", &path))?;
        let held = File::open(&path).and_then(|own| own.sync_all());
        held.map_err(failed("sync", &path))?;
        Ok(Self { path, tag: name[..8].to_owned(), file, made: Vec::new(), noted: 0, mark })
    }

    /// Returns the eight digits that the name of every created object contains.
    pub(super) fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns a number that is not used in a name yet.
    pub(super) fn next(&self) -> u64 {
        self.noted + 1
    }

    /// Returns the existing objects, oldest first.
    pub(super) fn made(&self) -> &[Made] {
        &self.made
    }

    /// Records an object before it is requested.
    pub(super) fn note(&mut self, made: Made) -> Result<(), VmError> {
        self.write(&Line::Made(made.clone()))?;
        self.noted += 1;
        self.made.push(made);
        Ok(())
    }

    /// Records that an object is gone.
    pub(super) fn gone(&mut self, made: &Made) -> Result<(), VmError> {
        self.write(&Line::Gone(made.clone()))?;
        self.made.retain(|own| own != made);
        Ok(())
    }

    fn write(&mut self, line: &Line) -> Result<(), VmError> {
        let mut text = serde_json::to_string(line).unwrap_or_default();
        text.push('\n');
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(failed("write in", &self.path))
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        drop(self.mark.take());
        if self.made.is_empty() {
            let _ = remove(&self.path);
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    // The marker is removed last: without it, the owner of the other files is unknown.
    for name in [MADE, MACHINE, MARKER] {
        match fs::remove_file(path.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_dir(path)
}

/// Objects that an ended run left on a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftObjects {
    /// Path of the ledger.
    pub path: PathBuf,
    /// Identifier of the run.
    pub run_id: String,
    /// Text that named the virtual machine.
    pub machine: String,
    /// Created objects, in words.
    pub made: Vec<String>,
    /// Objects that could not be removed, with reasons. Empty if all are gone, or no removal was
    /// attempted.
    pub stays: Vec<String>,
}

/// Removes objects that ended runs left. With `is_real` false it only lists them.
pub fn sweep(state: &Path, is_real: bool, limits: Limits) -> Vec<LeftObjects> {
    let Ok(all) = fs::read_dir(state) else { return Vec::new() };
    let paths = all.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<LeftObjects> =
        paths.filter_map(|path| sweep_one(&path, is_real, limits)).collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

fn sweep_one(path: &Path, is_real: bool, limits: Limits) -> Option<LeftObjects> {
    let mut marker = untrusted::open(&path.join(MARKER)).ok()?;
    let mut bytes = Vec::new();
    (&mut marker).take(64 << 10).read_to_end(&mut bytes).ok()?;
    let owned = Owned::of(&Marker::parse(&bytes)?, &marker, path.to_owned(), Bytes::ZERO);
    if owned.state != OwnerState::Dead {
        return None;
    }
    let text = |name: &str| untrusted::read_text(&path.join(name)).unwrap_or_default();
    let (machine, made) = (text(MACHINE), still_there(&text(MADE)));
    let words = made.iter().map(Made::to_string).collect();
    let mut found = LeftObjects {
        path: path.to_owned(),
        run_id: owned.run_id,
        machine,
        made: words,
        stays: Vec::new(),
    };
    if !is_real {
        return Some(found);
    }
    // A run that was killed before it made anything needs no contact with its platform.
    if !made.is_empty() {
        let machine = found.machine.parse::<NamedMachine>().map_err(|error| error.to_string());
        let stays = machine.and_then(|machine| {
            take_back(&machine, &made, limits).map_err(|error| error.to_string())
        });
        match stays {
            Ok(stays) => {
                found.stays = stays.iter().map(|(own, error)| format!("{own}: {error}")).collect();
            }
            Err(error) => found.stays.push(error),
        }
    }
    if found.stays.is_empty() {
        let removed = remove(path);
        found.stays.extend(removed.err().map(|error| format!("{}: {error}", path.display())));
    }
    Some(found)
}

/// Parses lines up to a line that was truncated by a kill. Returns the objects that still exist.
fn still_there(lines: &str) -> Vec<Made> {
    let mut made = Vec::new();
    for line in lines.lines().map_while(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Made(own) => made.push(own),
            Line::Gone(own) => made.retain(|other| *other != own),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> NamedMachine {
        "libvirt:web01,at=test:///default".parse().expect("a machine")
    }

    fn snapshot(name: &str) -> Made {
        Made::Snapshot { name: name.to_owned() }
    }

    #[test]
    fn a_ledger_without_lines_goes_and_one_with_lines_stays() {
        let state = tempfile::tempdir().expect("a directory");
        let mut ledger = Ledger::make(state.path(), "run-1", &machine()).expect("made");
        ledger.note(snapshot("a")).expect("written");
        ledger.gone(&snapshot("a")).expect("written");
        drop(ledger);
        assert_eq!(fs::read_dir(state.path()).expect("there").count(), 0);
        let mut ledger = Ledger::make(state.path(), "run-1", &machine()).expect("made");
        ledger.note(snapshot("b")).expect("written");
        let path = ledger.path.clone();
        assert!(sweep(state.path(), true, Limits::default()).is_empty(), "its owner lives");
        drop(ledger);
        assert_eq!(
            still_there(&fs::read_to_string(path.join(MADE)).expect("read")),
            [snapshot("b")]
        );
    }

    #[test]
    fn a_line_that_was_cut_off_by_a_kill_ends_the_ledger() {
        let own = |made| serde_json::to_string(&Line::Made(made)).expect("text");
        let text = format!("{}\n{}\n{{\"made\":{{\"snap", own(snapshot("a")), own(snapshot("b")));
        assert_eq!(still_there(&text), [snapshot("a"), snapshot("b")]);
    }
}
