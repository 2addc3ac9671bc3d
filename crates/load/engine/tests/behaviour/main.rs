//! Behaviour of the engine, by file.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod calls;
mod copies;
mod disks;
mod encrypted;
mod faked;
mod loads;
mod mails;
mod moving;
mod prefill;
mod real;
mod real_tls;
mod service;
mod starttls;
mod verify_attack;
mod verify_faults;
mod verify_full;
mod verify_kill;
mod verify_rules;
