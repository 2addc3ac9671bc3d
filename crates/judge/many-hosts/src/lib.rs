//! Runs one ladder over many hosts: an [`Agent`] on each, with an engine and a datastore there, and
//! a rig that drives them all as one.
//!
//! It starts agents ([`Launch`]: ssh, any command, or by hand with a join token), identifies them
//! and checks that they see the same storage, places tiles on them, begins every step at one
//! moment, merges their slices, and reports for each host lateness, speed and lost messages. It
//! carries out a plan's events on hosts: moves, pauses and power loss. Ladder, verdict, score and
//! run directory belong to `bench`, which knows of hosts only a name for each tile. It also reaches
//! the watch stores of hosts ([`WatchingHosts`]) for as long as somebody looks at them.
//!
//! It refuses to judge; a target that the host's owner did not allow ([`Allowed`]); a host of
//! another version; two hosts that see different files under one path; a step without all of its
//! hosts.
//!
//! # How it works
//!
//! Every order to an agent is a request of `cluster` with a JSON document ([`wire`]), safe to
//! repeat: a load is named by its epoch. Long work (filling disks, reading back) is begun by one
//! request and followed by others, so that no answer takes longer than seconds. Agents send slices
//! as they are made, and keep them until the step is over; the controller asks again for lost ones.
//!
//! Invariants: only data are sent, and the same order gives the same I/O on any host. A step is
//! judged on every slice of every host, or is void with the name of the missing host, unless the
//! plan restarts tiles of a lost host. A tile is driven by one host at a time. An agent without a
//! controller ends its load, removes what it made and ends.
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
