//! Tests of the readers of other tools' traces through their public interface.

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
