//! Private directory of processes: creation, marker, search and removal.
//!
//! Its path is `/tmp/PREFIX<16 hex digits>`, independent of `TMPDIR`: a later cleanup must look in
//! the same place, and the path of a socket has at most 107 bytes (unix(7)). Its marker has the
//! format of the datastore's marker.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use datastore::{Mark, Marker, Owned, OwnerState};
use units::Bytes;

use crate::mounts::unmount_inside;
use crate::processes::{carriers, end_carriers};

const PARENT: &str = "/tmp";
const MARKER: &str = "owner.json";
/// Age in seconds from which a directory without a marker is a leftover. A younger one may still be
/// in creation.
const UNMARKED_SECONDS: u64 = 60;

/// Kind of private directories, distinguished by a prefix.
#[derive(Debug)]
pub struct HomeKind {
    /// Prefix of a directory's name; 16 hexadecimal digits follow.
    pub prefix: &'static str,
    /// Environment variable that has the directory's name in every process of the directory.
    pub variable: &'static str,
    /// Returns true for the name of a file or mount point that the kind creates. Sockets and the
    /// marker need not be included.
    pub is_own: fn(&str) -> bool,
    /// Access of other users to the directory.
    pub guests: Guests,
    /// Removes objects of the kernel that carry the directory's name, after its processes have
    /// ended. If it fails, the directory stays, so that a later cleanup finds them.
    pub release: fn(&str) -> io::Result<()>,
}

/// Access of users other than the owner to a private directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guests {
    /// No other user may enter.
    None,
    /// Processes of another user may pass through to their own directories inside, but not list the
    /// directory. The name of such a directory must satisfy `is_own`. It is removed with all its
    /// content.
    Pass,
}

impl Guests {
    const fn mode(self) -> u32 {
        match self {
            Self::None => 0o700,
            Self::Pass => 0o711,
        }
    }
}

/// Error of creating or marking a private directory.
#[derive(Debug, thiserror::Error)]
#[error("cannot {attempt} {path}: {source}")]
pub struct HomeError {
    /// Operation that was attempted, as a verb.
    pub attempt: &'static str,
    /// Path of the file or directory.
    pub path: String,
    /// Error that the system returned.
    #[source]
    pub source: io::Error,
}

/// Private directory. Dropping it ends every process that carries its name, and removes the
/// directory.
#[derive(Debug)]
pub struct Home {
    kind: &'static HomeKind,
    path: PathBuf,
    name: String,
    mark: Option<Mark>,
}

impl Home {
    /// Creates a directory for the run with this id.
    ///
    /// # Errors
    /// If the directory cannot be created or marked.
    pub fn make(kind: &'static HomeKind, run_id: &str) -> Result<Self, HomeError> {
        let failed = |attempt, path: &Path| {
            let path = path.display().to_string();
            move |source| HomeError { attempt, path, source }
        };
        let random = random().map_err(failed("read", Path::new("/dev/urandom")))?;
        let name = format!("{}{random:016x}", kind.prefix);
        let path = Path::new(PARENT).join(&name);
        DirBuilder::new().mode(0o700).create(&path).map_err(failed("make", &path))?;
        let mut home = Self { kind, path, name, mark: None };
        // By the mode above the umask could refuse the guests.
        let mode = fs::Permissions::from_mode(kind.guests.mode());
        fs::set_permissions(&home.path, mode).map_err(failed("open", &home.path))?;
        let marker = home.path.join(MARKER);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&marker);
        let mark = file.and_then(|file| Mark::write(file, &Marker::new(run_id, Bytes::ZERO)));
        home.mark = Some(mark.map_err(failed("mark", &marker))?);
        Ok(home)
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the directory, which its processes carry in their environment.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the environment variable for its processes, and the variable's value.
    pub fn variable(&self) -> (&'static str, &str) {
        (self.kind.variable, &self.name)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        end_carriers(self.kind.variable, &self.name);
        unmount_inside(&self.path);
        let released = (self.kind.release)(&self.name);
        drop(self.mark.take());
        let _ = released.and_then(|()| empty(&self.path, self.kind));
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
    /// Id of the run that created the directory; empty if the run was killed before it wrote the
    /// marker.
    pub run_id: String,
    /// Number of processes that were ended, or would be if `is_real` were true.
    pub processes: usize,
    /// Reason why the directory stays, if it does.
    pub stays: Option<String>,
}

/// Ends the remaining processes of runs that have ended, and removes the directories of these runs.
/// If `is_real` is false, only lists them. Handles only directories of this user; directories of
/// others cannot be entered.
pub fn sweep(kind: &HomeKind, is_real: bool) -> Vec<Swept> {
    let Ok(found) = fs::read_dir(PARENT) else { return Vec::new() };
    let names = found.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| is_name(kind, name))
        .filter_map(|name| sweep_one(kind, &name, is_real))
        .collect()
}

