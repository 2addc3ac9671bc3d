//! NFS 3: ganesha serves in a private network with its own portmapper, libnfs in QEMU's storage
//! daemon connects.

use std::process::Command;

use process_home::{Home, Phase};
use serde_json::{Value, json};

use crate::error::OverError;
use crate::fuse;
use crate::ganesha::{self, directory_of, start_in};
use crate::network::{ADDRESS, Network, Tools};
use crate::process::{READY_MAX, run};
use crate::program::{Needed, Program};
use crate::protocol::{Checked, Protocol, ProtocolFacts, require_root};
use crate::set_up::{Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "nfs3",
    initiator: "libnfs in qemu-storage-daemon",
    hop: "a FUSE file of qemu-storage-daemon, and libnfs in it over TCP; no kernel client",
    network: "a private network namespace",
    sector: 512,
    server_cache: "the server reads and writes through its page cache, as an NFS server does",
};

/// Program and version of NFS 3 at the portmapper (RFC 1813, appendix).
const PROGRAM: [&str; 2] = ["100003", "3"];

/// NFS 3 protocol: ganesha as the server, libnfs as the initiator.
#[derive(Debug)]
pub(crate) struct Nfs3;

impl Protocol for Nfs3 {
    fn facts(&self) -> &'static ProtocolFacts {
        &FACTS
    }

    fn programs(&self) -> Result<Checked, OverError> {
        require_root(FACTS.word, "ganesha opens files by handle, and a portmapper uses port 111")?;
        let needed = |name, package| Needed { name, package }.find(FACTS.word);
        let server = ganesha::find(FACTS.word)?;
        let daemon = fuse::find(FACTS.word)?;
        fuse::check_driver(&daemon, &node(0, "", "/"))?;
        let others = [needed("rpcbind", "rpcbind")?, needed("rpcinfo", "rpcbind")?];
        Ok(Checked {
            initiator: Some(daemon),
            tools: Some(Tools::find(FACTS.word)?),
            others: others.to_vec(),
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
        let (Some(tools), Some(daemon), [rpcbind, rpcinfo]) =
            (&checked.tools, &checked.initiator, &checked.others[..])
        else {
            unreachable!("the protocol's check found the programs");
        };
        directory_of(files)?;
        let network = up.network.insert(Network::make(home, &checked.setpriv, tools, checked.mtu)?);
        let mapper = start_in(checked, home, network, (rpcbind, vec!["-f".to_owned()]))?;
        let socket = network.run_path("rpcbind.sock");
        let mapped = mapper.wait_until(Phase::Start, READY_MAX, || socket.exists());
        up.servers.push(mapper);
        mapped?;
        let server = ganesha::start(checked, home, network, (files, "3"))?;
        let ready = server.wait_until(Phase::Start, READY_MAX, || answers(rpcinfo, network));
        // The server must be first, because a session names the first process if I/O hangs.
        up.servers.insert(0, server);
        ready?;
        let nodes = files.iter().enumerate();
        let nodes = nodes.map(|(nth, file)| node(nth, ADDRESS, &file.path.display().to_string()));
        let nodes: Vec<Value> = nodes.collect();
        let enter = network.enter_as_initiator();
        let (initiator, paths) = fuse::attach(home, &checked.setpriv, daemon, enter, &nodes)?;
        up.initiator = Some(initiator);
        up.reached = Some(Reached::Files(paths));
        Ok(())
    }
}

/// Returns true if NFS 3 answers over TCP at the port that the portmapper reports.
fn answers(rpcinfo: &Program, network: &Network) -> bool {
    let enter = network.enter();
    let Some((nsenter, options)) = enter.split_first() else { return false };
    let mut command = Command::new(nsenter);
    command.args(options).arg(&rpcinfo.path).args(["-T", "tcp", ADDRESS]).args(PROGRAM);
    run(rpcinfo, Phase::Start, &mut command).is_ok()
}

fn node(nth: usize, host: &str, path: &str) -> Value {
    json!({
        "driver": "nfs", "node-name": format!("n{nth}"), "path": path,
        "server": { "type": "inet", "host": host }, "cache": { "direct": true },
    })
}
