//! Names of what is under way between a virtual machine and its storage.

/// Number of a virtual machine's request, which it keeps from the front end that takes it to the state
/// machine that carries it out. The front end chooses it; it is free again once the request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// Number of an I/O, which it keeps from the state machine that orders it to the ring that does it, and
/// back. The state machine chooses it; it is free again once the I/O has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub u32);
