//! Behaviour of the engine, by file.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod verify_rules;
