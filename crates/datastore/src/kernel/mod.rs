//! Questions that only the kernel can answer and that have no safe wrapper: the only unsafe
//! code of this crate.

mod lease;
mod loop_status;

pub(crate) use lease::{OpenElsewhere, open_elsewhere};
pub(crate) use loop_status::{LoopStatus, loop_status};
