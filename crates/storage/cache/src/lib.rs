//! Acceleration tiers: which pages a cache keeps, which it lets in, and how large it must be.
//!
//! What it does: replacement policies behind one trait ([`Policy`]), from LRU to the offline
//! bound of Belady. Each cites its paper and says where it differs. On top of them the tier
//! ([`Tier`]): admission, write modes, limits per VM, clean-up; it maps an access to the I/Os it
//! causes on the fast and the slow device. It belongs to one host, or is spread over several that
//! read what the others hold and keep copies of their writes. Beside them miss-ratio curves
//! ([`mrc`]): exact and sampled (SHARDS).
//!
//! What it refuses: devices, clocks, threads, randomness of its own, and page contents. Time
//! spent on a hit or a miss is a driver's business.
//!
//! Invariants: a policy holds at most its capacity, after every reference the page referred to
//! is resident, and a reference evicts at most one page. A resident page keeps its [`Slot`], so
//! that callers keep what they know of a page in an array. Memory comes with the
//! pages: a reference allocates only when more pages are known than ever before, half as much
//! again at once (the sketch of W-TinyLFU, 8 bytes a page, is there from the start; so is what
//! Belady needs, which is offline). The same references give the same outcomes, bit for bit.
#![forbid(unsafe_code)]

mod index;
mod list;
pub mod mrc;
mod page;
mod places;
pub mod policy;
mod slab;
pub mod tier;

pub use page::{PageId, Slot};
pub use policy::{Evicted, Outcome, Policy, PolicyKind};
pub use tier::Tier;
