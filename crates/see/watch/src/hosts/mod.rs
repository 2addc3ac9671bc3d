//! Shows the stores of several hosts as one. Data is not moved: a host answers questions about its
//! store with merged slices, never with files.
//!
//! [`answer`] answers a question on the host. [`HostStores`] asks all hosts, checks every answer
//! ([`check`]), and merges the accepted ones. A host that does not answer, or sends an impossible
//! answer, is named and left out, and asked again with the next question.

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
