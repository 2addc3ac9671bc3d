//! Private directory of a set of virtual machines: their sockets, and the mark by which everything
//! of them is found again.
//!
//! It is `/tmp/tilemark-vm-<16 hex digits>`, open to nobody else, whatever `TMPDIR` says: whoever cleans
//! up must look in the same place, and the path of a socket has 107 bytes at most (unix(7)). Its marker
//! is the datastore's. Each process that is started carries the directory's name in its environment
//! ([`VARIABLE`]), and the marker is there before the first: so a process is known as ours by a random
//! number that was written down first, never by its program's name or a number that another may have by
//! now.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use datastore::{Mark, Marker, Owned, OwnerState};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use units::Bytes;

use crate::VmError;

/// Environment variable with the name of the directory, in every process of ours.
pub const VARIABLE: &str = "TILEMARK_VM";

const PARENT: &str = "/tmp";
const PREFIX: &str = "tilemark-vm-";
const MARKER: &str = "owner.json";
/// Age from which a directory without a marker is a leftover and not just being made.
const UNMARKED_SECONDS: u64 = 60;

/// A private directory. Dropping it ends every process that carries its name, and removes it.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    name: String,
    mark: Option<Mark>,
}

impl Home {
    /// Makes a directory for the run of this identifier.
    ///
    /// # Errors
    /// The directory cannot be made or marked.
    pub fn make(run_id: &str) -> Result<Self, VmError> {
        let failed = |attempt, path: &Path| {
            let path = path.display().to_string();
            move |source| VmError::Home { attempt, path, source }
        };
        let name = format!(
            "{PREFIX}{:016x}",
            random().map_err(failed("read", Path::new("/dev/urandom")))?
        );
        let path = Path::new(PARENT).join(&name);
        DirBuilder::new().mode(0o700).create(&path).map_err(failed("make", &path))?;
        let mut home = Self { path, name, mark: None };
        let marker = home.path.join(MARKER);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&marker);
        let mark = file.and_then(|file| Mark::write(file, &Marker::new(run_id, Bytes::ZERO)));
        home.mark = Some(mark.map_err(failed("mark", &marker))?);
        Ok(home)
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Value of [`VARIABLE`] in its processes.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        end_processes(&self.name);
        drop(self.mark.take());
        let _ = empty(&self.path);
    }
}

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Leftovers of a run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swept {
    /// Path of the private directory.
    pub path: PathBuf,
    /// Run that it was made for; empty if the run was killed before it wrote that.
    pub run_id: String,
    /// Number of processes that were ended, or would be.
    pub processes: usize,
    /// Reason why the directory stays, if it does.
    pub stays: Option<String>,
}

/// Ends the virtual machines of runs that ended without doing so, and removes their directories;
/// with `is_real` false it only lists them. Only for this user: directories of others cannot be
/// entered.
pub fn sweep(is_real: bool) -> Vec<Swept> {
    let Ok(found) = fs::read_dir(PARENT) else { return Vec::new() };
    let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| is_name(name)).filter_map(|name| sweep_one(&name, is_real)).collect()
}

fn is_name(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX);
    digits.is_some_and(|own| own.len() == 16 && own.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn sweep_one(name: &str, is_real: bool) -> Option<Swept> {
    let path = Path::new(PARENT).join(name);
    let status = fs::symlink_metadata(&path).ok()?;
    let is_ours = status.is_dir()
        && status.uid() == rustix::process::geteuid().as_raw()
        && status.mode().trailing_zeros() >= 6;
    let run_id = is_ours.then(|| run_that_ended(&path, &status)).flatten()?;
    let processes = if is_real { end_processes(name) } else { carriers(name).len() };
    let stays = is_real.then(|| empty(&path).err()).flatten().map(|error| error.to_string());
    Some(Swept { path, run_id, processes, stays })
}

/// Run that the directory was made for; `None` while its owner lives.
fn run_that_ended(path: &Path, status: &fs::Metadata) -> Option<String> {
    let Ok(mut file) = File::open(path.join(MARKER)) else {
        let old = status.modified().ok()?.elapsed().ok()? >= Duration::from_secs(UNMARKED_SECONDS);
        return old.then(String::new);
    };
    let mut bytes = Vec::new();
    (&mut file).take(64 << 10).read_to_end(&mut bytes).ok()?;
    let marker = Marker::parse(&bytes)?;
    let owned = Owned::of(&marker, &file, path.to_owned(), Bytes::ZERO);
    (owned.state == OwnerState::Dead).then_some(owned.run_id)
}

/// Removes the files of such a directory (sockets, and output of virtual machines), the marker
/// last. The error has the reason if something else is in it.
fn empty(path: &Path) -> io::Result<()> {
    let text = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut foreign = Vec::new();
    for entry in fs::read_dir(path).map_err(text)?.flatten() {
        let kind = entry.file_type().map_err(text)?;
        let name = entry.file_name();
        let is_said =
            kind.is_file() && Path::new(&name).extension().is_some_and(|own| own == "said");
        if kind.is_socket() || is_said {
            fs::remove_file(entry.path()).map_err(text)?;
        } else if name != MARKER {
            foreign.push(name.to_string_lossy().into_owned());
        }
    }
    if !foreign.is_empty() {
        let foreign = foreign.join(", ");
        return Err(io::Error::other(format!("not made by Tilemark, so it stays: {foreign}")));
    }
    match fs::remove_file(path.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(text(error)),
        _ => {}
    }
    fs::remove_dir(path).map_err(text)
}

/// Processes that carry a directory's name.
pub fn processes(name: &str) -> Vec<u32> {
    carriers(name).iter().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()).collect()
}

