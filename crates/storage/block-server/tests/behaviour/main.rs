//! Disks over NBD and vhost-user: with a client of our own, with other people's programs, with those who lie, and
//! through kills.
#![expect(clippy::unwrap_used, reason = "tests")]

mod client;
mod coming;
mod crowd;
mod disks;
mod divided;
mod files;
mod flat;
mod gated;
mod killed;
mod later;
mod listening;
mod machine;
mod machines;
mod stopping;
mod tls;
mod tools;
