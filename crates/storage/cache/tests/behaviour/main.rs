//! Tests of the cache through its public interface.

mod clusters;
mod curves;
mod devices;
mod golden;
mod invariants;
mod models;
mod oracle;
#[path = "../../../../see/trace/tests/import/shared.rs"]
mod shared;
mod tier;
mod traces;
mod working_sets;
