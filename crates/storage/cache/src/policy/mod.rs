//! Replacement policies: the choice of the page to evict.

mod arc;
mod belady;
mod clock;
mod contract;
mod kind;
mod lirs;
mod recency;
mod s3fifo;
mod sieve;
mod sketch;
mod tinylfu;
mod two_queue;

pub use arc::Arc;
pub use belady::Belady;
pub use clock::Clock;
pub use contract::{Evicted, Outcome, Policy};
pub use kind::{PolicyKind, UnknownPolicy};
pub use lirs::Lirs;
pub use recency::{Fifo, Lru};
pub use s3fifo::S3Fifo;
pub use sieve::Sieve;
pub use tinylfu::WTinyLfu;
pub use two_queue::TwoQueue;
