//! Captures of real devices: what the kernel counted is what was recorded.

mod disk;
mod live;
mod privately;
mod sample;
