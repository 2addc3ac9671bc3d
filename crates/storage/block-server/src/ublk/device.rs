use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nbd::Export;
use rustix::io::Errno;

use super::abi::{self, Descriptor};
use super::control::Control;
use super::table::Table;

/// Maximum wait for a device number while the kernel still removes its former device or server. Our
/// choice.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Reason why a disk cannot be given to this host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this kernel has no /dev/ublk-control")]
    Missing,
    #[error("/dev/ublk-control: {0}")]
    Forbidden(io::Error),
    #[error("this kernel's ublk_drv is too old")]
    Old,
    #[error("it belongs to another server or disk")]
    Foreign,
    #[error("it belongs to a server that is still running")]
    InUse,
    #[error("it was left by this disk when the disk had another size or other features")]
    Changed,
    #[error("cannot {what}: {source}")]
    Kernel { what: &'static str, source: io::Error },
}

impl Refusal {
    /// Returns a hint on how to solve the problem, if there is one.
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Missing => {
                "run `modprobe ublk_drv`; Linux has this module if it was built with BLK_DEV_UBLK. \
                Without it, use the disk over NBD"
            }
            Self::Forbidden(_) => "run as root or with CAP_SYS_ADMIN",
            Self::Old => "Linux 6.9 or newer is needed; use the disk over NBD",
            Self::Foreign => "choose another number",
            Self::InUse => "end that server, or choose another number",
            Self::Changed => {
                "restore the disk's size and features, stop the server cleanly while the device is \
                unused, and start it again"
            }
            Self::Kernel { .. } => return None,
        })
    }
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Refusal {
    move |source| Refusal::Kernel { what, source }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// Device that was created or taken over, and is not served by a ring yet.
#[derive(Debug)]
pub(crate) struct Device {
    pub number: u32,
    pub file: Arc<OwnedFd>,
    table: Table,
    /// True if an earlier server left the device: that server was killed, or it stopped while the
    /// device was in use.
    was_left: bool,
    /// True once a ring serves the device.
    is_begun: bool,
}

impl Device {
    /// Creates the device of this number for a disk of this owner. If an earlier server left the
    /// device, takes it over.
    pub fn open(number: u32, owner: &str, export: &Export) -> Result<Self, Refusal> {
        let mut control = Control::open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refusal::Missing,
            io::ErrorKind::PermissionDenied => Refusal::Forbidden(error),
            _ if is(&error, Errno::NODEV) || is(&error, Errno::NXIO) => Refusal::Missing,
            _ => failed("open /dev/ublk-control")(error),
        })?;
        // Kernels before 6.5 cannot list features. No feature tells of the asynchronous `DELETE`, so the release is read, too.
        let features =
            control.call(abi::GET_FEATURES, 0, 0, vec![0; 8]).map_err(|_| Refusal::Old)?;
        let features = u64::from_ne_bytes(features.try_into().expect("eight bytes"));
        let release = rustix::system::uname();
        if features & abi::FEATURES != abi::FEATURES
            || !is_new(&release.release().to_string_lossy())
        {
            return Err(Refusal::Old);
        }
        let was_left = claim(&mut control, number, mark(owner, export.name()), export)?;
        Self::attach(number, was_left).map_err(|source| {
            if !was_left {
                let _ = control.call(abi::DELETE, number, 0, Vec::new());
            }
            failed("open its /dev/ublkc")(source)
        })
    }

    fn attach(number: u32, was_left: bool) -> io::Result<Self> {
        let path = format!("/dev/ublkc{number}");
        let file = OwnedFd::from(std::fs::File::options().read(true).write(true).open(path)?);
        let table = Table::of(&file)?;
        Ok(Self { number, file: Arc::new(file), table, was_left, is_begun: false })
    }

    pub(super) fn descriptor(&self, tag: u16) -> Descriptor {
        self.table.get(tag)
    }

    /// Reads the data of a write request from the kernel.
    pub fn take(&self, tag: u16, mut bytes: &mut [u8]) -> io::Result<()> {
        let mut offset = abi::data_offset(tag);
        while !bytes.is_empty() {
            let taken = rustix::io::pread(&self.file, &mut *bytes, offset)?;
            if taken == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            (bytes, offset) = (&mut bytes[taken..], offset + taken as u64);
        }
        Ok(())
    }

    /// Writes the data of a read request to the kernel. All bytes must be given: pages that are not
    /// filled would show old kernel memory to the reader.
    pub fn give(&self, tag: u16, mut bytes: &[u8]) -> io::Result<()> {
        let mut offset = abi::data_offset(tag);
        while !bytes.is_empty() {
            let given = rustix::io::pwrite(&self.file, bytes, offset)?;
            if given == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            (bytes, offset) = (&bytes[given..], offset + given as u64);
        }
        Ok(())
    }

    /// Returns the task that makes the kernel show `/dev/ublkbN`, or resume the device. The
    /// commands of all tags must be in the ring before. The task needs a thread of its own: the
    /// kernel reads the partition table through the ring before it completes.
    pub fn begin(&mut self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        self.is_begun = true;
        let command = if self.was_left { abi::END_RECOVERY } else { abi::START };
        let number = self.number;
        move || {
            Control::open()?.call(command, number, std::process::id().into(), Vec::new()).map(drop)
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.is_begun && !self.was_left {
            // The kernel has not shown the device yet, so nobody can have it open.
            let _ = delete(self.number);
        }
    }
}

