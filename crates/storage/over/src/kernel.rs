//! Servers and initiators that are parts of the kernel: their modules, and work in its name.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use process_home::Phase;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::OverError;
use crate::process::run;
use crate::program::Needed;
use crate::protocol::Checked;

/// Attempt that failed, the object on which it was made, and the system's error.
pub(crate) type Failed = (&'static str, String, io::Error);

impl From<Failed> for OverError {
    fn from((attempt, object, source): Failed) -> Self {
        Self::Io { attempt, object, source }
    }
}

/// Returns the version of the running kernel.
pub(crate) fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Checks that the running kernel has the modules, and adds to `checked` those that must be loaded,
/// and the program for it.
pub(crate) fn find_modules(
    protocol: &'static str,
    modules: &[&'static str],
    checked: &mut Checked,
) -> Result<(), OverError> {
    for &module in modules.iter().filter(|module| !is_loaded(module)) {
        match Lists::of(&release()).state(module) {
            State::BuiltIn => {}
            State::Module => checked.loads.push(module),
            State::Missing => return Err(missing(protocol, module, &release())),
        }
    }
    if !checked.loads.is_empty() {
        checked.modprobe = Some(Needed { name: "modprobe", package: "kmod" }.find(protocol)?);
    }
    Ok(())
}

/// Loads the modules that were not loaded when the protocol was checked.
pub(crate) fn load_modules(checked: &Checked) -> Result<(), OverError> {
    let Some(modprobe) = &checked.modprobe else { return Ok(()) };
    for module in &checked.loads {
        run(modprobe, Phase::Start, Command::new(&modprobe.path).arg(module))?;
    }
    Ok(())
}

fn missing(protocol: &'static str, module: &str, release: &str) -> OverError {
    OverError::Kernel {
        protocol,
        part: format!("the module {module}, which this kernel ({release}) does not have"),
        hint: "use a kernel with it, such as Debian's linux-image-amd64, or --over nbd",
    }
}

/// The kernel shows a loaded module by its name with `_` for `-`.
fn is_loaded(module: &str) -> bool {
    Path::new("/sys/module").join(module.replace('-', "_")).is_dir()
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    BuiltIn,
    Module,
    Missing,
}

/// Lists of a kernel's parts.
struct Lists {
    modules: String,
    built_in: String,
}

impl Lists {
    fn of(release: &str) -> Self {
        let directory = Path::new("/lib/modules").join(release);
        let list = |name| fs::read_to_string(directory.join(name)).unwrap_or_default();
        Self { modules: list("modules.dep"), built_in: list("modules.builtin") }
    }

    fn state(&self, module: &str) -> State {
        if lists(&self.built_in, module) {
            State::BuiltIn
        } else if lists(&self.modules, module) {
            State::Module
        } else {
            State::Missing
        }
    }
}

/// Returns true if a kernel's list has the module. Each line begins with the path of a module, before
/// a colon if more follows (modules.dep(5)).
fn lists(list: &str, module: &str) -> bool {
    let files = list.lines().filter_map(|line| line.split(':').next()?.rsplit('/').next());
    let mut names = files.filter_map(|file| file.split_once(".ko").map(|(name, _)| name));
    names.any(|name| name.replace('_', "-") == module)
}

/// Runs `work` in a thread, in the network namespace of a file. The thread keeps running if it does
/// not end in time: a call that waits in the kernel cannot be ended.
pub(crate) fn in_network<T: Send + 'static>(
    network: &Path,
    within: Duration,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, ended) = mpsc::channel();
    let network: PathBuf = network.to_owned();
    std::thread::spawn(move || {
        let entered = File::open(network).and_then(|network| {
            Ok(move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?)
        });
        let _ = done.send(entered.and_then(|()| work()));
    });
    let late = || io::Error::new(io::ErrorKind::TimedOut, format!("not done in {within:?}"));
    ended.recv_timeout(within).unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_in_the_lists_of_a_kernel() {
        let lists = Lists {
            modules: "kernel/nvme/host/nvme-tcp.ko: kernel/nvme/host/nvme-fabrics.ko\n\
                      kernel/nvme/target/nvmet_tcp.ko.xz:\n"
                .to_owned(),
            built_in: "kernel/fs/nfs/nfsv4.ko\n".to_owned(),
        };
        for (module, state) in [
            ("nvme-tcp", State::Module),
            ("nvmet-tcp", State::Module),
            ("nfsv4", State::BuiltIn),
            ("nvme-fabrics", State::Missing),
        ] {
            assert_eq!(lists.state(module), state, "{module}");
        }
    }

    #[test]
    fn missing_module_is_named_with_the_kernel() {
        assert_eq!(Lists::of("0.0-none").state("nvmet-tcp"), State::Missing);
        let error = missing("nvme-tcp", "nvmet-tcp", "0.0-none");
        let text = "--over nvme-tcp needs the module nvmet-tcp, which this kernel (0.0-none) does \
                    not have";
        assert_eq!(error.to_string(), text);
        assert!(error.hint().is_some_and(|hint| hint.contains("linux-image")));
    }
}
