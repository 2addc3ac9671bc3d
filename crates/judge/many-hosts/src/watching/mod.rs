//! Watch stores of hosts, queried by one controller while somebody reads them.
//!
//! An agent answers questions about the store that its owner allows ([`answered`]). The
//! controller's side starts the agents, and restarts an agent that exited or lost its connection
//! ([`WatchingHosts`]). In contrast to a run, a page continues with the hosts that are present.

mod agent;
mod hosts;

pub(crate) use agent::answered;
pub use hosts::WatchingHosts;
