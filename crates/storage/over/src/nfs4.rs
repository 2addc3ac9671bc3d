//! NFS 4.1: ganesha serves in a private network, the kernel's client mounts.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::{Home, Phase};
use rustix::mount::{MountFlags, UnmountFlags};

use crate::error::OverError;
use crate::ganesha::{self, directory_of};
use crate::kernel::{Failed, find_modules, in_network, load_modules, release};
use crate::network::{Network, SERVER, Tools};
use crate::process::READY_MAX;
use crate::program::Program;
use crate::protocol::{Checked, Protocol, ProtocolFacts, require_root};
use crate::session::MOUNT_POINT;
use crate::set_up::{KernelPart, Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "nfs4",
    initiator: "NFS 4.1 client of the kernel",
    hop: "a mount of the kernel's NFS client, and TCP to the server",
    network: "a private network namespace",
    sector: 512,
    server_cache: "the server reads and writes through its page cache, as an NFS server does",
};

/// Module of the client.
const CLIENT: &str = "nfsv4";
const PORT: u16 = 2049;
/// Options of the mount. With `soft`, I/O fails if the server does not answer for 15 s, and again
/// not for 30 s. Without it the client would wait for ever. The load is judged hung before that.
const OPTIONS: &std::ffi::CStr =
    c"vers=4.1,addr=10.9.9.1,clientaddr=10.9.9.1,proto=tcp,soft,timeo=150,retrans=1";
const SOURCE: &std::ffi::CStr = c"10.9.9.1:/disks";

/// NFS 4.1 protocol: ganesha as the server, the kernel as the client.
#[derive(Debug)]
pub(crate) struct Nfs4;

impl Protocol for Nfs4 {
    fn facts(&self) -> &'static ProtocolFacts {
        &FACTS
    }

    fn programs(&self) -> Result<Checked, OverError> {
        require_root(FACTS.word, "ganesha opens files by handle, and the kernel mounts")?;
        let mut checked = Checked::of(FACTS.word, ganesha::find(FACTS.word)?)?;
        find_modules(FACTS.word, &[CLIENT], &mut checked)?;
        let client = Program { name: CLIENT, path: "/sys/module".into(), version: release() };
        let tools = Some(Tools::find(FACTS.word)?);
        Ok(Checked { initiator: Some(client), tools, ..checked })
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
        directory_of(files)?;
        load_modules(checked)?;
        let network = up.network.insert(Network::make(home, &checked.setpriv, tools, checked.mtu)?);
        let server = ganesha::start(checked, home, network, (files, "4"))?;
        let of_server = network.server_namespace();
        let answers = || in_network(&of_server, READY_MAX, || TcpStream::connect((SERVER, PORT)));
        let ready = server.wait_until(Phase::Start, READY_MAX, || answers().is_ok());
        up.servers.push(server);
        ready?;
        let point = home.path().join(MOUNT_POINT);
        let mounted = mount(&network.initiator_namespace(), &point);
        up.kernel = Some(Box::new(Mounted(point.clone())));
        mounted?;
        let names = files.iter().filter_map(|file| file.path.file_name());
        up.reached = Some(Reached::Files(names.map(|name| point.join(name)).collect()));
        Ok(())
    }
}

/// Mounts the export from a network namespace. The mount belongs to this namespace for ever.
fn mount(network: &Path, point: &Path) -> Result<(), Failed> {
    let failed = |attempt| {
        let object = point.display().to_string();
        move |error| (attempt, object, error)
    };
    fs::create_dir(point).map_err(failed("make"))?;
    let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    let at = point.to_owned();
    let work = move || Ok(rustix::mount::mount(SOURCE, &at, c"nfs4", flags, OPTIONS)?);
    // Beyond the time of the mount's own attempts, so that no mount comes up after the give-up.
    in_network(network, Duration::from_secs(60), work).map_err(failed("mount the export at"))
}

/// Mount of the export.
#[derive(Debug)]
struct Mounted(PathBuf);

impl KernelPart for Mounted {
    /// The server's process is checked elsewhere, and the client has no state to look at.
    fn check(&self) -> Result<(), OverError> {
        Ok(())
    }

    fn fail_open_io(&self) {
        // The mount is in use and stays. Its open requests fail (umount(2), MNT_FORCE).
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::FORCE | UnmountFlags::NOFOLLOW);
    }

    fn remove(&self) -> io::Result<()> {
        process_home::unmount(&self.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_goes_to_the_address_of_the_servers() {
        let address = SERVER.to_string();
        let [source, options] = [SOURCE, OPTIONS].map(|text| text.to_string_lossy().into_owned());
        assert_eq!(source, format!("{address}:/disks"));
        assert!(options.contains(&format!(",addr={address},")), "{options}");
    }
}
