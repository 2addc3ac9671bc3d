//! NFS 3: ganesha serves in a private network with its own portmapper, libnfs in QEMU's storage
//! daemon connects.

use std::fs;
use std::path::Path;
use std::process::Command;

use process_home::{Home, Phase, Process};
use serde_json::{Value, json};

use crate::error::OverError;
use crate::fuse;
use crate::network::{ADDRESS, Network, Tools};
use crate::process::{self, BY_TERM, Line, READY_MAX, run};
use crate::program::{Least, Needed, Program};
use crate::protocol::{Checked, Protocol, ProtocolFacts, require_root};
use crate::set_up::{Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "nfs3",
    initiator: "libnfs in qemu-storage-daemon",
    hop: "a FUSE file of qemu-storage-daemon, and libnfs in it over TCP; no kernel client",
    network: "a private network namespace",
    server_cache: "the server reads and writes through its page cache, as an NFS server does",
};

const GANESHA: &str = "ganesha.nfsd";
/// Oldest version that was tested; older ones may work.
const LEAST: Least = Least { version: "4.0", why: "its settings were not tested" };
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
        // The package of ganesha without that of its file system starts and exports nothing.
        let package = "nfs-ganesha nfs-ganesha-vfs";
        let server = needed(GANESHA, package)?.ask_version("-v", &LEAST)?;
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
        let directory = directory_of(files)?;
        let config = home.path().join("ganesha.conf");
        let written = fs::write(&config, settings(directory));
        written.map_err(|source| OverError::Io {
            attempt: "write",
            object: config.display().to_string(),
            source,
        })?;
        let network = up.network.insert(Network::make(home, &checked.setpriv, tools, checked.mtu)?);
        let mapper = start(checked, home, network, (rpcbind, vec!["-f".to_owned()]))?;
        let socket = network.run_path("rpcbind.sock");
        let mapped = mapper.wait_until(Phase::Start, READY_MAX, || socket.exists());
        up.servers.push(mapper);
        mapped?;
        let arguments = server_arguments(home, &config);
        let server = start(checked, home, network, (&checked.server, arguments))?;
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

/// Returns the directory of the files, which is exported.
fn directory_of(files: &[ServedFile]) -> Result<&Path, OverError> {
    let refused = |path: &Path, why| {
        let path = path.display().to_string();
        Err(OverError::Path { program: GANESHA, path, why })
    };
    let first = files.first().and_then(|file| file.path.parent()).unwrap_or(Path::new("/"));
    for ServedFile { path, .. } in files {
        let is_plain = path.to_str().is_some_and(|path| !path.contains(['"', '\\', '\n', '#']));
        if !is_plain {
            return refused(path, "a quote, backslash, # or line end is in its path");
        }
        if path.parent() != Some(first) {
            return refused(path, "it is in another directory than the first disk");
        }
        // The server's own /run hides that of the host.
        if path.starts_with("/run") {
            return refused(path, "it is in /run, which the server does not see");
        }
    }
    Ok(first)
}

/// Returns the settings of the server: NFS 3 over TCP, one export, only for clients in the private
/// network.
fn settings(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "NFS_CORE_PARAM {{ Protocols = 3; Bind_addr = {ADDRESS}; NFS_Port = 2049; MNT_Port = 20048; \
         Enable_NLM = false; Enable_RQUOTA = false; mount_path_pseudo = false; }}\n\
         EXPORT {{ Export_Id = 1; Path = \"{directory}\"; Pseudo = \"/disks\"; Protocols = 3; \
         Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Transports = TCP; \
         FSAL {{ Name = VFS; }} }}\n\
         LOG {{ Default_Log_Level = EVENT; }}\n"
    )
}

fn server_arguments(home: &Home, config: &Path) -> Vec<String> {
    let at = |name: &str| home.path().join(name).display().to_string();
    let config = config.display().to_string();
    ["-F", "-f", &config, "-L", &at("ganesha.nfsd.log"), "-p", &at("ganesha.pid")]
        .map(str::to_owned)
        .to_vec()
}

/// Starts a server with the namespace's own `/run`.
fn start(
    checked: &Checked,
    home: &Home,
    network: &Network,
    (program, arguments): (&Program, Vec<String>),
) -> Result<Process, OverError> {
    let enter = network.enter_with_run();
    let line = Line { program, enter, arguments, endings: BY_TERM, variables: Vec::new() };
    process::start(home, &checked.setpriv, line)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_the_settings_cannot_hold_are_refused() {
        let file = |path: &str| ServedFile { disk: "d".into(), path: path.into(), direct: true };
        assert_eq!(directory_of(&[file("/a/b/x")]).ok(), Some(Path::new("/a/b")));
        for wrong in ["/a\"/x", "/a\\/x", "/a\n/x", "/a#/x", "/run/a/x"] {
            assert!(directory_of(&[file(wrong)]).is_err(), "{wrong}");
        }
        assert!(directory_of(&[file("/a/x"), file("/b/x")]).is_err());
    }
}
