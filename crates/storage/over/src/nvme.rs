//! Objects of the kernel's NVMe target and initiator that belong to one session: their names,
//! creation, state and removal.
//!
//! The kernel keeps these objects when the process that made them ends. So all of them carry the
//! digits of the session's private directory in their names, and are found again by these digits.
//! Objects with other names are neither changed nor removed.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::fs::{major, minor};

use crate::error::OverError;
use crate::kernel::{Failed, in_network};
use crate::network::ADDRESS;
use crate::set_up::{KernelPart, ServedFile};

/// Name of the target's module.
pub(crate) const TARGET: &str = "nvmet-tcp";
/// Device that takes orders to connect.
pub(crate) const FABRICS: &str = "/dev/nvme-fabrics";
/// Part of a private directory's name before its digits.
const HOME: &str = "tilemark-over-";
/// Maximum number of namespaces of one subsystem. The kernel's target allows 1,024.
const NAMESPACES_MAX: usize = 1000;
/// Maximum time for an orderly disconnect. Afterwards the target closes the connections.
const DISCONNECT_MAX: Duration = Duration::from_secs(5);
/// Maximum time until controllers are gone whose connections are closed. The kernel waits up to 30
/// s for a command (`nvme_core.io_timeout`), and for commands of the administration 60 s.
const REMOVE_MAX: Duration = Duration::from_secs(90);
/// Maximum time until the target listens.
const LISTEN_MAX: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(5);

/// Directories in which the kernel shows its NVMe objects.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    target: PathBuf,
    controllers: PathBuf,
    blocks: PathBuf,
    devices: PathBuf,
}

impl Kernel {
    /// Returns the directories of this host.
    pub fn of_host() -> Self {
        Self {
            target: "/sys/kernel/config/nvmet".into(),
            controllers: "/sys/class/nvme".into(),
            blocks: "/sys/class/block".into(),
            devices: "/dev".into(),
        }
    }

    /// Returns true if the target can be configured.
    pub fn has_target(&self) -> bool {
        self.target.join("subsystems").is_dir()
    }
}

/// Names of a session's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// Beginning of the subsystems' names (NQN); a number follows.
    base: String,
    /// Number of the target's port, and its TCP port.
    port: u16,
}

impl Names {
    /// Returns the names for a private directory; `None` if it does not belong to a session.
    pub fn of(home: &str) -> Option<Self> {
        let digits = home.strip_prefix(HOME)?;
        let first = u16::from_str_radix(digits.get(..4)?, 16).ok()?;
        // Above the ports of services, and a number that others, who count from 1, do not use.
        let port = 0x8000 | first;
        Some(Self { base: format!("nqn.2026-11.tilemark:over-{digits}-"), port })
    }

    fn subsystem(&self, number: usize) -> String {
        format!("{}{number}", self.base)
    }

    fn is_own(&self, nqn: &str) -> bool {
        nqn.strip_prefix(&self.base).is_some_and(|number| number.parse::<u32>().is_ok())
    }
}

