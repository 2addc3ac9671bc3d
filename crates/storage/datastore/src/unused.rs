//! Check that a file or device that a caller has opened itself is not in use: the rules of a
//! datastore on use, for programs that serve an existing file or device without a datastore.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use crate::claim::lasting;
use crate::graph::{Graph, Relative};
use crate::openers::{self, Opener};
use crate::place::DeviceOrFile;
use crate::{Refusal, in_use, mounts};

/// Checks that the blocks of `file` are not in use by another name: no mount, no swap space, no
/// device above or beside it, no process that has a relative open for writing. Processes that have
/// `file` itself open are not checked, because locks on it do that. Readers are allowed. `path` is
/// for messages.
///
/// # Errors
/// The first rule that is broken, or that could not be checked. No rule has an override.
pub fn check_unused(path: &Path, file: impl AsFd) -> Result<(), Refusal> {
    // The opened object, whatever its path leads to by now.
    let link = PathBuf::from(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
    let target = DeviceOrFile::of(&link)
        .ok_or_else(|| Refusal::unreadable("look at", path, std::io::ErrorKind::NotFound))?;
    let graph = Graph::read();
    let relatives = graph.relatives(target);
    check_mounts(path, &relatives)?;
    let swapped = in_use::swapped(&relatives);
    if swapped.map_err(|error| Refusal::unreadable("read", "/proc/swaps", error))?.is_some() {
        return Err(Refusal::Swap { path: path.to_owned() });
    }
    if let Some((used, holder)) = in_use::holder(&relatives) {
        return Err(match target {
            DeviceOrFile::Device(_) => Refusal::Held { device: path.to_owned(), used, holder },
            DeviceOrFile::File(_) => {
                Refusal::FileInUse { path: path.to_owned(), user: format!("block device {holder}") }
            }
        });
    }
    if let Some(name) = graph.lies_on_unknown(&relatives) {
        return Err(Refusal::BackingUnknown { device: path.to_owned(), name: name.to_owned() });
    }
    check_writers(path, target, &relatives)
}

fn check_mounts(path: &Path, relatives: &[Relative]) -> Result<(), Refusal> {
    let all = mounts::all()
        .map_err(|error| Refusal::unreadable("read", "/proc/self/mountinfo", error))?;
    match in_use::mounted(relatives, &all) {
        Some((used, mount_point, pid)) => {
            Err(Refusal::Mounted { device: path.to_owned(), used, mount_point, pid })
        }
        None => Ok(()),
    }
}

/// Checks that no process, this one included, has a relative open for writing. It could be another
/// server that uses the same unit by another path, or the file below a loop device.
fn check_writers(path: &Path, target: DeviceOrFile, relatives: &[Relative]) -> Result<(), Refusal> {
    let places: Vec<DeviceOrFile> =
        relatives.iter().map(|relative| relative.place).filter(|place| *place != target).collect();
    // Most files have no relatives, and looking at what all processes have open takes time.
    if places.is_empty() {
        return Ok(());
    }
    let writer = || {
        let others =
            openers::of(&places).found.into_iter().chain(openers::of_this_process(&places));
        others.into_iter().find(|opener| opener.writes)
    };
    match lasting(writer) {
        Some(Opener { place, process, writes }) => Err(Refusal::OpenElsewhere {
            device: path.to_owned(),
            used: in_use::member(relatives, place).map_or_else(String::new, |it| it.name.clone()),
            process,
            writes,
        }),
        None => Ok(()),
    }
}
