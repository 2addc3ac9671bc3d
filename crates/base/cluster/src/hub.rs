use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use units::{Bytes, Nanos};
use zenoh::liveliness::LivelinessToken;
use zenoh::query::ConsolidationMode;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Session, Wait};

use crate::MESSAGE_MAX;
use crate::clock::{ClockOffset, monotonic};
use crate::error::{ClusterError, RemoteError};
use crate::identity::{Authority, Invitation};
use crate::member::{CLOCK, FETCH, OfferPart, PartRequest};
use crate::name::Name;
use crate::session::{Keys, endpoint, open};
use crate::tunnel::Tunnel;

/// Maximum number of events that wait for the reader. Above it, messages are dropped and counted.
const EVENTS_MAX: usize = 4096;
/// Maximum number of attempts to fetch a part of an offer.
const FETCH_TRIES: u32 = 3;

/// Identity, addresses and expected members of a hub.
#[derive(Debug, Clone)]
pub struct HubOptions {
    /// Name of the cluster: the id of a run, so that members of two clusters never connect.
    pub cluster: Name,
    /// Names that may join.
    pub members: Vec<Name>,
    /// Addresses on which the hub listens. All use the port of the first address; port 0 selects a
    /// free port.
    pub listen: Vec<SocketAddr>,
    /// Addresses and names under which members reach the hub. If empty, the addresses in `listen`
    /// are used.
    pub known_as: Vec<String>,
    /// Time without a message after which a member is reported as gone.
    pub lease: Duration,
    /// Validity period of invitations and certificates. Connections end with it.
    pub valid_for: Duration,
}

/// Event of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The member has joined.
    Joined(Name),
    /// The member has left, was disconnected, or was silent for the lease.
    Left(Name),
    /// The member has sent a message.
    Sent {
        /// Name of the member.
        member: Name,
        /// Content of the message.
        bytes: Vec<u8>,
        /// Number of messages of this member that were lost before this one.
        missed: u64,
    },
}

/// Controlling side of a cluster.
pub struct Hub {
    cluster: Name,
    authority: Authority,
    members: BTreeSet<Name>,
    reached_at: Vec<String>,
    keys: Keys,
    session: Session,
    state: Arc<Mutex<State>>,
    _alive: LivelinessToken,
    _tunnel: Tunnel,
}

/// Present members, and for each its joining and the number of its next message.
#[derive(Debug, Default)]
struct State {
    present: BTreeSet<Name>,
    next: BTreeMap<Name, (u64, u64)>,
}

impl State {
    /// Returns the number of messages that were lost before the message with this number. A
    /// reconnected member continues its numbers; a new joining begins at 0.
    fn missed(&self, member: &Name, (joining, number): (u64, u64)) -> u64 {
        let next = self.next.get(member).filter(|(known, _)| *known == joining);
        number.saturating_sub(next.map_or(0, |(_, next)| *next))
    }
}

