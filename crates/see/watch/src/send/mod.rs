//! Sends alarms to Alertmanager, web hooks and a program.
//!
//! Each receiver has a thread of its own, so that one that hangs delays neither another receiver
//! nor the watching. A message that cannot be sent is retried; later it is dropped, counted and
//! reported. No text contains the secrets of addresses or arguments of programs.

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
