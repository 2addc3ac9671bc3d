//! The machine and its recovery against disks that fail, by one seed.

mod crash;
mod formats;
mod oracle;
mod predicted;
mod promises;
mod world;
