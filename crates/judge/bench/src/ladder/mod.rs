//! The ladder: which step to run next, and what the steps run so far say.

mod edge;
mod plateau;
mod rung;
mod search;
#[cfg(test)]
mod tests;

pub use edge::{CONFIDENCE, Edge};
pub use rung::{Judgement, Rung, StepResult};
pub use search::{Climb, Ladder, LadderOptions, Next, StepRunner};
