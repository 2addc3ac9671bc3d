use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sim::plant::TierState;
use spec::array::Array;

/// Maximum number of states that are kept: the ones in use, and one more. A state of a large cache
/// takes hundreds of megabytes.
const KEPT: usize = 3;

/// States of warmed tiers for steps that start alike: repeats of a step, and steps on arrays whose
/// differences do not affect warming. Threads share the states. A thread that needs a state which
/// another thread is computing waits for it.
#[derive(Debug, Default)]
pub struct Warmed(Mutex<Vec<(WarmKey, SharedState)>>);

/// A state, or an empty cell for it.
pub type SharedState = Arc<OnceLock<TierState>>;

/// Everything that a warmed state depends on, except the tile and its scale.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmKey {
    array: Array,
    tiles: u32,
    seed: u64,
    stage: usize,
}

impl WarmKey {
    /// Creates the key for a number of tiles on an array with a seed. `stage` distinguishes tiles
    /// and their scales.
    pub fn new(array: &Array, tiles: u32, seed: u64, stage: usize) -> Self {
        Self { array: as_warming_sees(array), tiles, seed, stage }
    }
}

impl Warmed {
    /// Returns the cell for the state of a key. The oldest states are dropped.
    pub fn state(&self, key: WarmKey) -> SharedState {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(known, _)| *known == key) {
            // Moved to the end: the states used last are dropped last.
            let found = kept.remove(at);
            let state = Arc::clone(&found.1);
            kept.push(found);
            return state;
        }
        if kept.len() == KEPT {
            kept.remove(0);
        }
        let state = SharedState::default();
        kept.push((key, Arc::clone(&state)));
        state
    }
}

/// Returns the array without the parts that do not affect warming. Warming takes no time, so
/// queues, links and the disks behind pools and tiers do not matter. If hosts' own disks are the
/// storage, they define the sizes of caches and buffers, so everything matters.
fn as_warming_sees(array: &Array) -> Array {
    let mut array = array.clone();
    for text in [&mut array.name, &mut array.title, &mut array.source] {
        text.clear();
    }
    if array.local.is_some() {
        return array;
    }
    (array.lun_queue, array.link) = (None, None);
    array.disks.clear();
    for pool in &mut array.pools {
        pool.disk.clear();
        (pool.count, pool.sets, pool.raid) = (0, 0, spec::array::Raid::default());
    }
    for tier in &mut array.tiers {
        tier.disk.clear();
        (tier.count, tier.raid) = (0, spec::array::Raid::default());
    }
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(name: &str) -> Array {
        spec::shipped::array(name).expect("it is shipped")
    }

    fn key(array: &Array) -> WarmKey {
        WarmKey::new(array, 2, 1, 0)
    }

    #[test]
    fn arrays_with_other_disks_share_a_state_with_other_tiers_not() {
        let own = array("vnx5500");
        let mut fewer = own.clone();
        fewer.pools[0].count -= 1;
        assert!(key(&own) == key(&fewer));
        let mut smaller = own.clone();
        smaller.tiers[0].size = smaller.tiers[0].size.scale(0.5);
        assert!(key(&own) != key(&smaller));
        assert!(key(&own) != WarmKey::new(&own, 3, 1, 0));
        assert!(key(&own) != WarmKey::new(&own, 2, 2, 0));
    }

    #[test]
    fn hosts_with_other_disks_of_their_own_do_not_share_a_state() {
        let own = array("vsan-6-hybrid");
        let mut fewer = own.clone();
        fewer.local.as_mut().expect("hosts with disks").count -= 1;
        assert!(key(&own) != key(&fewer));
    }

    #[test]
    fn what_was_asked_for_last_is_kept() {
        let (warmed, own) = (Warmed::default(), array("vnx5500"));
        let of = |tiles| warmed.state(WarmKey::new(&own, tiles, 1, 0));
        let first = of(1);
        for tiles in 2..=3 {
            of(tiles);
        }
        assert!(Arc::ptr_eq(&first, &of(1)));
        of(4);
        assert!(Arc::ptr_eq(&first, &of(1)), "2 is the oldest");
        (5..8).for_each(|tiles| drop(of(tiles)));
        assert!(!Arc::ptr_eq(&first, &of(1)));
    }
}
