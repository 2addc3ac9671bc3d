//! Processes that have a device or file open, found in `/proc`.
//!
//! Exclusive use is voluntary: a VM's disk, a database's raw volume or a user-space file system is
//! often opened without it. Other uses by a process are missed here: files that are mapped and
//! closed, handed to the kernel, or open in a PID namespace beside this process's.

use std::fs;
use std::path::Path;

use crate::place::DeviceOrFile;

/// Process that has one of the devices or files open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opener {
    pub place: DeviceOrFile,
    /// Process id and name: `4711 (qemu-kvm)`.
    pub process: String,
    /// True if the process may write.
    pub writes: bool,
}

/// Processes that have devices or files open, as far as this user may see.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Openers {
    pub found: Vec<Opener>,
    /// Number of processes whose open files may not be listed.
    pub unreadable: usize,
}

/// Searches the open files of every process except this one for these devices and files.
pub(crate) fn of(places: &[DeviceOrFile]) -> Openers {
    let own = std::process::id();
    let mut openers = Openers::default();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if pid.is_none_or(|pid| pid == own) {
            continue;
        }
        match of_process(&process.path(), places) {
            Ok(found) => openers.found.extend(found),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                openers.unreadable += 1;
            }
            // The process ended.
            Err(_) => {}
        }
    }
    openers
}

/// Searches the open files of this process for these devices and files.
pub(crate) fn of_this_process(places: &[DeviceOrFile]) -> Vec<Opener> {
    let process = Path::new("/proc").join(std::process::id().to_string());
    of_process(&process, places).unwrap_or_default()
}

fn of_process(process: &Path, places: &[DeviceOrFile]) -> std::io::Result<Vec<Opener>> {
    let files = fs::read_dir(process.join("fd"))?;
    Ok(files.flatten().filter_map(|file| opener(process, &file.path(), places)).collect())
}

fn opener(process: &Path, file: &Path, places: &[DeviceOrFile]) -> Option<Opener> {
    let place = DeviceOrFile::of(file).filter(|place| places.contains(place))?;
    let info = fs::read_to_string(process.join("fdinfo").join(file.file_name()?)).ok()?;
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = i32::from_str_radix(flags.trim(), 8).ok()?;
    if flags & libc::O_PATH != 0 {
        return None;
    }
    let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
    let pid = process.file_name()?.to_str()?;
    let process = format!("{pid} ({})", name.trim().escape_debug());
    Some(Opener { place, process, writes: flags & libc::O_ACCMODE != libc::O_RDONLY })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn openers_tell_writers_from_readers_and_omit_this_process() {
        let file = tempfile::NamedTempFile::new().expect("temporary file");
        let place = DeviceOrFile::of(file.path()).expect("a file");
        assert_eq!(of(&[place]).found, []);
        for (writes, stdio) in [
            (false, fs::File::open(file.path()).expect("open")),
            (true, fs::File::create(file.path()).expect("open")),
        ] {
            let mut child = Command::new("cat")
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(stdio)
                .spawn()
                .expect("started");
            let found = of(&[place]).found;
            drop(child.stdin.take());
            child.wait().expect("ended");
            let process = format!("{} (cat)", child.id());
            assert_eq!(found, [Opener { place, process, writes }]);
        }
    }
}
