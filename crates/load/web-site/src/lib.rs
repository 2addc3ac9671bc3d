//! Web site of a tile: a social calendar, modelled on Olio (Apache-2.0). It has persons, tags,
//! events with attendees and comments, and a picture and a document per event. The code is our own.
//!
//! What it does: generates the files ([`make_files`]), provides the statements that create the
//! tables ([`SCRIPT`]), and serves the pages in a process of its own ([`serve`]):
//!
//! | request | answer |
//! |---|---|
//! | `GET /event/ID` | page of an event, from the database |
//! | `GET /event/ID/picture`, `document` or `organiser` | a file: picture or document of the event, or picture of its organiser |
//! | `GET /search?tag=ID` | the ten newest events of a tag |
//! | `POST /event?person=ID&tag=ID` | adds an event; the body is its picture |
//!
//! A number that does not exist is folded into the range of the original data, so that the same
//! requests serve data of any size.
//!
//! What it refuses: all other requests, bodies above 1 MiB, and more connections than it was
//! started with. It listens on a socket in a directory and never in a network.
//!
//! Invariants: a path of a file consists of numbers and fixed words, never of a request's text. An
//! event that was answered as added is durable: first its picture (written, synced, renamed, its
//! directory synced), then its row. An open download holds one part of its file in memory. The
//! process ends with an error when a session of the database ends.
#![forbid(unsafe_code)]

mod ask;
mod database;
mod error;
mod files;
mod pages;
mod server;
mod sizes;
mod tables;
mod uploads;

pub use error::SiteError;
pub use files::{FILES, make_files};
pub use server::{SOCKET, SiteOptions, serve};
pub use sizes::Sizes;
pub use tables::{ROLE, SCRIPT, SESSIONS};
pub use uploads::UPLOADS;
