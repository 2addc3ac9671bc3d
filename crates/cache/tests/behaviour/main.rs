//! What the cache promises, seen from outside.

mod clusters;
mod curves;
mod invariants;
mod models;
mod oracle;
mod tier;
mod traces;
