//! Results as text for people: plain functions from stored results to lines.

mod brief;
pub mod cache_hits;
mod calibration;
mod comparison;
mod estate;
mod events;
mod hosts;
mod model;
pub mod neighbours;
mod power;
mod recheck;
#[cfg(feature = "hosts")]
mod recorded_hosts;
mod recording;
mod replay;
mod step;
mod study;
mod summary;
pub mod trend;
pub mod watch;
pub mod watch_evidence;
#[cfg(feature = "hosts")]
pub mod watch_hosts;
pub mod watch_rules;
mod what_if;

use brief::brief;
pub use calibration::calibration;
pub use comparison::comparison;
pub use estate::estate;
use events::events;
use hosts::hosts;
pub use model::model;
use power::{power, power_of_steps};
pub use recheck::recheck;
#[cfg(feature = "hosts")]
pub use recorded_hosts::{HostRecorded, HostsRecorded, hosts_recorded};
pub use recording::recorded;
pub use replay::replay;
pub use step::{closest, step_line};
pub use study::study;
pub use summary::prefill_line;
use summary::summary;
pub use units::Table;
pub use what_if::what_if;

use std::path::Path;

use run_store::run::Run;
use units::Nanos;

/// Formats the result of a run: on one screen, or completely.
pub fn result(run: &Run, directory: Option<&Path>, is_verbose: bool) -> String {
    if is_verbose { summary(run, directory) } else { brief(run, directory) }
}

/// Formats a number as `12,345`, or `1.2` for small values: three significant digits are enough for
/// a reader.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() >= 100.0 {
        let whole = format!("{value:.0}");
        let (sign, digits) =
            whole.strip_prefix('-').map_or(("", whole.as_str()), |rest| ("-", rest));
        let mut grouped = String::new();
        for (index, digit) in digits.chars().enumerate() {
            if index != 0 && (digits.len() - index).is_multiple_of(3) {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        format!("{sign}{grouped}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats a latency, or a dash if there is none.
pub fn latency(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string())
}

/// Formats a count with its noun: `1 tile`, `2 tiles`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", self::number_whole(number), if number == 1 { "" } else { "s" })
}

fn number_whole(value: u64) -> String {
    if value < 100 {
        return value.to_string();
    }
    #[expect(clippy::cast_precision_loss, reason = "printed with at most 15 digits")]
    number(value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_small_ones_keep_decimals() {
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(-1_234.0), "-1,234");
        assert_eq!(number(12.34), "12.3");
        assert_eq!(number(0.987), "0.99");
        assert_eq!(number(0.0), "0");
        assert_eq!(count(1, "tile"), "1 tile");
        assert_eq!(count(320, "VM"), "320 VMs");
    }
}
