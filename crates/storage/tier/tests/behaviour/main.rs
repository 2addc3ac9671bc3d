//! The state machine and its recovery against disks that fail, by one seed.

mod copies;
mod crash;
mod damage;
mod damaged;
mod formats;
mod keeper;
mod memory;
mod model;
mod moving;
mod older;
mod older_copies;
mod oracle;
mod parts;
mod peers;
mod places;
mod predicted;
mod promises;
mod roster;
mod world;
