use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use units::Bytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Query;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Session, Wait};

use crate::MESSAGE_MAX;
use crate::clock::monotonic;
use crate::error::{ClusterError, RemoteError};
use crate::identity::Invitation;
use crate::session::{Keys, endpoint, open};
use crate::tunnel::Tunnel;

/// Topic of clock requests, which are answered at once.
pub(crate) const CLOCK: &str = "clock";
/// Topic of requests for a part of an offer.
pub(crate) const FETCH: &str = "fetch";
/// Size of a part, in bytes. Our choice: a small share of the maximum message.
const PART: usize = 4 << 20;
/// Maximum number of requests in progress; further requests are refused.
const ASKED_MAX: u32 = 16;

/// Request from the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Topic of the request: the last part of its key.
    pub topic: String,
    /// Content of the request.
    pub question: Vec<u8>,
}

/// Handler of requests. Each call has its own thread, so that a long answer does not delay other
/// answers.
pub trait Answer: Send + Sync {
    /// Answers a request.
    ///
    /// # Errors
    ///
    /// If the request cannot be answered.
    fn answer(&self, asked: Asked) -> Result<Vec<u8>, RemoteError>;
}

impl<F: Fn(Asked) -> Result<Vec<u8>, RemoteError> + Send + Sync> Answer for F {
    fn answer(&self, asked: Asked) -> Result<Vec<u8>, RemoteError> {
        self(asked)
    }
}

/// Member side of a cluster.
pub struct Member {
    session: Session,
    shared: Arc<Shared>,
    publisher: Publisher<'static>,
    /// Number that distinguishes this joining from others under the same name: its time by this
    /// host's clock.
    joining: u64,
    sent: AtomicU64,
    _alive: LivelinessToken,
    tunnel: Tunnel,
}

struct Shared {
    answer: Box<dyn Answer>,
    offered: Mutex<HashMap<String, Offered>>,
    under_way: AtomicU32,
    is_alone: AtomicBool,
}

/// Offered file, with its properties at the time of the offer.
struct Offered {
    file: File,
    size: u64,
    sha256: [u8; 32],
}

impl Member {
    /// Joins the inviting hub.
    ///
    /// # Errors
    ///
    /// If the invitation has expired, no trusted hub is reached in this time, or the hub refuses.
    pub fn join(
        invitation: &Invitation,
        lease: Duration,
        within: Duration,
        answer: Box<dyn Answer>,
    ) -> Result<Self, ClusterError> {
        invitation.is_valid()?;
        let until = Instant::now() + within;
        let Invitation { hub, authority, own, password, .. } = invitation;
        let tunnel = Tunnel::connect(hub, authority, own, within)?;
        let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let session = open(
            "joining",
            lease,
            &[
                ("mode", json!("client")),
                ("connect/endpoints", json!([endpoint(&tunnel.socket())])),
                ("connect/timeout_ms", json!(within_ms)),
                ("connect/exit_on_failure", json!(true)),
                ("transport/auth/usrpwd/user", json!(invitation.member)),
                ("transport/auth/usrpwd/password", json!(password)),
            ],
        )?;
        // The only connection is made, so the directory can go; nothing stays, however this process
        // ends.
        let _ = std::fs::remove_dir_all(tunnel.directory());
        let keys = Keys::of(&invitation.cluster);
        let name = invitation.member.as_str();
        let shared = Arc::new(Shared {
            answer,
            offered: Mutex::default(),
            under_way: AtomicU32::new(0),
            is_alone: AtomicBool::new(true),
        });
        let network = ClusterError::network("joining");
        let own = Arc::clone(&shared);
        session
            .liveliness()
            .declare_subscriber(keys.hub())
            .history(true)
            .callback(move |sample: Sample| {
                own.is_alone.store(sample.kind() == SampleKind::Delete, Ordering::Release);
            })
            .background()
            .wait()
            .map_err(&network)?;
        let own = Arc::clone(&shared);
        session
            .declare_queryable(keys.asked(name, "*"))
            .callback(move |query| asked(&own, query))
            .background()
            .wait()
            .map_err(&network)?;
        let publisher = session
            .declare_publisher(keys.sent(name))
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::DataLow)
            .wait()
            .map_err(&network)?;
        while shared.is_alone.load(Ordering::Acquire) {
            if Instant::now() >= until {
                let message = String::from("the hub refused it");
                return Err(ClusterError::Network { what: "joining", message });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let alive = session.liveliness().declare_token(keys.member(name)).wait();
        let alive = alive.map_err(&network)?;
        let (joining, sent) = (monotonic().0, AtomicU64::new(0));
        Ok(Self { session, shared, publisher, joining, sent, _alive: alive, tunnel })
    }

    /// Returns true if the hub is lost, so that work for it must stop.
    pub fn is_alone(&self) -> bool {
        self.shared.is_alone.load(Ordering::Acquire) || self.session.is_closed()
    }

    /// Stops sending and receiving without notice, as at a power loss. The hub reports the member
    /// as gone after its lease. After that the member can join again.
    pub fn fall_silent(&self) {
        self.tunnel.cut();
    }

    /// Sends a message that may be lost. The hub detects a loss when the next message arrives.
    ///
    /// # Errors
    ///
    /// If the message is too large, or the session is closed.
    pub fn send(&self, bytes: &[u8]) -> Result<(), ClusterError> {
        let size = Bytes::new(bytes.len() as u64);
        if size >= MESSAGE_MAX {
            return Err(ClusterError::TooLarge { size, max: MESSAGE_MAX });
        }
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let message = [&self.joining.to_le_bytes()[..], &number.to_le_bytes(), bytes].concat();
        self.publisher.put(message).wait().map_err(ClusterError::network("sending"))
    }

    /// Offers a file under a name, in place of an earlier offer. The file is read once for its
    /// hash.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn offer(&self, what: &str, mut file: File) -> io::Result<()> {
        let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            hash.update(&buffer[..count]);
            size += count as u64;
        }
        let offered = Offered { file, size, sha256: hash.finalize().into() };
        self.shared.offered().insert(what.to_owned(), offered);
        Ok(())
    }

    /// Withdraws an offer.
    pub fn withdraw(&self, what: &str) {
        self.shared.offered().remove(what);
    }
}

