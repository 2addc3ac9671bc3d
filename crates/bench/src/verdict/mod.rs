//! What a step's window says: limits kept or broken, in numbers and in words.

mod generator;
mod limit;
mod samples;
mod step;
#[cfg(test)]
mod tests;
mod words;

pub use generator::{LATENESS_MAX, QUEUED_SHARE_MAX, WORKER_CPU_MAX, generator_health};
pub use limit::{CONFIDENCE, judge_limit, limit_name};
pub use samples::{LimitSamples, Samples};
pub use step::{DROPPED_SHARE_MAX, Judged, Member, StepJudge, worst_broken};
pub use words::sentence;
