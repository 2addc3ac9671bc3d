//! One ladder over many hosts: an [`Agent`] on each, which owns an engine and a datastore there, and a
//! rig that drives them all as if they were one.
//!
//! What it does: starts agents ([`Launch`]: ssh, any command, or by hand with a join token), finds out
//! who they are and whether they see the same storage, places tiles on them, begins every step
//! at one moment, gathers their slices into those of the whole, and says of each host how late, how
//! slow and how well fed it was; carries out what a plan has happen to hosts: tiles move, hosts stand still
//! or are lost. Ladder, verdict, score and run directory are `bench`'s and do not know more of hosts than a
//! name for each tile.
//!
//! What it refuses: judging; a target that the host's owner did not allow ([`Allowed`]); a host of another
//! version; two hosts that see different files under one path; a step without all of its hosts.
//!
//! # How it works
//!
//! Everything that is asked of an agent is a question of `cluster` with a JSON document ([`wire`]), safe to
//! repeat: a load is named by its epoch. What takes long (filling disks, reading back) is begun by one
//! question and looked after by others, so that no answer is waited for longer than seconds. Slices are sent
//! as they come and kept by the agent until the step is over; one that was lost on the way is asked for.
//!
//! Invariants: nothing but data travels, and the same order gives the same requests wherever it is driven; a
//! step is judged on every slice of every host or is void, with the name of the host that lacks, unless the plan
//! says that tiles of a lost host start again; a tile is driven by one host at a time; whoever is
//! alone ends its load, removes what it made and ends.
#![forbid(unsafe_code)]

mod agent;
mod allowed;
mod controller;
mod gather;
mod happening;
mod hold;
mod launch;
mod link;
mod load;
mod merge;
mod moves;
mod opening;
mod refusal;
mod rig;
mod run;
mod seeing;
mod shares;
mod simulating;
mod steps;
mod under_way;
pub mod wire;
mod workers;

pub use agent::{Agent, AgentEnd, AgentOptions};
pub use allowed::{AGENT_FILE, AgentFile, Allowed, AllowedError, Recordings};
pub use cluster::{Invitation, Name, remove_stale};
pub use controller::{Controller, LEASE, Options, Present, Sharing};
pub use launch::{By, Launch, LaunchError};
pub use merge::{Merge, Part, VmsOf};
pub use refusal::AgentError;
pub use rig::{Cleared, HostsRig};
pub use run::{HostsRun, prepare, run};
pub use seeing::{Collected, FoldOrder, Going, RecordOrder, SenderBy, Told};
pub use steps::Steps;
pub use workers::Workers;
