//! Watch stores of hosts, asked by one controller for as long as somebody looks at them.
//!
//! An agent answers questions about the store that its owner allows ([`answered`]). The controller's
//! side starts the agents, and starts one again that ended or was cut off ([`WatchingHosts`]): other
//! than a run, a page goes on with the hosts that are there.

mod agent;
mod hosts;

pub(crate) use agent::answered;
pub use hosts::WatchingHosts;