/// Kills every process that carries a directory's name, and waits until they are gone. Returns
/// their number.
fn end_processes(name: &str) -> usize {
    let found = carriers(name);
    for pid in &found {
        // The process is opened first and checked again, because its number may be reused by now.
        let Ok(held) = pidfd_open(*pid, PidfdFlags::empty()) else { continue };
        if carries(*pid, name) {
            let _ = pidfd_send_signal(&held, Signal::KILL);
        }
    }
    let until = Instant::now() + Duration::from_secs(10);
    while !carriers(name).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    found.len()
}

fn carriers(name: &str) -> Vec<Pid> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(Pid::from_raw).filter(|pid| carries(*pid, name)).collect()
}

/// The kernel keeps the environment that a process was started with; a process that has ended has
/// none.
fn carries(pid: Pid, name: &str) -> bool {
    let wanted = format!("{VARIABLE}={name}");
    let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
    let is_other = pid != rustix::process::getpid();
    let environment = fs::read(path).unwrap_or_default();
    is_other && environment.split(|byte| *byte == 0).any(|line| line == wanted.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn sleeper(name: &str) -> std::process::Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env(VARIABLE, name).stdin(Stdio::null());
        let child = command.spawn().expect("sleep");
        // A process exists a moment before its environment does, and is not found until then. On a
        // busy host one was not ended, and its test waited for the end of its sleep.
        let environment = format!("/proc/{}/environ", child.id());
        while fs::read(&environment).expect("its environment").is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn dropping_home_ends_its_processes_and_leaves_nothing() {
        let (home, other) =
            (Home::make("run-1").expect("made"), Home::make("run-2").expect("made"));
        let (mut own, mut foreign) = (sleeper(home.name()), sleeper(other.name()));
        let path = home.path().to_owned();
        drop(home);
        assert!(!path.exists());
        assert!(!own.wait().expect("ended").success());
        assert!(foreign.try_wait().expect("looked at").is_none(), "another's goes on");
        drop(other);
        assert!(!foreign.wait().expect("ended").success());
    }

    #[test]
    fn a_directory_of_a_live_run_is_not_swept() {
        let home = Home::make("run-1").expect("made");
        let mut own = sleeper(home.name());
        assert!(sweep(true).iter().all(|found| found.path != home.path()));
        assert!(own.try_wait().expect("looked at").is_none());
        drop(home);
        own.wait().expect("ended");
    }

    #[test]
    fn sweep_finds_leftovers_of_killed_runs_and_spares_others() {
        let home = Home::make("killed").expect("made");
        let (path, name) = (home.path().to_owned(), home.name().to_owned());
        let mut own = sleeper(&name);
        // As if this process had been killed and its number were reused.
        let text = fs::read_to_string(path.join(MARKER)).expect("the marker");
        let at = text.find("\"start_ticks\": ").expect("its start") + 15;
        fs::write(path.join(MARKER), format!("{}1{}", &text[..at], &text[at..])).expect("written");
        fs::write(path.join("note"), "mine").expect("written");
        let of = |found: Vec<Swept>| found.into_iter().find(|own| own.path == path);
        let seen = of(sweep(false)).expect("found");
        assert_eq!((seen.run_id.as_str(), seen.processes), ("killed", 1));
        assert!(own.try_wait().expect("looked at").is_none(), "looking ends nothing");
        let swept = of(sweep(true)).expect("found");
        assert!(swept.stays.expect("something is in it").contains("note"));
        assert!(!own.wait().expect("ended").success());
        fs::remove_file(path.join("note")).expect("removed");
        assert_eq!(of(sweep(true)).expect("found").stays, None);
        assert!(!path.exists());
        std::mem::forget(home);
    }
}
