//! Tests which targets the datastore accepts and refuses: real directories, files, loop devices and
//! mounts. A test that needs root or a tool prints why it is skipped.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod adopt;
mod attacks;
mod block;
mod child;
mod directory;
mod file;
mod rig;
mod session;
mod unused;
