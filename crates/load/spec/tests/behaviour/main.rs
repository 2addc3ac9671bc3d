//! Promises of the language, tested from outside.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod any_text;
mod arrays;
mod documents;
mod mails;
mod messages;
mod real_workloads;
mod schemas;
mod shipped;
mod studies;