impl Shared {
    fn offered(&self) -> MutexGuard<'_, HashMap<String, Offered>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn part(&self, question: &[u8]) -> Result<Vec<u8>, RemoteError> {
        let wanted: PartRequest = serde_json::from_slice(question).map_err(|error| {
            RemoteError::new(format!("reading the name of the requested data: {error}"))
        })?;
        let offered = self.offered();
        let found = offered.get(&wanted.what).ok_or_else(|| {
            let what: String = wanted.what.chars().take(80).collect();
            RemoteError::new(format!("there are no data called {what:?}"))
        })?;
        let left = found.size.saturating_sub(wanted.from);
        let mut bytes = vec![0; usize::try_from(left).unwrap_or(PART).min(PART)];
        found
            .file
            .read_exact_at(&mut bytes, wanted.from)
            .map_err(|error| RemoteError::new(format!("reading the offered data: {error}")))?;
        Ok(OfferPart { size: found.size, sha256: found.sha256, bytes: &bytes }.write())
    }
}

/// Answers a request, or starts a thread for it; the callback itself never blocks.
fn asked(shared: &Arc<Shared>, query: Query) {
    let now = monotonic();
    let topic = Keys::last(query.key_expr().as_str()).to_owned();
    if topic == CLOCK {
        return reply(&query, Ok(now.0.to_le_bytes().to_vec()));
    }
    if shared.under_way.fetch_add(1, Ordering::AcqRel) >= ASKED_MAX {
        shared.under_way.fetch_sub(1, Ordering::AcqRel);
        return reply(
            &query,
            Err(RemoteError::new(format!("more than {ASKED_MAX} requests at once"))),
        );
    }
    let own = Arc::clone(shared);
    let thread = std::thread::Builder::new().name(String::from("asked"));
    let spawned = thread.spawn(move || {
        let payload = query.payload();
        let question = payload.map(|bytes| bytes.to_bytes().into_owned()).unwrap_or_default();
        let answer = match topic == FETCH {
            true => own.part(&question),
            false => own.answer.answer(Asked { topic, question }),
        };
        // Counted down before the answer is sent, because its receiver may ask again at once.
        own.under_way.fetch_sub(1, Ordering::AcqRel);
        reply(&query, answer);
    });
    if spawned.is_err() {
        shared.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Sends 0 and the answer, or 1 and the error text.
fn reply(query: &Query, answer: Result<Vec<u8>, RemoteError>) {
    let (kind, bytes) = match answer {
        Ok(bytes) if bytes.len() as u64 >= MESSAGE_MAX.get() => {
            let text = format!("an answer of {} bytes is too large", bytes.len());
            (1, RemoteError::new(text).to_bytes())
        }
        Ok(bytes) => (0, bytes),
        Err(error) => (1, error.to_bytes()),
    };
    let message = [&[kind][..], &bytes].concat();
    // The requester may be gone.
    let _ = query.reply(query.key_expr(), message).wait();
}

/// Request for a part of an offer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartRequest {
    pub what: String,
    pub from: u64,
}

/// Part of an offer, with size and hash of the whole offer.
pub(crate) struct OfferPart<'a> {
    pub size: u64,
    pub sha256: [u8; 32],
    pub bytes: &'a [u8],
}

impl<'a> OfferPart<'a> {
    fn write(&self) -> Vec<u8> {
        [&self.size.to_le_bytes()[..], &self.sha256, self.bytes].concat()
    }

    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk::<8>()?;
        let (sha256, bytes) = rest.split_first_chunk::<32>()?;
        Some(Self { size: u64::from_le_bytes(*size), sha256: *sha256, bytes })
    }
}

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member").field("is_alone", &self.is_alone()).finish_non_exhaustive()
    }
}
