//! Each policy beside a model written as plainly as its paper, without slots, hands or lists.

use std::collections::VecDeque;

use proptest::prelude::*;
use tilemark_cache::{PageId, PolicyKind};

/// Says whether a reference hits. Fronts are young, backs are old.
trait Model {
    fn reference(&mut self, page: u64) -> bool;
}

fn take(queue: &mut VecDeque<u64>, page: u64) -> bool {
    let found = queue.iter().position(|other| *other == page);
    found.is_some_and(|at| queue.remove(at).is_some())
}

struct LruModel(usize, VecDeque<u64>);

impl Model for LruModel {
    fn reference(&mut self, page: u64) -> bool {
        let hit = take(&mut self.1, page);
        self.1.push_front(page);
        self.1.truncate(self.0);
        hit
    }
}

struct FifoModel(usize, VecDeque<u64>);

impl Model for FifoModel {
    fn reference(&mut self, page: u64) -> bool {
        let hit = self.1.contains(&page);
        if !hit {
            self.1.push_front(page);
            self.1.truncate(self.0);
        }
        hit
    }
}

/// Pages with their reference bit, for CLOCK and SIEVE. The two policies differ in the treatment of
/// a page that is spared.
struct BitModel {
    capacity: usize,
    pages: VecDeque<(u64, bool)>,
    /// SIEVE: how many pages behind the hand were spared already.
    hand: Option<u64>,
    is_sieve: bool,
}

impl BitModel {
    fn evict_clock(&mut self) {
        while let Some((page, true)) = self.pages.pop_back() {
            self.pages.push_front((page, false));
        }
    }

    fn evict_sieve(&mut self) {
        let found = self.hand.and_then(|hand| self.pages.iter().position(|page| page.0 == hand));
        let mut at = found.unwrap_or(self.pages.len() - 1);
        while self.pages[at].1 {
            self.pages[at].1 = false;
            at = if at == 0 { self.pages.len() - 1 } else { at - 1 };
        }
        self.hand = (at > 0).then(|| self.pages[at - 1].0);
        self.pages.remove(at);
    }
}

impl Model for BitModel {
    fn reference(&mut self, page: u64) -> bool {
        if let Some(entry) = self.pages.iter_mut().find(|entry| entry.0 == page) {
            entry.1 = true;
            return true;
        }
        if self.pages.len() == self.capacity {
            if self.is_sieve { self.evict_sieve() } else { self.evict_clock() }
        }
        self.pages.push_front((page, false));
        false
    }
}

#[derive(Default)]
struct TwoQueueModel {
    capacity: usize,
    fresh: VecDeque<u64>,
    ghosts: VecDeque<u64>,
    proven: VecDeque<u64>,
}

impl TwoQueueModel {
    fn reclaim(&mut self) {
        if self.fresh.len() + self.proven.len() < self.capacity {
        } else if self.fresh.len() > (self.capacity / 4).max(1) || self.proven.is_empty() {
            self.ghosts.push_front(self.fresh.pop_back().expect("full"));
            self.ghosts.truncate((self.capacity / 2).max(1));
        } else {
            self.proven.pop_back();
        }
    }
}

impl Model for TwoQueueModel {
    fn reference(&mut self, page: u64) -> bool {
        if take(&mut self.proven, page) {
            self.proven.push_front(page);
            return true;
        }
        if self.fresh.contains(&page) {
            return true;
        }
        let is_ghost = take(&mut self.ghosts, page);
        self.reclaim();
        if is_ghost {
            self.proven.push_front(page)
        } else {
            self.fresh.push_front(page)
        }
        false
    }
}

#[derive(Default)]
struct ArcModel {
    capacity: usize,
    target: f64,
    t1: VecDeque<u64>,
    t2: VecDeque<u64>,
    b1: VecDeque<u64>,
    b2: VecDeque<u64>,
}

impl ArcModel {
    #[expect(clippy::cast_precision_loss, reason = "small caches")]
    fn replace(&mut self, in_b2: bool) {
        let t1 = self.t1.len() as f64;
        if !self.t1.is_empty() && (t1 > self.target || (in_b2 && t1 == self.target)) {
            self.b1.push_front(self.t1.pop_back().expect("not empty"));
        } else if let Some(page) = self.t2.pop_back() {
            self.b2.push_front(page);
        } else {
            self.b1.push_front(self.t1.pop_back().expect("full"));
        }
    }
}

