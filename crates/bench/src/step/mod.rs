//! One step: what its slices add up to, when it is warm, and how it is run.

mod totals;
mod warm_up;
mod window;

pub use totals::{ActionTotals, KindTotals, add_compact};
pub use warm_up::{WarmUpBounds, WarmUpRule};
pub use window::{DirectionTotals, GeneratorTotals, InstanceTotals, Window};
