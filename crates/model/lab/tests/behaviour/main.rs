//! A modelled array as a file system: what it answers, when, and what goes wrong on purpose.

mod faults;
mod mounting;
mod played;
mod rig;
mod round_trip;
