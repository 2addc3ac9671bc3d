//! The ladder: chooses the next step, and evaluates the steps so far.

mod edge;
mod plateau;
mod rung;
mod search;
#[cfg(test)]
mod tests;

pub use edge::{CONFIDENCE, Edge};
pub use rung::{Judgement, Rung, StepResult};
pub use search::{Climb, Ladder, LadderOptions, Next, StepRunner};
