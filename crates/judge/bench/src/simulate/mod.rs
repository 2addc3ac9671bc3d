//! Single steps on modelled arrays, for callers that choose their steps themselves: no run
//! directory, no live view, and safe to call from several threads at once.

mod settings;
mod stage;
#[cfg(test)]
mod tests;
mod working_set;

pub use settings::Settings;
pub use stage::{Stage, step};
pub use working_set::WORKING_SET_PAGE;
