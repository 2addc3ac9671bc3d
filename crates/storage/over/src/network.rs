//! Private network namespace with an address, for servers with a fixed port or a fixed portmapper.

use std::fs;
use std::path::PathBuf;

use process_home::{Home, Phase, Process};

use crate::error::OverError;
use crate::process::{Line, READY_MAX, start};
use crate::program::{Needed, Program};

/// Address of the servers. ganesha does not find an address in a namespace that has only 127.0.0.1,
/// because name resolution leaves loopback out (getaddrinfo(3), `AI_ADDRCONFIG`). The namespace has
/// no other address, so any address is free.
pub(crate) const ADDRESS: &str = "10.9.9.1";

const READY: &str = "ready";

/// Script of the process that keeps the namespace. The portmapper has its socket and its lock in
/// `/run`. So the namespace gets a `/run` of its own, and the host's `/run` does not change.
const SCRIPT: &str = "set -e; ip link set lo up; ip addr add 10.9.9.1/32 dev lo; \
    mount -t tmpfs -o size=1m,mode=755 tilemark /run; mkdir /run/rpcbind /run/ganesha; \
    echo ready; exec sleep infinity";

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

/// Network namespace, kept by a process.
#[derive(Debug)]
pub(crate) struct Network {
    nsenter: Program,
    pub keeper: Process,
}

impl Network {
    /// Creates a namespace.
    pub fn make(home: &Home, setpriv: &Program, tools: &Tools) -> Result<Self, OverError> {
        let arguments = ["--net", "--mount", "sh", "-c", SCRIPT].map(str::to_owned).to_vec();
        let line = Line {
            program: &tools.unshare,
            enter: Vec::new(),
            arguments,
            endings: &[],
            variables: Vec::new(),
        };
        let keeper = start(home, setpriv, line)?;
        let log = home.path().join("unshare.log");
        keeper.wait_until(Phase::Network, READY_MAX, || {
            fs::read_to_string(&log).is_ok_and(|text| text.lines().any(|line| line == READY))
        })?;
        Ok(Self { nsenter: tools.nsenter.clone(), keeper })
    }

    /// Returns the command that enters the namespace, with the host's `/run`.
    pub fn enter(&self) -> Vec<String> {
        let pid = self.keeper.pid();
        vec![
            self.nsenter.path.display().to_string(),
            format!("--net=/proc/{pid}/ns/net"),
            "--".into(),
        ]
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