impl Hub {
    /// Starts to listen. Events are sent to the returned receiver.
    ///
    /// # Errors
    ///
    /// If a member is named twice, or listening on an address fails.
    pub fn open(options: &HubOptions) -> Result<(Self, Receiver<Event>), ClusterError> {
        let mut members = BTreeSet::new();
        for member in &options.members {
            if !members.insert(member.clone()) {
                return Err(ClusterError::Twice(member.clone()));
            }
        }
        let listen = with_port(&options.listen)?;
        let (listen, listeners) = listen;
        let names = match options.known_as.is_empty() {
            true => listen.iter().map(|address| address.ip().to_string()).collect(),
            false => options.known_as.clone(),
        };
        let port = listen.first().map_or(0, SocketAddr::port);
        let reached_at = names.iter().map(|name| with(name, port)).collect();
        let keys = Keys::of(&options.cluster);
        let authority = Authority::new(&options.cluster, options.valid_for)?;
        let own = authority.server(&names)?;
        let tunnel = Tunnel::listen(listeners, authority.certificate(), &own)?;
        // Zenoh reads the file once, when the session opens.
        let passwords = tunnel.directory().join("p");
        let lines =
            members.iter().map(|member| format!("{member}:{}\n", authority.password(member)));
        std::fs::write(&passwords, lines.collect::<String>()).map_err(|error| {
            ClusterError::Network { what: "listening", message: error.to_string() }
        })?;
        let session = open(
            "listening",
            options.lease,
            &[
                ("mode", json!("router")),
                ("listen/endpoints", json!([endpoint(&tunnel.socket())])),
                ("transport/auth/usrpwd/dictionary_file", json!(passwords)),
                ("access_control", allowed(&keys, &members)),
            ],
        )?;
        let _ = std::fs::remove_file(&passwords);
        let (sender, events) = sync_channel(EVENTS_MAX);
        let state = Arc::new(Mutex::new(State::default()));
        let network = ClusterError::network("listening");
        let own = (Arc::clone(&state), sender.clone());
        session
            .declare_subscriber(keys.sent("*"))
            .callback(move |sample| sent(&own, &sample))
            .background()
            .wait()
            .map_err(&network)?;
        let own = (Arc::clone(&state), sender);
        session
            .liveliness()
            .declare_subscriber(keys.member("*"))
            .history(true)
            .callback(move |sample| came_or_went(&own, &sample))
            .background()
            .wait()
            .map_err(&network)?;
        let alive = session.liveliness().declare_token(keys.hub()).wait().map_err(&network)?;
        let cluster = options.cluster.clone();
        let hub = Self {
            cluster,
            authority,
            members,
            reached_at,
            keys,
            session,
            state,
            _alive: alive,
            _tunnel: tunnel,
        };
        Ok((hub, events))
    }

    /// Creates an invitation for a member.
    ///
    /// # Errors
    ///
    /// If there is no member of this name.
    pub fn invitation(&self, member: &Name) -> Result<Invitation, ClusterError> {
        self.known(member)?;
        self.authority.invitation(&self.cluster, member, &self.reached_at)
    }

    fn known(&self, member: &Name) -> Result<(), ClusterError> {
        match self.members.contains(member) {
            true => Ok(()),
            false => Err(ClusterError::Unknown(member.clone())),
        }
    }

    /// Returns the members that are present now, even if events of their joining or leaving are
    /// still pending.
    pub fn present(&self) -> Vec<Name> {
        held(&self.state).present.iter().cloned().collect()
    }

    /// Sends a request to a member, and waits for its answer.
    ///
    /// # Errors
    ///
    /// If the topic is invalid, the member is not present, does not answer in time, or answers with
    /// an error.
    pub fn ask(
        &self,
        member: &Name,
        topic: &str,
        question: &[u8],
        within: Duration,
    ) -> Result<Vec<u8>, ClusterError> {
        self.known(member)?;
        topic.parse::<Name>()?;
        let size = Bytes::new(question.len() as u64);
        if size > MESSAGE_MAX {
            return Err(ClusterError::TooLarge { size, max: MESSAGE_MAX });
        }
        let begun = Instant::now();
        // Zenoh ends a request early if no member is left to answer it.
        let silent = || {
            let (member, topic) = (member.clone(), topic.to_owned());
            match begun.elapsed() < within {
                true => ClusterError::Gone { member, topic },
                false => ClusterError::Silent { member, topic, within },
            }
        };
        let replies = self
            .session
            .get(self.keys.asked(member.as_str(), topic))
            .payload(question)
            .consolidation(ConsolidationMode::None)
            .timeout(within)
            .wait()
            .map_err(ClusterError::network("asking"))?;
        let reply = replies.recv().map_err(|_| silent())?;
        // An error here is Zenoh's: no member answers such requests, or none in time.
        let sample = reply.into_result().map_err(|_| silent())?;
        let bytes = sample.payload().to_bytes();
        match bytes.split_first() {
            Some((0, answer)) => Ok(answer.to_vec()),
            Some((_, error)) => Err(ClusterError::Refused {
                member: member.clone(),
                error: RemoteError::from_bytes(error),
            }),
            None => Err(silent()),
        }
    }

