//! Models of storage in virtual time: disks, flash, RAID sets, controller memory, links, queue
//! limits, hosts that store copies together, and the host's CPU with its frequencies and watts.
//!
//! What it does: each model is a [`Component`], a state machine that takes jobs, hands parts of
//! them to other components and answers. An [`Array`] wires them into a tree (queue limit, link,
//! controller memory, RAID, disks) and maps virtual disks to its entries. A driver passes in the
//! time; `sim` does so from its event heap.
//!
//! What it refuses: real devices, clocks, threads, randomness of its own (random streams are passed
//! in when a component is made), bytes of data.
//!
//! Invariants: every job is answered exactly once; a component has at most one alarm pending per
//! server, however many jobs wait (a [`Link`] may have a few that came too early); times are whole
//! nanoseconds; ids are dense; the same jobs at the same times give the same answers, bit for bit.
//! A component can only name parts added before it, so the wiring has no cycles.
//!
//! Accuracy: parameters come from data sheets and published studies, as noted at each parameter.
//! From data sheets alone, expect errors of 10 to 30 % in absolute latency (MQSim, FAST 2018, table
//! 2, and the DiskSim 4 manual, section 6, show the accuracy of other simulators); the signs of
//! differences are more reliable than the values.
#![forbid(unsafe_code)]

mod array;
mod classes;
mod cpu;
mod delay;
mod effects;
mod error;
mod hdd;
mod lane;
mod limit;
mod link;
mod network;
mod part;
mod raid;
mod replicated;
mod servers;
mod site;
mod ssd;
mod station;
mod table;
mod usage;
mod variation;
mod watch;
mod wire;
mod write_back;

pub use array::{Array, Volume};
pub use classes::{ClassParameters, ClassQueue};
pub use cpu::{
    Clocking, CpuParameters, CpuSample, Femtojoules, Governor, HostCpu, HostEffects, HostPower,
    HostSample, IoCost, Protocol, RunOrder, Suspended, ThreadQueueParameters, joules, sums_of_20,
};
pub use delay::Delay;
pub use effects::ModelEffects;
pub use error::ParameterError;
pub use hdd::{Hdd, HddParameters, HddPreset, Order, SeekCurve, SeekTimes};
pub use limit::{LimitParameters, QueueLimit};
pub use link::{Copies, Link};
pub use network::{Network, Traffic};
pub use part::{Alarm, Class, Component, Job, Outbox, PartId, StreamId, Ticket};
pub use raid::{Raid, RaidLevel, RaidParameters};
pub use replicated::{HostWays, Replicated, ReplicatedCounts, ReplicatedParameters};
pub use servers::{Servers, ServersParameters};
pub use site::{InstancePlace, Site, SiteAlarm};
pub use ssd::{SlcCache, Ssd, SsdParameters, SsdPreset, lambert_w0, write_amplification_greedy};
pub use station::{ServiceTime, Station};
pub use table::{Table, TableLoop, TableParameters};
pub use usage::{Meter, Usage};
pub use variation::Variation;
pub use watch::Watched;
pub use wire::{LinkParameters, LinkPreset};
pub use write_back::{
    Mirrored, SsdBuffer, SsdBufferContent, SsdBufferParameters, WriteBack, WriteBackCounts,
    WriteBackParameters,
};
