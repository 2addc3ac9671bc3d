//! Captures of real devices: the records agree with the kernel's counters.

mod disk;
mod group;
mod live;
mod owners;
mod privately;
mod sample;
