use process_home::Home;

use crate::error::OverError;
use crate::network::Tools;
use crate::program::{Needed, Program};
use crate::set_up::{ServedFile, SetUp};

/// Facts about a protocol, for results and guides.
#[derive(Debug)]
pub struct ProtocolFacts {
    /// Word of `--over`.
    pub word: &'static str,
    /// Name of the initiator if it is no program of its own.
    pub initiator: &'static str,
    /// Hops between the load and the server, in words.
    pub hop: &'static str,
    /// Network between initiator and server.
    pub network: &'static str,
    /// Caches that the server adds between its clients and the datastore; empty if none.
    pub server_cache: &'static str,
}

/// A storage protocol with its server and its initiator.
pub trait Protocol: std::fmt::Debug + Sync {
    /// Facts for results.
    fn facts(&self) -> &'static ProtocolFacts;

    /// Finds programs and asks their versions; makes nothing.
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

/// Programs of a protocol that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// Program that serves.
    pub server: Program,
    /// Program that is the initiator; `None` if this program is.
    pub initiator: Option<Program>,
    pub(crate) setpriv: Program,
    pub(crate) tools: Option<Tools>,
    /// Other programs, in an order that the protocol knows.
    pub(crate) others: Vec<Program>,
}

impl Checked {
    /// A server without further programs.
    pub(crate) fn of(protocol: &'static str, server: Program) -> Result<Self, OverError> {
        let setpriv = Needed { name: "setpriv", package: "util-linux" }.find(protocol)?;
        Ok(Self { server, initiator: None, setpriv, tools: None, others: Vec::new() })
    }
}

/// Checks a protocol's programs; makes nothing.
///
/// # Errors
///
/// A program is missing, too old, lacks a part, or is for root only.
pub fn check(protocol: &dyn Protocol) -> Result<Checked, OverError> {
    protocol.programs()
}

/// Refuses everybody but root.
pub(crate) fn require_root(protocol: &'static str, why: &'static str) -> Result<(), OverError> {
    if rustix::process::geteuid().is_root() {
        Ok(())
    } else {
        Err(OverError::NotRoot { protocol, why })
    }
}
