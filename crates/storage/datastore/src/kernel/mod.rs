//! System calls that have no safe wrapper: the only unsafe code of this crate.

mod fs_uuid;
mod lease;
mod loop_status;

pub(crate) use fs_uuid::fs_uuid;
pub(crate) use lease::{OpenElsewhere, open_elsewhere};
pub(crate) use loop_status::{LoopStatus, loop_status};
