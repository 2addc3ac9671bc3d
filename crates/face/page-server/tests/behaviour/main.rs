//! The server over real sockets, with a fake provider.

extern crate tilemark_page_server as server;

mod asking;
mod beside;
mod client;
mod entering;
mod fake;
mod prometheus;
mod pushing;
mod recording;
mod watched;
mod watching;
