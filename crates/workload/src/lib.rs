//! Users in closed, paced and open loops, whose dialogues become I/O requests.
//!
//! What it does: turns a checked [`spec::workload::Workload`] into one [`machine::Machine`]
//! per instance: user groups with schedules and phases, actions as dialogues of reads,
//! writes, appends, flushes, CPU and waits, size and address distributions.
//!
//! What it refuses: devices, clocks, files; deciding whether a latency is good.
//!
//! Invariants: every user has at most one action under way; the requests of an instance
//! depend only on its seed path and on the events it received.
#![forbid(unsafe_code)]
