use machine::Operation;

use crate::tier::Wait;

/// A host: its position in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// Where a step happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClusterPlace {
    /// The share of a host; offsets lie within it.
    Share(HostId),
    /// The store behind all; offsets are those of the accesses.
    Backing,
}

/// Which bytes a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// The request's own: what it writes, or what it is answered with.
    Request,
    /// A read brings them for later steps of the same list; a write takes what a read before it
    /// brought for the same address.
    Moved,
}

/// One I/O that an access, a clean-up or a failure causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterStep {
    /// Where it happens.
    pub place: ClusterPlace,
    /// The host that asks for it: a step on another host's share crosses the network.
    pub by: HostId,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on that device.
    pub offset: u64,
    /// First byte on the backing store of the data that is moved.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// Whose bytes.
    pub data: Data,
    /// Who waits.
    pub wait: Wait,
}

impl ClusterStep {
    /// Whether it crosses the network between hosts.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, ClusterPlace::Share(host) if host != self.by)
    }
}
