//! Shows the stores of several hosts as one. Data is not moved: a host answers questions about its
//! store with merged slices, never with files.
//!
//! [`answer`] answers a question on the host. [`HostStores`] asks all hosts, checks every answer
//! ([`check`]), and merges the accepted ones. A host that does not answer, or sends an impossible
//! answer, is named and left out, and asked again with the next question. A window that does not fit
//! in an answer is asked for in parts ([`long`]).

mod answer;
mod check;
mod host;
mod long;
mod merge;
mod stores;
mod wire;

#[cfg(test)]
mod tests;

pub use answer::{AnswerError, answer};
pub use host::{HostStore, HostTrouble};
pub use merge::{HostEvidence, HostSets, Merged, StoragePart};
pub use stores::{HostNote, HostState, HostStores};