fn failed(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Failed + use<> {
    let object = path.display().to_string();
    move |error| (attempt, object, error)
}

/// Target and controllers of a session.
#[derive(Debug)]
pub(crate) struct Attached {
    kernel: Kernel,
    names: Names,
    /// Controllers: name of the subsystem, and the kernel's number of the controller.
    controllers: Vec<(String, u32)>,
}

impl Attached {
    /// Creates no object yet.
    pub fn new(kernel: Kernel, names: Names) -> Self {
        Self { kernel, names, controllers: Vec::new() }
    }

    /// Serves these files from the network namespace `network`.
    pub fn serve(&self, files: &[ServedFile], network: &Path) -> Result<(), Failed> {
        let port = self.make_port()?;
        for (nth, files) in files.chunks(NAMESPACES_MAX).enumerate() {
            let name = self.names.subsystem(nth + 1);
            let subsystem = self.kernel.target.join("subsystems").join(&name);
            fs::create_dir(&subsystem).map_err(failed("make", &subsystem))?;
            // The port is in the private network, so no other host can connect.
            set(&subsystem.join("attr_allow_any_host"), "1")?;
            for (number, file) in (1..).zip(files) {
                make_namespace(&subsystem, number, file)?;
            }
            // The first link makes the port listen, in the network of the thread that links.
            let link = port.join("subsystems").join(&name);
            let failed = failed("link", &link);
            let work = move || std::os::unix::fs::symlink(subsystem, link);
            in_network(network, LISTEN_MAX, work).map_err(failed)?;
        }
        Ok(())
    }

    fn make_port(&self) -> Result<PathBuf, Failed> {
        let number = self.names.port.to_string();
        let port = self.kernel.target.join("ports").join(&number);
        fs::create_dir(&port).map_err(failed("make", &port))?;
        set(&port.join("addr_trtype"), "tcp")?;
        set(&port.join("addr_adrfam"), "ipv4")?;
        set(&port.join("addr_traddr"), ADDRESS)?;
        set(&port.join("addr_trsvcid"), &number)?;
        Ok(port)
    }

    /// Connects to the subsystems from the network namespace `network`.
    ///
    /// `ctrl_loss_tmo=0` removes a controller when its connection is lost, which fails its I/O.
    /// By the kernel's default it would hold the I/O back and reconnect for 600 s. A reconnect
    /// would also be made by a kernel thread, which is in the host's network and not in this one.
    /// `fast_io_fail_tmo` fails I/O earlier than that, and so has no use here. A silent loss is
    /// noticed by `keep_alive_tmo`; 5 s are the kernel's default.
    pub fn connect(&mut self, network: &Path, within: Duration) -> Result<(), Failed> {
        let port = self.names.port;
        for nqn in self.names_in("subsystems").map_err(failed("list", &self.kernel.target))? {
            let options = format!(
                "transport=tcp,traddr={ADDRESS},trsvcid={port},nqn={nqn},ctrl_loss_tmo=0,\
                 keep_alive_tmo=5"
            );
            let number = in_network(network, within, move || connect(&options));
            let number = number.map_err(failed("connect by", Path::new(FABRICS)))?;
            self.controllers.push((nqn, number));
        }
        Ok(())
    }

    /// Waits until every file has its block device, and returns the devices in the files' order.
    pub fn devices(&self, files: &[ServedFile], within: Duration) -> Result<Vec<PathBuf>, Failed> {
        let until = Instant::now() + within;
        loop {
            let found = self.found_devices().map_err(failed("list", &self.kernel.blocks))?;
            let one = |(nth, file): (usize, &ServedFile)| {
                let (subsystem, number) = (nth / NAMESPACES_MAX + 1, nth % NAMESPACES_MAX + 1);
                let name = found.get(&(self.names.subsystem(subsystem), number));
                name.and_then(|name| self.usable_device(name, file))
            };
            let devices: Option<Vec<PathBuf>> = files.iter().enumerate().map(one).collect();
            if let Some(devices) = devices {
                return Ok(devices);
            }
            if Instant::now() >= until {
                let text = "not every disk got a block device of its size in time";
                let error = io::Error::new(io::ErrorKind::TimedOut, text);
                return Err(failed("find", &self.kernel.blocks)(error));
            }
            std::thread::sleep(TICK);
        }
    }

    /// Returns the names of this session's block devices by subsystem and namespace.
    fn found_devices(&self) -> io::Result<BTreeMap<(String, usize), String>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&self.kernel.blocks)? {
            let path = entry?.path();
            let (Some(nqn), Some(number), Some(name)) = (
                read(&path.join("device/subsysnqn")),
                read(&path.join("nsid")).and_then(|own| own.parse().ok()),
                path.file_name().and_then(|name| name.to_str()),
            ) else {
                continue;
            };
            // The hidden device of a path has no number, and cannot be opened.
            if self.names.is_own(&nqn) && path.join("dev").exists() {
                found.insert((nqn, number), name.to_owned());
            }
        }
        Ok(found)
    }

    /// Returns the path of a device if it is the kernel's device of this name, and has the size of
    /// the file.
    fn usable_device(&self, name: &str, file: &ServedFile) -> Option<PathBuf> {
        let (path, shown) = (self.kernel.devices.join(name), self.kernel.blocks.join(name));
        let found = fs::symlink_metadata(&path).ok()?;
        let number = format!("{}:{}", major(found.rdev()), minor(found.rdev()));
        let sectors: u64 = read(&shown.join("size"))?.parse().ok()?;
        let is_it = found.file_type().is_block_device()
            && read(&shown.join("dev"))? == number
            && sectors.checked_mul(512)? == fs::metadata(&file.path).ok()?.len();
        is_it.then_some(path)
    }

    /// Returns the first controller that is not connected any more, and its state.
    fn lost(&self) -> Option<(String, String)> {
        self.controllers.iter().find_map(|(nqn, number)| {
            let name = format!("nvme{number}");
            let shown = self.kernel.controllers.join(&name);
            let is_own = read(&shown.join("subsysnqn")).as_ref() == Some(nqn);
            let state = is_own.then(|| read(&shown.join("state"))).flatten();
            match state {
                Some(state) if state == "live" => None,
                Some(state) => Some((name, state)),
                None => Some((name, "removed".to_owned())),
            }
        })
    }

    fn own_controllers(&self) -> io::Result<Vec<PathBuf>> {
        let nqn = |path: &PathBuf| read(&path.join("subsysnqn"));
        let mut own = paths(&self.kernel.controllers)?;
        own.retain(|path| nqn(path).is_some_and(|nqn| self.names.is_own(&nqn)));
        Ok(own)
    }

    /// Removes the session's subsystems from all ports.
    fn unlink(&self) -> io::Result<()> {
        for port in paths(&self.kernel.target.join("ports"))? {
            for link in paths(&port.join("subsystems"))? {
                if self.is_own_path(&link) {
                    fs::remove_file(link)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the session's port, unless it turned out to be another's: it has another address, or
    /// serves a subsystem.
    fn remove_port(&self) -> io::Result<()> {
        let port = self.kernel.target.join("ports").join(self.names.port.to_string());
        let is_own = read(&port.join("addr_traddr")).is_some_and(|address| address == ADDRESS);
        if is_own && paths(&port.join("subsystems"))?.is_empty() {
            fs::remove_dir(port)?;
        }
        Ok(())
    }

    fn names_in(&self, directory: &str) -> io::Result<Vec<String>> {
        let own = paths(&self.kernel.target.join(directory))?;
        let own = own.iter().filter(|path| self.is_own_path(path));
        Ok(own.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect())
    }

    fn is_own_path(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| self.names.is_own(name))
    }
}

impl KernelPart for Attached {
    fn check(&self) -> Result<(), OverError> {
        let lost = |(controller, state)| OverError::Lost { target: TARGET, controller, state };
        self.lost().map(lost).map_or(Ok(()), Err)
    }

    /// Makes the target close all connections.
    fn fail_open_io(&self) {
        // The removal after the load tries it again, and reports an error.
        let _ = self.unlink();
    }

    /// Disconnects, and removes all objects of the session. Does nothing if there are none.
    fn remove(&self) -> io::Result<()> {
        let own = self.own_controllers()?;
        let (done, deleted) = mpsc::channel();
        let (all, names) = (own.clone(), self.names.clone());
        std::thread::spawn(move || {
            // The kernel may remove a controller meanwhile, and give its number to another's.
            let is_own = |path: &&PathBuf| {
                read(&path.join("subsysnqn")).is_some_and(|nqn| names.is_own(&nqn))
            };
            for path in all.iter().filter(is_own) {
                let _ = set(&path.join("delete_controller"), "1");
            }
            let _ = done.send(());
        });
        let is_orderly = own.is_empty() || deleted.recv_timeout(DISCONNECT_MAX).is_ok();
        self.unlink()?;
        if !is_orderly && deleted.recv_timeout(REMOVE_MAX).is_err() {
            let text = format!("{} does not disconnect", own[0].display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        for nqn in self.names_in("subsystems")? {
            let subsystem = self.kernel.target.join("subsystems").join(nqn);
            for namespace in paths(&subsystem.join("namespaces"))? {
                fs::remove_dir(namespace)?;
            }
            fs::remove_dir(&subsystem)?;
        }
        self.remove_port()
    }
}

/// Removes the objects that a session left behind. Its private directory has the name `home`.
///
/// # Errors
///
/// If an object cannot be removed.
pub(crate) fn release(home: &str) -> io::Result<()> {
    Names::of(home).map_or(Ok(()), |names| Attached::new(Kernel::of_host(), names).remove())
}

fn make_namespace(subsystem: &Path, number: usize, file: &ServedFile) -> Result<(), Failed> {
    let namespace = subsystem.join("namespaces").join(number.to_string());
    fs::create_dir(&namespace).map_err(failed("make", &namespace))?;
    set(&namespace.join("device_path"), &file.path.display().to_string())?;
    set(&namespace.join("buffered_io"), if file.direct { "0" } else { "1" })?;
    let enabled = set(&namespace.join("enable"), "1");
    // The kernel opens the file at this moment.
    enabled.map_err(|(_, _, error)| ("serve", file.path.display().to_string(), error))
}

/// Sets an attribute of an object. The kernel takes the value of one write.
fn set(path: &Path, value: &str) -> Result<(), Failed> {
    let written = OpenOptions::new().write(true).open(path);
    written.and_then(|mut file| file.write_all(value.as_bytes())).map_err(failed("set", path))
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

/// Returns the entries of a directory; none if it does not exist.
fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| entry.map(|own| own.path())).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Connects a controller, and returns the kernel's number of it.
fn connect(options: &str) -> io::Result<u32> {
    let mut file = OpenOptions::new().read(true).write(true).open(FABRICS)?;
    file.write_all(options.as_bytes())?;
    // The answer is "instance=0,cntlid=1".
    let mut answer = [0; 128];
    let length = file.read(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer[..length]);
    let number = answer.split([',', '\n']).find_map(|part| part.strip_prefix("instance="));
    let unknown = || io::Error::other(format!("the kernel answered \"{}\"", answer.trim()));
    number.and_then(|number| number.parse().ok()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests;