    /// Measures the offset of a member's monotonic clock from this host's clock with this number of
    /// probes.
    ///
    /// # Errors
    ///
    /// If a probe is not answered within a second.
    pub fn clock(&self, member: &Name, probes: u32) -> Result<ClockOffset, ClusterError> {
        let mut best: Option<ClockOffset> = None;
        for _ in 0..probes.max(1) {
            let before = monotonic();
            let answer = self.ask(member, CLOCK, &[], Duration::from_secs(1))?;
            let after = monotonic();
            let theirs = <[u8; 8]>::try_from(&answer[..]).map_err(|_| ClusterError::Damaged {
                member: member.clone(),
                what: CLOCK.to_owned(),
                message: format!("{} bytes instead of 8", answer.len()),
            })?;
            let probe = ClockOffset::of(before, Nanos(u64::from_le_bytes(theirs)), after);
            if best.is_none_or(|best| probe.round_trip < best.round_trip) {
                best = Some(probe);
            }
        }
        Ok(best.expect("there is at least one probe"))
    }

    /// Fetches the whole of a member's offer of this name ([`crate::Member::offer`]).
    ///
    /// # Errors
    ///
    /// If there is no such offer, it is larger than `size_max`, changes meanwhile, or a part fails
    /// to arrive within `within` three times.
    pub fn fetch(
        &self,
        member: &Name,
        what: &str,
        size_max: Bytes,
        within: Duration,
    ) -> Result<Vec<u8>, ClusterError> {
        let damaged = |message: String| ClusterError::Damaged {
            member: member.clone(),
            what: what.to_owned(),
            message,
        };
        let mut all: Vec<u8> = Vec::new();
        loop {
            let from = all.len() as u64;
            let wanted = serde_json::to_vec(&PartRequest { what: what.to_owned(), from })
                .expect("a string and a number can be JSON");
            let mut tries = 1;
            let answer = loop {
                match self.ask(member, FETCH, &wanted, within) {
                    Err(ClusterError::Silent { .. }) if tries < FETCH_TRIES => tries += 1,
                    other => break other?,
                }
            };
            let part =
                OfferPart::read(&answer).ok_or_else(|| damaged("a part without a head".into()))?;
            if part.size > size_max.get() {
                let size = Bytes::new(part.size);
                return Err(ClusterError::TooLarge { size, max: size_max });
            }
            all.extend_from_slice(part.bytes);
            if all.len() as u64 == part.size {
                let is_whole = Sha256::digest(&all).as_slice() == part.sha256;
                return is_whole
                    .then_some(all)
                    .ok_or_else(|| damaged("its SHA-256 differs".into()));
            }
            if part.bytes.is_empty() || all.len() as u64 > part.size {
                return Err(damaged(format!("{} of {} bytes", all.len(), part.size)));
            }
        }
    }

