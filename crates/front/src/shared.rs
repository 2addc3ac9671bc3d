use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::counters::Counters;

/// What a server's thread and its owner both see.
#[derive(Debug)]
pub(crate) struct Shared {
    pub stop: AtomicBool,
    pub event: Arc<OwnedFd>,
    pub counters: Counters,
}
