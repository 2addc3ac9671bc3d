//! Acceleration tiers: which pages a cache keeps, which it admits, and how large it must be.
//!
//! Function: replacement policies behind one trait ([`Policy`]), from LRU to the offline bound of
//! Belady. Each cites its paper and says where it differs. The tier ([`Tier`]) adds admission,
//! write modes, limits per VM and clean-up to a policy. It maps an access to the I/Os that the
//! access causes on the fast and the slow device. A tier belongs to one host, or is spread over
//! several hosts that read from each other's shares and keep copies of each other's writes. There
//! are also miss-ratio curves ([`mrc`]): exact and sampled (SHARDS).
//!
//! Left out: devices, clocks, threads, randomness of its own, and page contents. The time of a hit
//! or a miss is the driver's task.
//!
//! Invariants: a policy holds at most its capacity, the referenced page is resident after every
//! reference, and a reference evicts at most one page. A resident page keeps its [`Slot`], so
//! callers can keep data of a page in an array. Memory grows with the pages. A reference allocates
//! only when more pages are known than ever before, and then by half of the present size.
//! Exceptions are the sketch of W-TinyLFU, 8 bytes per page, allocated at the start, and the state
//! of Belady, which is offline. The same references give the same outcomes, bit for bit.
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
