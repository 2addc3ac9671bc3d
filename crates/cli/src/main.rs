//! The `tilemark` command.
fn main() {}