impl Model for ArcModel {
    #[expect(clippy::cast_precision_loss, reason = "small caches")]
    fn reference(&mut self, page: u64) -> bool {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if take(&mut self.t1, page) || take(&mut self.t2, page) {
            self.t2.push_front(page);
            return true;
        }
        if self.b1.contains(&page) {
            self.target = (self.target + (b2 / b1).max(1.0)).min(self.capacity as f64);
            self.replace(false);
            take(&mut self.b1, page);
            self.t2.push_front(page);
            return false;
        }
        if self.b2.contains(&page) {
            self.target = (self.target - (b1 / b2).max(1.0)).max(0.0);
            self.replace(true);
            take(&mut self.b2, page);
            self.t2.push_front(page);
            return false;
        }
        let recent = self.t1.len() + self.b1.len();
        let all = recent + self.t2.len() + self.b2.len();
        if recent == self.capacity {
            if self.t1.len() < self.capacity {
                self.b1.pop_back();
                self.replace(false);
            } else {
                self.t1.pop_back();
            }
        } else if all >= self.capacity {
            if all == 2 * self.capacity {
                self.b2.pop_back();
            }
            self.replace(false);
        }
        self.t1.push_front(page);
        false
    }
}

#[derive(Default)]
struct S3FifoModel {
    capacity: usize,
    small: VecDeque<(u64, u8)>,
    main: VecDeque<(u64, u8)>,
    ghosts: VecDeque<u64>,
}

impl S3FifoModel {
    fn small_max(&self) -> usize {
        (self.capacity / 10).max(1)
    }

    fn make_room(&mut self) {
        while self.small.len() + self.main.len() >= self.capacity {
            if self.main.len() > self.capacity - self.small_max() || self.small.is_empty() {
                while let Some((page, uses @ 1..)) = self.main.pop_back() {
                    self.main.push_front((page, uses - 1));
                }
            } else if let Some((page, uses)) = self.small.pop_back() {
                if uses > 1 {
                    self.main.push_front((page, 0));
                } else {
                    self.ghosts.push_front(page);
                    self.ghosts.truncate((self.capacity - self.small_max()).max(1));
                }
            }
        }
    }
}

impl Model for S3FifoModel {
    fn reference(&mut self, page: u64) -> bool {
        let found = self.small.iter_mut().chain(&mut self.main).find(|entry| entry.0 == page);
        if let Some(entry) = found {
            entry.1 = (entry.1 + 1).min(3);
            return true;
        }
        let is_ghost = take(&mut self.ghosts, page);
        self.make_room();
        if is_ghost {
            self.main.push_front((page, 0))
        } else {
            self.small.push_front((page, 0))
        }
        false
    }
}

fn model(kind: PolicyKind, capacity: usize) -> Option<Box<dyn Model>> {
    let bits = |is_sieve| BitModel { capacity, pages: VecDeque::new(), hand: None, is_sieve };
    Some(match kind {
        PolicyKind::Lru => Box::new(LruModel(capacity, VecDeque::new())),
        PolicyKind::Fifo => Box::new(FifoModel(capacity, VecDeque::new())),
        PolicyKind::Clock => Box::new(bits(false)),
        PolicyKind::Sieve => Box::new(bits(true)),
        PolicyKind::TwoQueue => Box::new(TwoQueueModel { capacity, ..Default::default() }),
        PolicyKind::Arc => Box::new(ArcModel { capacity, ..Default::default() }),
        PolicyKind::S3Fifo => Box::new(S3FifoModel { capacity, ..Default::default() }),
        // They have the invariants and the oracle of real traces.
        PolicyKind::Lirs | PolicyKind::WTinyLfu => return None,
    })
}

proptest! {
    #[test]
    fn every_reference_hits_exactly_when_the_plain_model_hits(
        pages in prop::collection::vec(0_u64..48, 0..800),
        capacity in 1_usize..32,
    ) {
        for kind in PolicyKind::ALL {
            let Some(mut model) = model(kind, capacity) else { continue };
            let mut policy = kind.build(capacity);
            for (at, page) in pages.iter().enumerate() {
                let is_hit = policy.reference(PageId(*page)).is_hit();
                prop_assert_eq!(is_hit, model.reference(*page), "{} at reference {}", kind, at);
            }
        }
    }
}
