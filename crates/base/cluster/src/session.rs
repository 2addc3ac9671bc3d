use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zenoh::{Config, Session, Wait};

use crate::MESSAGE_MAX;
use crate::error::ClusterError;

/// Number of Zenoh's keep-alive messages per lease.
const KEEP_ALIVE: u32 = 4;

/// Opens a session over a local socket, without announcements or discovery.
pub fn open(
    what: &'static str,
    lease: Duration,
    own: &[(&str, Value)],
) -> Result<Session, ClusterError> {
    let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
    let all = [
        ("scouting/multicast/enabled", json!(false)),
        ("scouting/gossip/enabled", json!(false)),
        ("adminspace/enabled", json!(false)),
        ("transport/link/protocols", json!(["unixsock-stream"])),
        ("transport/link/tx/lease", json!(lease_ms)),
        ("transport/link/tx/keep_alive", json!(KEEP_ALIVE)),
        ("transport/link/rx/max_message_size", json!(MESSAGE_MAX.get())),
    ];
    let mut config = Config::default();
    for (key, value) in all.iter().chain(own) {
        config.insert_json5(key, &value.to_string()).map_err(ClusterError::network("settings"))?;
    }
    zenoh::open(config).wait().map_err(ClusterError::network(what))
}

/// Returns the endpoint of a socket in Zenoh's form.
pub fn endpoint(socket: &Path) -> String {
    format!("unixsock-stream/{}", socket.display())
}

/// Keys of a cluster.
#[derive(Debug, Clone)]
pub struct Keys(String);

impl Keys {
    pub fn of(cluster: &crate::Name) -> Self {
        Self(format!("tilemark/{cluster}"))
    }

    pub fn hub(&self) -> String {
        format!("{}/hub", self.0)
    }

    /// Returns the key of one member, or for `*` of all members.
    pub fn member(&self, name: &str) -> String {
        format!("{}/member/{name}", self.0)
    }

    pub fn sent(&self, name: &str) -> String {
        format!("{}/sent/{name}", self.0)
    }

    pub fn asked(&self, name: &str, topic: &str) -> String {
        format!("{}/asked/{name}/{topic}", self.0)
    }

    /// Returns the last part of a key.
    pub fn last(key: &str) -> &str {
        key.rsplit_once('/').map_or(key, |(_, last)| last)
    }
}
