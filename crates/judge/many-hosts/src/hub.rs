use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use bench::BenchError;
use cluster::{ClusterError, Event, Hub, HubOptions, Name};

use crate::launch::Launch;
use crate::options::Options;

/// Hub that hosts can join.
pub(crate) struct OpenHub {
    pub hub: Hub,
    pub events: Receiver<Event>,
    pub members: Vec<Name>,
}

/// Opens a hub for hosts with distinct names.
pub(crate) fn open(
    cluster: &str,
    options: &Options,
    valid_for: Duration,
) -> Result<OpenHub, BenchError> {
    let members: Vec<Name> = options.hosts.iter().map(|host| host.name.clone()).collect();
    let twice = members.iter().enumerate().find(|(at, name)| members[..*at].contains(name));
    if let Some((_, name)) = twice {
        let what = format!("host {name} is named twice");
        let hint = "name each host once: one agent drives all tiles of a host";
        return Err(BenchError::HostsRefused { what, hint });
    }
    let cluster = cluster.to_ascii_lowercase();
    let listen = listen(options);
    if listen.ip().is_unspecified() {
        let what = format!("hosts cannot connect to {}", listen.ip());
        let hint = "name an address of this machine with --listen, as the hosts reach it";
        return Err(BenchError::HostsRefused { what, hint });
    }
    let (hub, events) = Hub::open(&HubOptions {
        cluster: cluster.parse().map_err(|error| BenchError::Hosts(format!("{error}")))?,
        members: members.clone(),
        listen: vec![listen],
        known_as: Vec::new(),
        lease: options.lease,
        valid_for,
    })
    .map_err(|error: ClusterError| BenchError::Hosts(error.to_string()))?;
    Ok(OpenHub { hub, events, members })
}

/// Returns the address at which the hub listens.
fn listen(options: &Options) -> SocketAddr {
    let seen = || options.hosts.iter().find_map(Launch::seen_from);
    options
        .listen
        .unwrap_or_else(|| SocketAddr::new(seen().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), 0))
}
