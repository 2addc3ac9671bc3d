//! Stores of several hosts as one. Data stays where it is: a host answers questions about its store
//! with merged slices, never with files.
//!
//! [`answer`] answers a question on the host. [`HostStores`] asks all hosts, checks every answer
//! ([`check`]), and merges those that hold. A host that does not answer, or answers what cannot be,
//! is named and left out, and asked again with the next question.

mod answer;
mod check;
mod merge;
mod stores;
mod wire;

#[cfg(test)]
mod tests;

pub use answer::{AnswerError, answer};
pub use merge::{HostSets, Merged, StoragePart};
pub use stores::{HostNote, HostState, HostStore, HostStores, HostTrouble};
