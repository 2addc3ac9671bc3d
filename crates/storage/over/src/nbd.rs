//! NBD over TCP: QEMU's storage daemon serves, the engine's own client connects.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use process_home::{Home, Phase};
use serde_json::json;

use crate::error::OverError;
use crate::fuse;
use crate::network::{Network, SERVER};
use crate::protocol::{Checked, Protocol, ProtocolFacts};
use crate::set_up::{Reached, ServedFile, SetUp};

const FACTS: ProtocolFacts = ProtocolFacts {
    word: "nbd",
    initiator: "Tilemark's NBD client",
    hop: "the load's own NBD client over TCP; no kernel initiator",
    network: "127.0.0.1, a random free port",
    sector: 512,
    server_cache: "",
};

/// Port of the server in a namespace of its own. IANA assigned it to NBD.
const PORT: u16 = 10_809;

/// NBD protocol: QEMU's storage daemon as the server, the engine as the initiator.
#[derive(Debug)]
pub(crate) struct Nbd;

impl Protocol for Nbd {
    fn facts(&self) -> &'static ProtocolFacts {
        &FACTS
    }

    fn programs(&self) -> Result<Checked, OverError> {
        Checked::of(FACTS.word, fuse::find(FACTS.word)?)
    }

    fn set_up(
        &self,
        checked: &Checked,
        home: &Home,
        files: &[ServedFile],
        up: &mut SetUp,
    ) -> Result<(), OverError> {
        let linked = checked.tools.as_ref().filter(|_| checked.mtu.is_some());
        let network = linked
            .map(|tools| Network::make(home, &checked.setpriv, tools, checked.mtu))
            .transpose()?;
        let (server, enter, namespace) = match &network {
            Some(network) => {
                let address: SocketAddr = (SERVER, PORT).into();
                (address, network.enter(), Some(network.initiator_namespace()))
            }
            None => (free_address()?, Vec::new(), None),
        };
        up.network = network;
        let own = (arguments(server, files), Phase::Start);
        up.servers.push(fuse::start(home, &checked.setpriv, &checked.server, enter, own)?);
        let exports = (0..).zip(files).map(|(nth, file)| (file.disk.clone(), export(nth)));
        up.reached = Some(Reached::Nbd { server, exports: exports.collect(), namespace });
        Ok(())
    }
}

/// Returns an address that is free at the moment. If another program takes it first, the daemon
/// refuses to start.
fn free_address() -> Result<SocketAddr, OverError> {
    let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|own| own.local_addr());
    bound.map_err(|source| OverError::Io { attempt: "find", object: "a free port".into(), source })
}

fn export(nth: usize) -> String {
    format!("disk-{nth}")
}

fn arguments(server: SocketAddr, files: &[ServedFile]) -> Vec<String> {
    // Connections are not limited: each worker has one for each of its disks.
    let address = json!({
        "addr": { "type": "inet", "host": server.ip().to_string(), "port": server.port().to_string() },
        "max-connections": 0,
    });
    let mut arguments = vec!["--nbd-server".to_owned(), address.to_string()];
    for (nth, file) in files.iter().enumerate() {
        let node = json!({
            "driver": "file", "node-name": format!("n{nth}"), "filename": file.path,
            "cache": { "direct": file.direct }, "aio": if file.direct { "io_uring" } else { "threads" },
        });
        let own = json!({
            "type": "nbd", "id": format!("e{nth}"), "node-name": format!("n{nth}"),
            "name": export(nth), "writable": true,
        });
        arguments.extend(["--blockdev".to_owned(), node.to_string()]);
        arguments.extend(["--export".to_owned(), own.to_string()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_port_is_named_and_nothing_is_left() {
        let checked = match Nbd.programs() {
            Ok(checked) => checked,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let server = taken.local_addr().expect("its address");
        let home = crate::session::test_home();
        let own = (arguments(server, &[]), Phase::Start);
        let started = fuse::start(&home, &checked.setpriv, &checked.server, Vec::new(), own);
        let error = started.expect_err("the port is taken");
        assert!(
            error.to_string().starts_with("qemu-storage-daemon ended while starting"),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("port")), "{error}");
        let path = home.path().to_owned();
        drop(home);
        assert!(!path.exists());
    }
}
