//! iSCSI: tgt serves in a private network, libiscsi in QEMU's storage daemon connects.

use std::process::Command;
use std::time::{Duration, Instant};

use process_home::{Home, Phase, Process};
use serde_json::{Value, json};

use crate::error::OverError;
use crate::fuse;
use crate::network::{ADDRESS, Network, Tools};
use crate::process::{self, Line, READY_MAX, run};
use crate::program::{Least, Needed, Program};
use crate::protocol::{Checked, Protocol, ProtocolFacts, require_root};
use crate::set_up::{Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "iscsi",
    initiator: "libiscsi in qemu-storage-daemon",
    hop: "a FUSE file of qemu-storage-daemon, and libiscsi in it over TCP; no kernel initiator",
    network: "a private network namespace",
    sector: 512,
    server_cache: "",
};

const TGTD: &str = "tgtd";
/// Oldest version that was tested; older ones may work.
const LEAST: Least = Least { version: "1.0.79", why: "its user-space I/O was not tested" };
const TARGET: &str = "iqn.2026-11.tilemark:over";
/// Maximum number of units (LUNs) of one target. The first level of SCSI's numbers ends at 255
/// (SAM-5, 4.7.5).
const UNITS_MAX: usize = 200;

/// iSCSI protocol: tgt as the server, libiscsi as the initiator.
#[derive(Debug)]
pub(crate) struct Iscsi;

impl Protocol for Iscsi {
    fn facts(&self) -> &'static ProtocolFacts {
        &FACTS
    }

    fn programs(&self) -> Result<Checked, OverError> {
        require_root(FACTS.word, "tgt accepts its tool only as root")?;
        let needed = |name| Needed { name, package: "tgt" }.find(FACTS.word);
        let server = needed(TGTD)?.ask_version("-V", &LEAST)?;
        let daemon = fuse::find(FACTS.word)?;
        fuse::check_driver(&daemon, &node(0, ""))?;
        Ok(Checked {
            initiator: Some(daemon),
            tools: Some(Tools::find(FACTS.word)?),
            others: vec![needed("tgtadm")?],
            ..Checked::of(FACTS.word, server)?
        })
    }

    fn set_up(
        &self,
        checked: &Checked,
        home: &Home,
        files: &[ServedFile],
        up: &mut SetUp,
    ) -> Result<(), OverError> {
        let (Some(tools), Some(daemon), [tgtadm]) =
            (&checked.tools, &checked.initiator, &checked.others[..])
        else {
            unreachable!("the protocol's check found the programs");
        };
        files.iter().try_for_each(check_path)?;
        let network = up.network.insert(Network::make(home, &checked.setpriv, tools, checked.mtu)?);
        let server = start(checked, home, network.enter())?;
        let enter = network.enter_as_initiator();
        let tool = Tool { program: tgtadm, home, client: network.initiator_address() };
        let served = tool.wait(&server).and_then(|()| tool.export(files));
        up.servers.push(server);
        served?;
        let portal = format!("{ADDRESS}:3260");
        let nodes: Vec<Value> = (0..files.len()).map(|nth| node(nth, &portal)).collect();
        let (initiator, paths) = fuse::attach(home, &checked.setpriv, daemon, enter, &nodes)?;
        up.initiator = Some(initiator);
        up.reached = Some(Reached::Files(paths));
        Ok(())
    }
}

/// Checks that the tool can pass on the path, which becomes a part of `path=...,bstype=...`.
fn check_path(file: &ServedFile) -> Result<(), OverError> {
    let path = file.path.to_str();
    if path.is_some_and(|path| !path.contains([',', '\n'])) {
        return Ok(());
    }
    let (program, path) = (TGTD, file.path.display().to_string());
    Err(OverError::Path { program, path, why: "a comma or a line end is in its path" })
}

/// Starts the server. It is ended by SIGKILL, because it ignores SIGTERM while a target exists. By
/// then its initiator has flushed and disconnected.
fn start(checked: &Checked, home: &Home, enter: Vec<String>) -> Result<Process, OverError> {
    let line = Line {
        program: &checked.server,
        enter,
        arguments: vec!["-f".into(), "--iscsi".into(), format!("portal={ADDRESS}:3260")],
        endings: &[],
        variables: vec![("TGT_IPC_SOCKET", home.path().join("tgt.sock"))],
    };
    process::start(home, &checked.setpriv, line)
}

/// Returns the numbers of target and unit of a disk, both counted from 1.
const fn place_of(nth: usize) -> (usize, usize) {
    (nth / UNITS_MAX + 1, nth % UNITS_MAX + 1)
}

fn node(nth: usize, portal: &str) -> Value {
    let (target, unit) = place_of(nth);
    json!({
        "driver": "iscsi", "node-name": format!("n{nth}"), "transport": "tcp", "portal": portal,
        "target": format!("{TARGET}-{target}"), "lun": unit, "cache": { "direct": true },
    })
}

/// Administration tool of the server.
struct Tool<'a> {
    program: &'a Program,
    home: &'a Home,
    /// Address of the only client that may log in.
    client: &'static str,
}

impl Tool<'_> {
    fn ask(&self, arguments: &[&str]) -> Result<String, OverError> {
        let mut command = Command::new(&self.program.path);
        command.env("TGT_IPC_SOCKET", self.home.path().join("tgt.sock"));
        let (variable, value) = self.home.variable();
        command.args(["--lld", "iscsi"]).args(arguments).env(variable, value);
        Ok(run(self.program, Phase::Export, &mut command)?)
    }

    /// Waits until the server answers the tool.
    fn wait(&self, server: &Process) -> Result<(), OverError> {
        let socket = self.home.path().join("tgt.sock.0");
        server.wait_until(Phase::Start, READY_MAX, || socket.exists())?;
        let until = Instant::now() + READY_MAX;
        // The socket is there a moment before the server answers on it.
        while let Err(error) = self.ask(&["--op", "show", "--mode", "system"]) {
            server.check(Phase::Start)?;
            if Instant::now() >= until {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Creates a unit for each file.
    ///
    /// `rdwr` with `direct` opens the file without the page cache and answers a flush after
    /// fdatasync(2). `aio` is faster but answers a flush without fdatasync (traced on 1.0.85), so a
    /// flushed write would not be durable.
    fn export(&self, files: &[ServedFile]) -> Result<(), OverError> {
        for (nth, file) in files.iter().enumerate() {
            let (target, unit) = place_of(nth);
            let [tid, lun] = [target, unit].map(|number| number.to_string());
            if unit == 1 {
                let name = format!("{TARGET}-{target}");
                let new = ["--op", "new", "--mode", "target", "--tid", &tid];
                self.ask(&[&new[..], &["--targetname", &name]].concat())?;
                let bind = ["--op", "bind", "--mode", "target", "--tid", &tid];
                self.ask(&[&bind[..], &["--initiator-address", self.client]].concat())?;
            }
            let path = file.path.display().to_string();
            let new = ["--op", "new", "--mode", "logicalunit", "--tid", &tid, "--lun", &lun];
            let store = ["--backing-store", &path, "--bstype", "rdwr"];
            let direct: &[&str] = if file.direct { &["--bsoflags", "direct"] } else { &[] };
            self.ask(&[&new[..], &store[..], direct].concat())?;
        }
        Ok(())
    }
}
