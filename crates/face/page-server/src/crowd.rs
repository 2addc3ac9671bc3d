//! Limits the number of connections. At the limit a new connection replaces the one to which
//! nothing was sent for the longest time, so slow clients keep no other client out.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::AbortHandle;

/// Maximum number of connections at the same time.
const ALL_MAX: usize = 256;
/// Maximum number of connections of one peer: half, so that no peer takes all.
const PEER_MAX: usize = ALL_MAX / 2;

/// Open connections.
#[derive(Debug, Default)]
pub struct Crowd {
    clock: Arc<AtomicU64>,
    places: Vec<PeerSlot>,
}

#[derive(Debug)]
struct PeerSlot {
    peer: IpAddr,
    activity: Activity,
    task: AbortHandle,
}

/// Time of the last send on a connection, or of the connection's start. The clock counts sends and
/// starts of all connections.
#[derive(Debug, Clone)]
pub struct Activity {
    clock: Arc<AtomicU64>,
    last: Arc<AtomicU64>,
}

impl Activity {
    /// Records that bytes are sent now.
    pub fn note(&self) {
        self.last.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Crowd {
    /// Admits a connection from a peer; `start` starts the connection's task. At a limit, the
    /// connection to which nothing was sent for the longest time is ended: a connection of the peer
    /// at the peer's limit, or else any.
    pub fn admit(&mut self, peer: IpAddr, start: impl FnOnce(Activity) -> AbortHandle) {
        self.places.retain(|place| !place.task.is_finished());
        let of_peer = self.places.iter().filter(|place| place.peer == peer).count();
        if of_peer >= PEER_MAX {
            self.end_idlest(|place| place.peer == peer);
        } else if self.places.len() >= ALL_MAX {
            self.end_idlest(|_| true);
        }
        let activity = Activity { clock: Arc::clone(&self.clock), last: Arc::default() };
        activity.note();
        let task = start(activity.clone());
        self.places.push(PeerSlot { peer, activity, task });
    }

    fn end_idlest(&mut self, concerns: impl Fn(&PeerSlot) -> bool) {
        let places = self.places.iter().enumerate().filter(|(_, place)| concerns(place));
        let idlest = places.min_by_key(|(_, place)| place.activity.last.load(Ordering::Relaxed));
        if let Some((number, _)) = idlest {
            self.places.swap_remove(number).task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_cannot_take_all_slots_and_active_peers_keep_theirs() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(crowded());
    }

    async fn crowded() {
        let mut crowd = Crowd::default();
        let admit = |crowd: &mut Crowd, peer: [u8; 4]| {
            let mut own = None;
            crowd.admit(peer.into(), |activity| {
                own = Some(activity);
                tokio::spawn(std::future::pending::<()>()).abort_handle()
            });
            own.expect("started")
        };
        let viewer = admit(&mut crowd, [10, 0, 0, 1]);
        let place = crowd.places[0].task.clone();
        for _ in 0..1000 {
            admit(&mut crowd, [10, 0, 0, 2]);
            viewer.note();
        }
        assert_eq!(crowd.places.len(), PEER_MAX + 1);
        for last in 3..=200 {
            admit(&mut crowd, [10, 0, 0, last]);
            viewer.note();
        }
        assert_eq!(crowd.places.len(), ALL_MAX);
        tokio::task::yield_now().await;
        assert!(!place.is_finished(), "the viewer is still there");
    }
}
