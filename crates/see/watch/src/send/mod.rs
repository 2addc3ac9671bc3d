//! Senders of alarms: Alertmanager, web hooks and a program.
//!
//! Each receiver has a thread of its own, so that one that hangs delays no other and nothing of the
//! watching. What cannot be sent is retried, then given up, counted and told. Secrets of addresses
//! and arguments of programs are in no text.

mod alertmanager;
mod document;
mod queue;
mod receiver;
mod senders;
mod trouble;

pub(crate) use document::Document;
pub use receiver::Timing;
pub use senders::Senders;
pub use trouble::{Problem, SendError, Trouble};
