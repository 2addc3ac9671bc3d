//! Single steps on modelled arrays, for callers that choose their steps themselves. There is no run
//! directory and no live view, and the functions are thread-safe.

mod settings;
mod stage;
#[cfg(test)]
mod tests;
mod working_set;

pub use settings::Settings;
pub use stage::{Stage, step};
pub use working_set::WORKING_SET_PAGE;
