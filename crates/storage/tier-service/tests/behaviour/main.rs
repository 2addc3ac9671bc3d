//! A served tier on real files, tested with the client that tests the front end.

extern crate block_server as tilemark_block_server;

#[path = "../../../block-server/tests/behaviour/client.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the front end's own tests, which use all of it")]
mod client;
mod coming;
mod copies;
mod door;
mod moving;
mod reserved;
mod served;
mod sidecars;
mod told;
mod unchanged;
