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

/// How long a number is waited for whose server may be gone, or whose device is on its way out.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Why a disk cannot be given to this host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "this kernel has no /dev/ublk-control\n\
         hint: `modprobe ublk_drv`, which Linux has where it was built with BLK_DEV_UBLK; without it, use the \
         disk over NBD"
    )]
    Missing,
    #[error("/dev/ublk-control: {0}\nhint: root may use it, or who has CAP_SYS_ADMIN")]
    Forbidden(io::Error),
    #[error(
        "this kernel's ublk_drv is too old\nhint: Linux 6.9 or newer is needed; use the disk over NBD"
    )]
    Old,
    #[error("it is the device of another server or disk\nhint: choose another number")]
    Foreign,
    #[error("a server has it that has not ended\nhint: end it, or choose another number")]
    InUse,
    #[error(
        "it was left for this disk when that had another size or other abilities\n\
         hint: make the disk what it was, end the server in order when nobody uses the device, and start it again"
    )]
    Changed,
    #[error("cannot {what}: {source}")]
    Kernel { what: &'static str, source: io::Error },
}

fn failed(what: &'static str) -> impl Fn(io::Error) -> Refusal {
    move |source| Refusal::Kernel { what, source }
}

fn is(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

/// A device that is made, or taken over, and waits for a server's ring.
#[derive(Debug)]
pub(crate) struct Device {
    pub number: u32,
    pub file: Arc<OwnedFd>,
    table: Table,
    /// Whether a server left it that was killed, or that ended when it was in use.
    was_left: bool,
    /// Whether it was given to a ring.
    is_begun: bool,
}

impl Device {
    /// Makes a device of this number for a disk of this owner, or takes over what was left of it.
    pub fn open(number: u32, owner: &str, export: &Export) -> Result<Self, Refusal> {
        let mut control = Control::open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refusal::Missing,
            io::ErrorKind::PermissionDenied => Refusal::Forbidden(error),
            _ if is(&error, Errno::NODEV) || is(&error, Errno::NXIO) => Refusal::Missing,
            _ => failed("open /dev/ublk-control")(error),
        })?;
        // Kernels before 6.5 have no such question. Which have `DELETE`, no feature says.
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

    /// Takes the bytes that a write writes.
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

    /// Gives the bytes that a read wants, all of them: what is not filled would show the kernel's memory.
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

    /// Has the kernel show `/dev/ublkbN`, or go on with it: what it wants from then on is asked of the ring, which must have
    /// been given all tags. It is a task for a thread of its own, for the kernel reads the partition table meanwhile.
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
            // Nobody has seen it.
            let _ = delete(self.number);
        }
    }
}

/// Stops a device and removes it.
pub(super) fn delete(number: u32) -> io::Result<()> {
    Control::open()?.call(abi::DELETE, number, 0, Vec::new()).map(drop)
}

/// Makes the number this server's. Whether its device was left by another one.
fn claim(control: &mut Control, number: u32, mark: u64, export: &Export) -> Result<bool, Refusal> {
    let until = Instant::now() + PATIENCE;
    loop {
        match control.call(abi::GET_INFO, number, 0, vec![0; abi::INFO]) {
            Err(error) if is(&error, Errno::NODEV) => {
                match control.call(abi::ADD, number, 0, abi::info(number, mark)) {
                    Ok(_) => return describe(control, number, export).map(|()| false),
                    // Its last user has not let go of the one before.
                    Err(error) if is(&error, Errno::EXIST) => {}
                    Err(error) => return Err(failed("add a device")(error)),
                }
            }
            Err(error) => return Err(failed("ask what it is")(error)),
            Ok(info) => match abi::state_and_mark(&info) {
                (_, seen) if seen != mark => return Err(Refusal::Foreign),
                (abi::QUIESCED, _) => {
                    is_as_it_was(control, number, export)?;
                    match control.call(abi::START_RECOVERY, number, 0, Vec::new()) {
                        Ok(_) => return Ok(true),
                        // The kernel is not done with the process that was killed.
                        Err(error) if is(&error, Errno::BUSY) => {}
                        Err(error) => return Err(failed("take it over")(error)),
                    }
                }
                // A server was killed before anybody saw it.
                (abi::DEAD, _) => {
                    let deleted = control.call(abi::DELETE, number, 0, Vec::new());
                    deleted.map_err(failed("remove what was left of it"))?;
                }
                // A server that was killed is not gone at once.
                _ => {}
            },
        }
        if Instant::now() > until {
            return Err(Refusal::InUse);
        }
        sleep(LOOK_AGAIN);
    }
}

/// Whether Linux of this release is 6.9 or newer.
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
    let seen = seen.map_err(failed("ask what it is like"))?;
    // Before it stand their length and which there are.
    if seen[8..] == wanted[8..] { Ok(()) } else { Err(Refusal::Changed) }
}

/// The mark of an owner's disk: FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv), the same in every version of this program.
fn mark(owner: &str, disk: &str) -> u64 {
    let words = ["tilemark", owner, disk].join("\0");
    words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Whether somebody uses a device: has it mounted or below another one, or has it, or a part of it, open.
pub(super) fn is_used(number: u32) -> bool {
    let path = format!("/dev/ublkb{number}");
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    if let Err(errno) = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()) {
        // Nobody can have what is not there.
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
