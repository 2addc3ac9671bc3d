//! Behaviour of a mail server with the real programs. Each test that needs them says so and returns
//! where they are absent.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bench;
mod ending;
mod grammar;
mod mails;
mod starting;
