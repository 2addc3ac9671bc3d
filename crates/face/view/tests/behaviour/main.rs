//! Views against a plain model of the slices that they are made of.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

extern crate tilemark_view as view;

mod access;
mod course;
mod dialogues;
mod endings;
mod hosts;
mod model;
mod odd;
mod recorded_gauges;
mod report;
mod sentences;
mod summaries;
mod trend;
mod watched;
mod watched_host;
mod watched_hosts;
mod windows;
