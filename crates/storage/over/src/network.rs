//! Private network namespace with an address, for servers with a fixed port or a fixed portmapper, and
//! a second one for initiators that are to reach the servers by a link.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use process_home::{Home, Phase, Process};

use crate::error::OverError;
use crate::process::{Line, READY_MAX, start};
use crate::program::{Needed, Program};

/// Address of the servers. ganesha does not find an address in a namespace that has only 127.0.0.1,
/// because name resolution leaves loopback out (getaddrinfo(3), `AI_ADDRCONFIG`). The namespace has
/// no other address, so any address is free.
pub(crate) const ADDRESS: &str = "10.9.9.1";
/// The same address as a value.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 1);

const READY: &str = "ready";

/// Script of the process that keeps the namespace. The portmapper has its socket and its lock in
/// `/run`, and ganesha its list of clients in `/var/lib/nfs`. So the namespace gets directories of
/// its own there, and those of the host do not change.
const SCRIPT: &str = "set -e; ip link set lo up; ip addr add 10.9.9.1/32 dev lo; \
    mount -t tmpfs -o size=1m,mode=755 tilemark /run; mkdir /run/rpcbind /run/ganesha; \
    ! [ -d /var/lib/nfs ] || { mount -t tmpfs -o size=1m tilemark /var/lib/nfs; \
    mkdir /var/lib/nfs/ganesha; }; \
    echo ready; exec sleep infinity";

/// Address of initiators in a namespace of their own.
const INITIATOR: &str = "10.9.9.2";
const LINKED: &str = "linked";

/// Script of the process that keeps the initiators' namespace: a link to the servers' namespace, of
/// process `$1`, with packets of `$2` bytes. Without `gso_max_segs 1` veth passes on up to 64 KiB as
/// one frame, and packets of any size cost the same.
const LINK_SCRIPT: &str = "set -e; ip link set lo up; \
    there=\"nsenter --net=/proc/$1/ns/net --\"; \
    $there ip link add tilemark0 mtu $2 gso_max_segs 1 type veth \
        peer name tilemark1 mtu $2 gso_max_segs 1 netns $$; \
    $there ip link set tilemark0 up; $there ip route add 10.9.9.2 dev tilemark0 src 10.9.9.1; \
    ip addr add 10.9.9.2/32 dev tilemark1; ip link set tilemark1 up; \
    ip route add 10.9.9.1 dev tilemark1 src 10.9.9.2; echo linked; exec sleep infinity";

/// Programs that create and enter a namespace.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    unshare: Program,
    nsenter: Program,
}

impl Tools {
    pub fn find(protocol: &'static str) -> Result<Self, OverError> {
        let needed = |name, package| Needed { name, package }.find(protocol);
        needed("ip", "iproute2")?;
        let package = "util-linux";
        Ok(Self { unshare: needed("unshare", package)?, nsenter: needed("nsenter", package)? })
    }
}

/// Network namespaces, each kept by a process.
#[derive(Debug)]
pub(crate) struct Network {
    nsenter: Program,
    keeper: Process,
    /// Keeper of the initiators' own namespace; `None` if they are in that of the servers.
    far_keeper: Option<Process>,
}

impl Network {
    /// Creates a namespace for the servers, and another for the initiators if a link is wanted.
    pub fn make(
        home: &Home,
        setpriv: &Program,
        tools: &Tools,
        mtu: Option<u32>,
    ) -> Result<Self, OverError> {
        let keep = |arguments: &[&str], word: &str| -> Result<Process, OverError> {
            let line = Line {
                program: &tools.unshare,
                enter: Vec::new(),
                arguments: arguments.iter().map(|&own| own.to_owned()).collect(),
                endings: &[],
                variables: Vec::new(),
            };
            let keeper = start(home, setpriv, line)?;
            // Both keepers append to one log.
            let log = home.path().join("unshare.log");
            keeper.wait_until(Phase::Network, READY_MAX, || {
                fs::read_to_string(&log).is_ok_and(|text| text.lines().any(|line| line == word))
            })?;
            Ok(keeper)
        };
        let keeper = keep(&["--net", "--mount", "sh", "-c", SCRIPT], READY)?;
        let link = |mtu: u32| {
            let [pid, mtu] = [keeper.pid(), mtu].map(|number| number.to_string());
            keep(&["--net", "sh", "-c", LINK_SCRIPT, "sh", &pid, &mtu], LINKED)
        };
        let far_keeper = mtu.map(link).transpose()?;
        Ok(Self { nsenter: tools.nsenter.clone(), keeper, far_keeper })
    }

    /// Iterates over the processes that keep the namespaces.
    pub fn keepers(&self) -> impl Iterator<Item = &Process> {
        std::iter::once(&self.keeper).chain(&self.far_keeper)
    }

    /// Returns the command that enters the servers' namespace, with the host's `/run`.
    pub fn enter(&self) -> Vec<String> {
        self.enter_of(&self.keeper)
    }

    /// Returns the command that enters the initiators' namespace.
    pub fn enter_as_initiator(&self) -> Vec<String> {
        self.enter_of(self.far_keeper.as_ref().unwrap_or(&self.keeper))
    }

    fn enter_of(&self, keeper: &Process) -> Vec<String> {
        let net = format!("--net={}", namespace_of(keeper).display());
        vec![self.nsenter.path.display().to_string(), net, "--".into()]
    }

    /// Returns the address from which initiators connect.
    pub const fn initiator_address(&self) -> &'static str {
        if self.far_keeper.is_some() { INITIATOR } else { ADDRESS }
    }

    /// Returns the file that stands for the initiators' namespace.
    pub fn initiator_namespace(&self) -> PathBuf {
        namespace_of(self.far_keeper.as_ref().unwrap_or(&self.keeper))
    }

    /// Returns the file that stands for the servers' namespace.
    pub fn server_namespace(&self) -> PathBuf {
        namespace_of(&self.keeper)
    }

    /// Returns the command that enters the namespace, with the namespace's own `/run`.
    pub fn enter_with_run(&self) -> Vec<String> {
        let mut enter = self.enter();
        enter.insert(1, format!("--mount=/proc/{}/ns/mnt", self.keeper.pid()));
        enter
    }

    /// Returns the path of a file in the namespace's own `/run`, as seen from outside.
    pub fn run_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/run/{name}", self.keeper.pid()))
    }
}

fn namespace_of(keeper: &Process) -> PathBuf {
    PathBuf::from(format!("/proc/{}/ns/net", keeper.pid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_have_the_addresses_that_the_programs_use() {
        assert_eq!(SERVER.to_string(), ADDRESS);
        assert!(SCRIPT.contains(&format!("{ADDRESS}/32 dev lo")), "{SCRIPT}");
        assert!(LINK_SCRIPT.contains(&format!("{INITIATOR}/32 dev")), "{LINK_SCRIPT}");
        assert!(LINK_SCRIPT.contains(&format!("route add {ADDRESS} dev")), "{LINK_SCRIPT}");
    }
}
