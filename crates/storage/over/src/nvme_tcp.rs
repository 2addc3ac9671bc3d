//! NVMe over TCP: target and initiator of the kernel, in a private network.

use std::fs;
use std::path::Path;

use process_home::Home;

use crate::error::OverError;
use crate::kernel::{find_modules, load_modules, release};
use crate::network::{Network, Tools};
use crate::nvme::{Attached, FABRICS, Kernel, Names, TARGET};
use crate::process::READY_MAX;
use crate::program::Program;
use crate::protocol::{Checked, Protocol, ProtocolFacts, require_root};
use crate::set_up::{Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "nvme-tcp",
    initiator: "nvme-tcp of the kernel",
    hop: "a block device of the kernel's NVMe initiator, and TCP to the kernel's target",
    network: "a private network namespace",
    // The target shows blocks of the file system, of at most 4 KiB.
    sector: 4096,
    server_cache: "",
};

const INITIATOR: &str = "nvme-tcp";

/// NVMe over TCP: the kernel is the server and the initiator.
#[derive(Debug)]
pub(crate) struct NvmeTcp;

impl Protocol for NvmeTcp {
    fn facts(&self) -> &'static ProtocolFacts {
        &FACTS
    }

    fn programs(&self) -> Result<Checked, OverError> {
        let why = "the kernel's target and initiator are set up by root";
        require_root(FACTS.word, why)?;
        let part = |name| Program { name, path: "/sys/module".into(), version: release() };
        let mut checked = Checked::of(FACTS.word, part(TARGET))?;
        find_modules(FACTS.word, &[TARGET, INITIATOR], &mut checked)?;
        if !has_configfs() {
            let part = "the kernel's configfs at /sys/kernel/config, which is not mounted".into();
            let hint = "mount it: mount -t configfs configfs /sys/kernel/config";
            return Err(OverError::Kernel { protocol: FACTS.word, part, hint });
        }
        Ok(Checked {
            initiator: Some(part(INITIATOR)),
            tools: Some(Tools::find(FACTS.word)?),
            ..checked
        })
    }

    fn set_up(
        &self,
        checked: &Checked,
        home: &Home,
        files: &[ServedFile],
        up: &mut SetUp,
    ) -> Result<(), OverError> {
        let Some(tools) = &checked.tools else {
            unreachable!("the protocol's check found the programs");
        };
        files.iter().try_for_each(check_path)?;
        load_modules(checked)?;
        check_kernel()?;
        let network = Network::make(home, &checked.setpriv, tools, checked.mtu)?;
        let (servers, initiators) = (network.server_namespace(), network.initiator_namespace());
        up.network = Some(network);
        let names = Names::of(home.name()).expect("the directory's kind has this prefix");
        let mut kernel = Box::new(Attached::new(Kernel::of_host(), names));
        let devices = kernel
            .serve(files, &servers)
            .and_then(|()| kernel.connect(&initiators, READY_MAX))
            .and_then(|()| kernel.devices(files, READY_MAX));
        up.kernel = Some(kernel);
        let devices = devices?;
        up.reached = Some(Reached::Files(devices));
        Ok(())
    }
}

/// Returns true if configfs is mounted at its place.
fn has_configfs() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|line| {
        line.split(' ').nth(4) == Some("/sys/kernel/config") && line.contains(" - configfs ")
    })
}

/// Checks that the path can be an attribute's value, which the kernel cuts at a line end.
fn check_path(file: &ServedFile) -> Result<(), OverError> {
    if file.path.to_str().is_some_and(|path| !path.contains('\n')) {
        return Ok(());
    }
    let (program, path) = (TARGET, file.path.display().to_string());
    Err(OverError::Path { program, path, why: "a line end is in its path, or it is no text" })
}

/// Checks that the modules made what the set-up needs.
fn check_kernel() -> Result<(), OverError> {
    let missing = |part: &str| {
        let hint = "see the kernel's log (dmesg)";
        Err(OverError::Kernel { protocol: FACTS.word, part: part.to_owned(), hint })
    };
    if !Kernel::of_host().has_target() {
        return missing("/sys/kernel/config/nvmet, which the module nvmet did not make");
    }
    if !Path::new(FABRICS).exists() {
        return missing("/dev/nvme-fabrics, which the module nvme-fabrics did not make");
    }
    Ok(())
}
