//! Captures of real devices: what the kernel counted is what was recorded.

mod disk;
mod group;
mod live;
mod owners;
mod privately;
mod sample;