fn is_name(kind: &HomeKind, name: &str) -> bool {
    let digits = name.strip_prefix(kind.prefix);
    digits.is_some_and(|own| own.len() == 16 && own.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn sweep_one(kind: &HomeKind, name: &str, is_real: bool) -> Option<Swept> {
    let path = Path::new(PARENT).join(name);
    let status = fs::symlink_metadata(&path).ok()?;
    let is_ours = status.is_dir()
        && status.uid() == rustix::process::geteuid().as_raw()
        && status.mode() & 0o777 & !kind.guests.mode() == 0;
    let run_id = is_ours.then(|| run_that_ended(&path, &status)).flatten()?;
    let variable = kind.variable;
    let processes = match is_real {
        true => end_carriers(variable, name),
        false => carriers(variable, name).len(),
    };
    if is_real {
        unmount_inside(&path);
    }
    let remove = || (kind.release)(name).and_then(|()| empty(&path, kind));
    let stays = is_real.then(|| remove().err()).flatten().map(|error| error.to_string());
    Some(Swept { path, run_id, processes, stays })
}

/// Returns the id of the run that created the directory; `None` while its owner is alive.
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

/// Removes the files of a private directory, the marker last, and the directory. Returns an error
/// with the reason if other files are in it.
fn empty(path: &Path, kind: &HomeKind) -> io::Result<()> {
    let text = |error: io::Error| io::Error::other(format!("{}: {error}", path.display()));
    let mut foreign = Vec::new();
    for entry in fs::read_dir(path).map_err(text)?.flatten() {
        let found = entry.file_type().map_err(text)?;
        let name = entry.file_name();
        let is_own = name.to_str().is_some_and(kind.is_own);
        if found.is_socket() || (found.is_file() && is_own) {
            fs::remove_file(entry.path()).map_err(text)?;
        } else if found.is_dir() && is_own && kind.guests == Guests::Pass {
            fs::remove_dir_all(entry.path()).map_err(text)?;
        } else if found.is_dir() && is_own {
            // A mount point. `remove_dir` fails if a file system is still mounted there, so no
            // mounted file is removed.
            fs::remove_dir(entry.path()).map_err(text)?;
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

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    static KIND: HomeKind = HomeKind {
        prefix: "tilemark-home-test-",
        variable: "TILEMARK_HOME_TEST",
        is_own: |name| name.ends_with(".said"),
        guests: Guests::None,
        release: |_| Ok(()),
    };

    #[test]
    fn directories_of_guests_are_removed_with_their_home() {
        static OPEN: HomeKind = HomeKind {
            prefix: "tilemark-guests-test-",
            is_own: |name| name == "guest",
            guests: Guests::Pass,
            ..KIND
        };
        let home = Home::make(&OPEN, "run-1").expect("made");
        let path = home.path().to_owned();
        let mode = fs::metadata(&path).expect("it is there").mode();
        assert_eq!(mode & 0o777 & !0o711, 0, "{mode:o}");
        fs::create_dir_all(path.join("guest/inner")).expect("made");
        fs::create_dir(path.join("foreign")).expect("made");
        drop(home);
        assert!(!path.join("guest").exists() && path.join("foreign").exists());
        fs::remove_dir_all(&path).expect("removed");
    }

    fn sleeper(name: &str) -> std::process::Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env(KIND.variable, name).stdin(Stdio::null());
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
            (Home::make(&KIND, "run-1").expect("made"), Home::make(&KIND, "run-2").expect("made"));
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
    fn a_mount_point_is_removed_and_never_what_is_in_it() {
        static KNOWN: HomeKind =
            HomeKind { prefix: "tilemark-mounts-test-", is_own: |name| name == "point", ..KIND };
        for is_empty in [true, false] {
            let home = Home::make(&KNOWN, "run-1").expect("made");
            let (path, inside) = (home.path().to_owned(), home.path().join("point/inside"));
            fs::create_dir_all(if is_empty { path.join("point") } else { inside.clone() })
                .expect("made");
            drop(home);
            assert_eq!((path.exists(), inside.exists()), (!is_empty, !is_empty));
            if !is_empty {
                fs::remove_dir_all(&path).expect("removed");
            }
        }
    }

    #[test]
    fn a_directory_of_a_live_run_is_not_swept() {
        let home = Home::make(&KIND, "run-1").expect("made");
        let mut own = sleeper(home.name());
        assert!(sweep(&KIND, true).iter().all(|found| found.path != home.path()));
        assert!(own.try_wait().expect("looked at").is_none());
        drop(home);
        own.wait().expect("ended");
    }

    #[test]
    fn sweep_finds_leftovers_of_killed_runs_and_spares_others() {
        let home = Home::make(&KIND, "killed").expect("made");
        let (path, name) = (home.path().to_owned(), home.name().to_owned());
        let mut own = sleeper(&name);
        // As if this process had been killed and its number were reused.
        let text = fs::read_to_string(path.join(MARKER)).expect("the marker");
        let at = text.find("\"start_ticks\": ").expect("its start") + 15;
        fs::write(path.join(MARKER), format!("{}1{}", &text[..at], &text[at..])).expect("written");
        fs::write(path.join("note"), "mine").expect("written");
        let of = |found: Vec<Swept>| found.into_iter().find(|own| own.path == path);
        let seen = of(sweep(&KIND, false)).expect("found");
        assert_eq!((seen.run_id.as_str(), seen.processes), ("killed", 1));
        assert!(own.try_wait().expect("looked at").is_none(), "looking ends nothing");
        let swept = of(sweep(&KIND, true)).expect("found");
        assert!(swept.stays.expect("something is in it").contains("note"));
        assert!(!own.wait().expect("ended").success());
        fs::remove_file(path.join("note")).expect("removed");
        assert_eq!(of(sweep(&KIND, true)).expect("found").stays, None);
        assert!(!path.exists());
        std::mem::forget(home);
    }
}