    /// Waits until all these members are present. Returns the members that are missing when the
    /// time is over.
    pub fn wait_for(&self, members: &[Name], within: Duration) -> Vec<Name> {
        let until = Instant::now() + within;
        loop {
            let present = self.present();
            let missing: Vec<Name> =
                members.iter().filter(|member| !present.contains(member)).cloned().collect();
            if missing.is_empty() || Instant::now() >= until {
                return missing;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn held(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens on these addresses, all with the port of the first; if that is 0, with a port that is
/// free for the first address.
fn with_port(listen: &[SocketAddr]) -> Result<(Vec<SocketAddr>, Vec<TcpListener>), ClusterError> {
    let (mut addresses, mut listeners) = (Vec::new(), Vec::new());
    let mut port = listen.first().map_or(0, SocketAddr::port);
    for address in listen {
        let address = SocketAddr::new(address.ip(), port);
        let bound = TcpListener::bind(address);
        let bound = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| ClusterError::Network {
            what: "listening",
            message: format!("{address}: {error}"),
        })?;
        port = address.port();
        addresses.push(address);
        listeners.push(listener);
    }
    Ok((addresses, listeners))
}

/// Returns an address or name with a port, in the form for a connection.
fn with(name: &str, port: u16) -> String {
    match name.contains(':') {
        true => format!("[{name}]:{port}"),
        false => format!("{name}:{port}"),
    }
}

/// Returns the access rules for members. All other access is denied.
fn allowed(keys: &Keys, members: &BTreeSet<Name>) -> Value {
    let rule = |id: &str, messages: &[&str], flows: &[&str], keys: Vec<String>| {
        json!({
            "id": id, "messages": messages, "flows": flows, "permission": "allow",
            "key_exprs": keys,
        })
    };
    let hub = vec![keys.hub()];
    let mut rules = vec![
        rule("hub-there", &["liveliness_token"], &["egress"], hub.clone()),
        // A member sends nothing unless it knows of a subscriber.
        rule(
            "hub-hears",
            &["declare_subscriber", "declare_liveliness_subscriber", "liveliness_query"],
            &["egress"],
            vec![keys.sent("*"), keys.member("*")],
        ),
        rule("hub-seen", &["declare_liveliness_subscriber", "liveliness_query"], &["ingress"], hub),
    ];
    let (mut subjects, mut policies) = (Vec::new(), Vec::new());
    for member in members {
        let name = member.as_str();
        rules.push(rule(
            name,
            &["put", "declare_queryable", "query", "reply", "liveliness_token"],
            &["ingress", "egress"],
            vec![keys.member(name), keys.sent(name), keys.asked(name, "*")],
        ));
        subjects.push(json!({ "id": name, "usernames": [name] }));
        policies.push(
            json!({ "rules": ["hub-there", "hub-hears", "hub-seen", name], "subjects": [name] }),
        );
    }
    json!({
        "enabled": true, "default_permission": "deny",
        "rules": rules, "subjects": subjects, "policies": policies,
    })
}

type Told = (Arc<Mutex<State>>, SyncSender<Event>);

fn sent((state, events): &Told, sample: &Sample) {
    let Ok(member) = Keys::last(sample.key_expr().as_str()).parse::<Name>() else { return };
    let bytes = sample.payload().to_bytes();
    let Some((joining, bytes)) = bytes.split_first_chunk::<8>() else { return };
    let Some((number, bytes)) = bytes.split_first_chunk::<8>() else { return };
    let (joining, number) = (u64::from_le_bytes(*joining), u64::from_le_bytes(*number));
    let mut state = held(state);
    let missed = state.missed(&member, (joining, number));
    let event = Event::Sent { member: member.clone(), bytes: bytes.to_vec(), missed };
    // An event without space is counted as missed by the next one.
    if events.try_send(event).is_ok() {
        state.next.insert(member, (joining, number.saturating_add(1)));
    }
}

fn came_or_went((state, events): &Told, sample: &Sample) {
    let Ok(member) = Keys::last(sample.key_expr().as_str()).parse::<Name>() else { return };
    let mut state = held(state);
    let event = match sample.kind() {
        SampleKind::Put => {
            state.present.insert(member.clone());
            Event::Joined(member)
        }
        SampleKind::Delete => {
            state.present.remove(&member);
            Event::Left(member)
        }
    };
    // The state has the present members, too, so a lost event does no harm.
    let _ = events.try_send(event);
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Hub");
        shown.field("cluster", &self.cluster).field("present", &self.present());
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_messages_are_counted_from_the_last_one_received() {
        let member: Name = "a".parse().expect("a name");
        let mut state = State::default();
        assert_eq!(state.missed(&member, (7, 0)), 0);
        state.next.insert(member.clone(), (7, 500));
        assert_eq!(state.missed(&member, (7, 500)), 0, "as if it had never been gone");
        assert_eq!(state.missed(&member, (7, 503)), 3);
        assert_eq!(state.missed(&member, (8, 3)), 3, "another joining counts from 0");
    }

    #[test]
    fn all_addresses_have_one_port() {
        let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let both = [address("127.0.0.1:0"), address("127.0.0.2:0")];
        let (found, _listeners) = with_port(&both).expect("a free one");
        assert!(found[0].port() != 0 && found[0].port() == found[1].port(), "{found:?}");
        assert_eq!((with("::1", 5), with("a", 5)), ("[::1]:5".to_owned(), "a:5".to_owned()));
    }
}
