//! What readers of other tools' traces promise, seen from outside.

mod detection;
mod foreign;
mod fuzz;
mod help;
mod real;
mod samples;
mod shared;
mod streams;
mod tools;
mod traps;
