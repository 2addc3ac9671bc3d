//! Judgement of a step's window: limits met or broken, in numbers and in words.

mod generator;
mod judge;
mod limit;
mod samples;
mod services;
mod stated;
mod step;
#[cfg(test)]
mod tests;
mod undelivered;
mod words;

pub use generator::{LATENESS_MAX, QUEUED_SHARE_MAX, WORKER_CPU_MAX, generator_health};
pub use judge::StepJudge;
pub use limit::{CONFIDENCE, judge_limit};
pub use samples::{LimitSamples, Samples};
pub use services::excuse_silent_service;
pub use step::{DROPPED_SHARE_MAX, Judged, worst_broken};
pub use undelivered::{QUEUE_GREW, fail_undelivered};
pub use words::sentence;
