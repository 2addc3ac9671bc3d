//! Hubs and members over TLS on loopback.

mod joining;
mod talking;

use std::net::SocketAddr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tilemark_cluster::{Asked, Event, Hub, HubOptions, Invitation, Member, Name, RemoteError};

/// Time limit far beyond any wait, also on a busy computer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// Longer than a busy computer delays a process.
pub(crate) const LEASE: Duration = Duration::from_secs(5);

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub(crate) fn options(members: &[&str]) -> HubOptions {
    static CLUSTERS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = CLUSTERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    HubOptions {
        cluster: name(&format!("test-{}-{number}", std::process::id())),
        members: members.iter().map(|member| name(member)).collect(),
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        known_as: Vec::new(),
        lease: LEASE,
        valid_for: Duration::from_secs(600),
    }
}

pub(crate) fn hub(members: &[&str]) -> (Hub, Receiver<Event>) {
    Hub::open(&options(members)).expect("a hub")
}

/// Answers with the request as text; refuses the topic `no`.
fn echo(asked: Asked) -> Result<Vec<u8>, RemoteError> {
    match asked.topic.as_str() {
        "no" => Err(RemoteError::new("not today").with_hint(Some("ask tomorrow"))),
        "slow" => {
            std::thread::sleep(Duration::from_millis(500));
            Ok(Vec::new())
        }
        topic => Ok([topic.as_bytes(), b": ", &asked.question].concat()),
    }
}

pub(crate) fn join(invitation: &Invitation) -> Member {
    Member::join(invitation, LEASE, DEADLINE, Box::new(echo)).expect("it joins")
}

/// Member that has joined.
pub(crate) fn joined(hub: &Hub, member: &str) -> Member {
    let member = name(member);
    let joined = join(&hub.invitation(&member).expect("it is a member"));
    assert_eq!(hub.wait_for(&[member], DEADLINE), []);
    joined
}

/// Next event for which `wanted` is true.
pub(crate) fn wait_for(events: &Receiver<Event>, wanted: impl Fn(&Event) -> bool) -> Event {
    let until = Instant::now() + DEADLINE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let event = events.recv_timeout(left).expect("it happens");
        if wanted(&event) {
            return event;
        }
    }
}
