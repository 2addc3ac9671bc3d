//! Behaviour of the engine, by file.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod disks;
mod faked;
mod loads;
mod prefill;
mod real;
mod verify_attack;
mod verify_faults;
mod verify_full;
mod verify_kill;
mod verify_rules;
