use process_home::Home;

use crate::error::OverError;
use crate::network::Tools;
use crate::program::{Needed, Program};
use crate::set_up::{ServedFile, SetUp};

/// Properties of a protocol, for results and guides.
#[derive(Debug)]
pub struct ProtocolFacts {
    /// Word of `--over`.
    pub word: &'static str,
    /// Name of the initiator if it is not a separate program.
    pub initiator: &'static str,
    /// Hops between the load and the server, in words.
    pub hop: &'static str,
    /// Network between initiator and server.
    pub network: &'static str,
    /// Largest sector that the initiator's disks can have, in bytes.
    pub sector: u32,
    /// Caches that the server adds between its clients and the datastore; empty if none.
    pub server_cache: &'static str,
}

/// Storage protocol with its server and its initiator.
pub trait Protocol: std::fmt::Debug + Sync {
    /// Returns the properties for results.
    fn facts(&self) -> &'static ProtocolFacts;

    /// Finds the programs and checks their versions; creates nothing.
    fn programs(&self) -> Result<Checked, OverError>;

    /// Starts server and initiator for these files.
    fn set_up(
        &self,
        checked: &Checked,
        home: &Home,
        files: &[ServedFile],
        up: &mut SetUp,
    ) -> Result<(), OverError>;
}

/// Programs of a protocol, found and checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Program of the server.
    pub server: Program,
    /// Program of the initiator; `None` if this program is the initiator.
    pub initiator: Option<Program>,
    pub(crate) setpriv: Program,
    /// Largest packet on the link between server and initiator, in bytes; `None` for loopback.
    pub(crate) mtu: Option<u32>,
    pub(crate) tools: Option<Tools>,
    /// Modules of the kernel that the set-up loads.
    pub(crate) loads: Vec<&'static str>,
    /// Program that loads them.
    pub(crate) modprobe: Option<Program>,
    /// Further programs, in an order that only the protocol defines.
    pub(crate) others: Vec<Program>,
}

impl Checked {
    /// Describes the network between initiator and server.
    pub fn network(&self, facts: &ProtocolFacts) -> String {
        match self.mtu {
            Some(mtu) => format!(
                "two private network namespaces joined by veth with MTU {mtu}, no larger frames"
            ),
            None => facts.network.to_owned(),
        }
    }

    /// Returns the modules that the set-up loads into the kernel, where they stay.
    pub fn loads(&self) -> &[&'static str] {
        &self.loads
    }

    /// Returns the programs of a protocol with this server and no further programs.
    pub(crate) fn of(protocol: &'static str, server: Program) -> Result<Self, OverError> {
        let setpriv = Needed { name: "setpriv", package: "util-linux" }.find(protocol)?;
        Ok(Self {
            server,
            initiator: None,
            setpriv,
            mtu: None,
            tools: None,
            loads: Vec::new(),
            modprobe: None,
            others: Vec::new(),
        })
    }
}

/// Checks a protocol's programs; creates nothing. With `mtu`, server and initiator are joined by a
/// link with packets of this size, instead of loopback.
///
/// # Errors
///
/// If a program is missing, too old, lacks a part, or may be used only by root.
pub fn check(protocol: &dyn Protocol, mtu: Option<u32>) -> Result<Checked, OverError> {
    let checked = protocol.programs()?;
    if mtu.is_none() {
        return Ok(checked);
    }
    let word = protocol.facts().word;
    require_root(word, "only root can link two networks (mtu)")?;
    Ok(Checked { mtu, tools: Some(Tools::find(word)?), ..checked })
}

/// Returns an error unless the process runs as root.
pub(crate) fn require_root(protocol: &'static str, why: &'static str) -> Result<(), OverError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(OverError::NotRoot { protocol, why })
    }
}
