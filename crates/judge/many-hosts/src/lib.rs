//! Runs one ladder over many hosts: an [`Agent`] on each, with an engine and a datastore there, and
//! a rig that drives all of them as one.
//!
//! It starts agents ([`Launch`]: ssh, any command, or by hand with a join token), identifies them
//! and checks that they see the same storage, places tiles on them, starts every step at one
//! moment, and merges their slices. For each host it reports lateness, speed and lost messages. It
//! carries out a plan's events on hosts: moves, pauses and power loss. Ladder, verdict, score and
//! run directory belong to `bench`, which only knows a host name for each tile. It also reaches the
//! watch stores of hosts ([`WatchingHosts`]) while somebody reads them.
//!
//! It refuses to judge; a target that the host's owner did not allow ([`Allowed`]); a host with
//! another version; two hosts that see different files under one path; a step without all of its
//! hosts.
//!
//! # How it works
//!
//! Every order to an agent is a request of `cluster` with a JSON document ([`wire`]). It is safe to
//! repeat, because a load is identified by its epoch. Long work (filling disks, reading back) is
//! started by one request and polled by others, so that no answer takes longer than seconds. Agents
//! send slices when they are complete, and keep them until the step is over. The controller
//! requests lost slices again.
//!
//! Invariants: only data is sent, and the same order gives the same I/O on any host. A step is
//! judged from all slices of all hosts. Otherwise it is invalid, with the name of the missing host,
//! unless the plan restarts tiles of a lost host. A tile is driven by one host at a time. An agent
//! without a controller ends its load, removes everything that it created, and exits.
#![forbid(unsafe_code)]

mod agent;
mod allowed;
mod controller;
mod gather;
mod happening;
mod hold;
mod hub;
mod launch;
mod link;
mod load;
mod merge;
mod moves;
mod opening;
mod options;
mod refusal;
mod rig;
mod run;
mod seeing;
mod shares;
mod simulating;
mod steps;
mod under_way;
mod watching;
pub mod wire;
mod workers;

pub use agent::{Agent, AgentEnd, AgentOptions};
pub use allowed::{AGENT_FILE, AgentFile, Allowed, AllowedError, Recordings, WatchStore};
pub use cluster::{Invitation, Name, remove_stale};
pub use controller::{Controller, Present};
pub use launch::{By, Launch, LaunchError};
pub use merge::{LoadPart, Merge, VmsOf};
pub use options::{LEASE, Options, Sharing};
pub use refusal::AgentError;
pub use rig::{Cleared, HostsRig};
pub use run::{HostsRun, prepare, run};
pub use seeing::{Collected, FoldOrder, Going, RecordOrder, RecordingState, SenderBy};
pub use steps::Steps;
pub use watching::WatchingHosts;
pub use workers::Workers;
