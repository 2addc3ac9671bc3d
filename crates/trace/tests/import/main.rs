//! What readers of other tools' traces promise, seen from outside.

mod help;
mod real;
mod streams;
mod traps;
