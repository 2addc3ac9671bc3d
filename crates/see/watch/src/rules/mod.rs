//! Rules, and the alarms that they raise. The module does no I/O and reads no clock: slices are the
//! input, changes of alarms the output.

mod alarm;
mod file;
mod judge;
mod limit;
mod pattern;
mod verdict;
mod words;

pub use alarm::{Alarm, Change, End, Ending, Subject, Sufferer, WindowValues};
pub use file::{Rule, Rules, SendTo, Severity};
pub use judge::Judge;
pub use limit::{Limit, LimitError, Percentile, Quantity};
pub use pattern::{EmptyPattern, Pattern};
pub use verdict::{CONFIDENCE, IOS_MIN};
pub(crate) use words::stamp;
