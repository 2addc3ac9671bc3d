//! Live capture of block I/O from the kernel's tracepoints.
//!
//! What it does: reads `block_rq_issue`, `block_rq_insert` and `block_rq_complete` from the raw
//! ring buffers of a tracing instance of its own, joins them into [`trace::IoRecord`]s, and says
//! whose I/O each was (process, control group, QEMU virtual machine).
//!
//! What it refuses: slowing what it watches (it drops and counts, it never blocks the traced
//! I/O), other people's tracing instances, guessing at an event's layout (the kernel's own
//! description of it is read each time).
#![forbid(unsafe_code)]
