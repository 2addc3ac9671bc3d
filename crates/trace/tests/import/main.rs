//! What readers of other tools' traces promise, seen from outside.

mod detection;
mod fuzz;
mod help;
mod real;
mod samples;
mod streams;
mod traps;