/// Stops a device and removes it.
pub(super) fn delete(number: u32) -> io::Result<()> {
    Control::open()?.call(abi::DELETE, number, 0, Vec::new()).map(drop)
}

/// Creates the device of this number, or takes it over. Returns true if an earlier server left the
/// device.
fn claim(control: &mut Control, number: u32, mark: u64, export: &Export) -> Result<bool, Refusal> {
    let until = Instant::now() + PATIENCE;
    loop {
        match control.call(abi::GET_INFO, number, 0, vec![0; abi::INFO]) {
            Err(error) if is(&error, Errno::NODEV) => {
                match control.call(abi::ADD, number, 0, abi::info(number, mark)) {
                    Ok(_) => return describe(control, number, export).map(|()| false),
                    // The last user of a removed device with this number still has it open.
                    Err(error) if is(&error, Errno::EXIST) => {}
                    Err(error) => return Err(failed("add a device")(error)),
                }
            }
            Err(error) => return Err(failed("query the state of")(error)),
            Ok(info) => match abi::state_and_mark(&info) {
                (_, seen) if seen != mark => return Err(Refusal::Foreign),
                (abi::QUIESCED, _) => {
                    is_as_it_was(control, number, export)?;
                    match control.call(abi::START_RECOVERY, number, 0, Vec::new()) {
                        Ok(_) => return Ok(true),
                        // The kernel has not finished with the killed process.
                        Err(error) if is(&error, Errno::BUSY) => {}
                        Err(error) => return Err(failed("take it over")(error)),
                    }
                }
                // Its server was killed before the kernel showed the device, so no request is lost.
                (abi::DEAD, _) => {
                    let deleted = control.call(abi::DELETE, number, 0, Vec::new());
                    deleted.map_err(failed("remove the rest of"))?;
                }
                // The device is live: its server may have been killed just now, and the kernel has not noticed.
                _ => {}
            },
        }
        if Instant::now() > until {
            return Err(Refusal::InUse);
        }
        sleep(LOOK_AGAIN);
    }
}

/// Returns true if the release is Linux 6.9 or newer.
fn is_new(release: &str) -> bool {
    let numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    numbers.take(2).collect::<Vec<_>>() >= vec![6, 9]
}

fn describe(control: &mut Control, number: u32, export: &Export) -> Result<(), Refusal> {
    let set = control.call(abi::SET_PARAMS, number, 0, abi::params(export));
    set.map(drop).map_err(|error| {
        let _ = control.call(abi::DELETE, number, 0, Vec::new());
        failed("describe the disk")(error)
    })
}

fn is_as_it_was(control: &mut Control, number: u32, export: &Export) -> Result<(), Refusal> {
    let wanted = abi::params(export);
    let seen = control.call(abi::GET_PARAMS, number, 0, wanted.clone());
    let seen = seen.map_err(failed("query the parameters of"))?;
    // The first 8 bytes are the length and the set of parts, which the kernel may fill in differently.
    if seen[8..] == wanted[8..] { Ok(()) } else { Err(Refusal::Changed) }
}

/// Returns the mark of a disk: FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv) of owner and
/// name. Kernels keep marks over updates of this program, so the function must not change.
fn mark(owner: &str, disk: &str) -> u64 {
    let words = ["tilemark", owner, disk].join("\0");
    words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns true if the device is mounted, is used by another device above it, or is open.
/// Partitions count as the device.
pub(super) fn is_used(number: u32) -> bool {
    let path = format!("/dev/ublkb{number}");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    if let Err(errno) = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()) {
        // A device that does not exist has no users.
        return ![Errno::NOENT, Errno::NXIO, Errno::NODEV].contains(&errno);
    }
    let is_it = |link: &Path| {
        let rest = link.to_str().and_then(|link| link.strip_prefix(path.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('p'))
    };
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    let files =
        processes.flatten().filter_map(|process| std::fs::read_dir(process.path().join("fd")).ok());
    files
        .flatten()
        .flatten()
        .any(|file| std::fs::read_link(file.path()).is_ok_and(|link| is_it(&link)))
}

#[cfg(test)]
mod tests {
    use super::{is_new, mark};

    #[test]
    fn kernels_from_6_9_on_are_new() {
        let releases = [
            "6.1.0-50-cloud-amd64",
            "6.8.12-4-pve",
            "5.15.0",
            "",
            "6.9.0",
            "6.12.95+deb12",
            "7.0-rc1",
        ];
        assert_eq!(releases.map(is_new), [false, false, false, false, true, true, true]);
    }

    #[test]
    fn a_mark_tells_owners_and_disks_apart() {
        let marks =
            [mark("/fast/tier", "vm1"), mark("/fast/tier", "vm2"), mark("/fast/other", "vm1")];
        assert_eq!(
            marks[0], 0x548c_922d_d340_e5c4,
            "kept by kernels over versions of this program"
        );
        assert!(marks[0] != marks[1] && marks[0] != marks[2] && marks[1] != marks[2]);
    }
}
