//! Identifiers of requests and I/Os between a virtual machine and its storage.

/// Identifier of a virtual machine's request, from the front end that receives it to the state
/// machine that executes it. The front end chooses it, and may use it again after the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// Identifier of an I/O, from the state machine that issues it to the ring that executes it, and
/// back. The state machine chooses it, and may use it again after the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IoId(pub u32);
