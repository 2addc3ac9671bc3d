//! Modelled array as a file system: its answers, their times, and its faults.

mod faults;
mod mounting;
mod played;
mod rig;
mod round_trip;
