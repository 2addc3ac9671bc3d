//! Answer for people: sentences, tables and bars of text.

mod bars;
mod hosts;
mod plain;
mod vscsi_stats;

pub use hosts::hosts_text;
pub use plain::text;
pub use vscsi_stats::vscsi_stats;
