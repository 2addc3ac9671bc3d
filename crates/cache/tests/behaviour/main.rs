//! What the cache promises, seen from outside.

mod invariants;
mod models;
mod oracle;
mod tier;
mod traces;
