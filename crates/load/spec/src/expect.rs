//! Expectations of a run: `tiles >= 8`, `score >= 7.5`, `shop.order.p95 <= 300ms`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use units::Nanos;
use untrusted::Malformed;

/// An expectation. Text form: a quantity, a relation and a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Expectation {
    /// Quantity, with the expected value.
    pub quantity: Quantity,
    /// Relation of the quantity to the value.
    pub relation: Relation,
}

/// Quantity of an expectation, with the expected value.
#[derive(Debug, Clone, PartialEq)]
pub enum Quantity {
    /// Number of tiles at which all limits are met: `tiles`.
    Tiles(u32),
    /// Score, in multiples of a tile's work: `score`.
    Score(f64),
    /// `not slower than RUN`: no figure is worse than in the stored run. Its relation is
    /// [`Relation::AtLeast`].
    NotSlower {
        /// Stored run in the form that `compare` accepts: an identifier, a name, `latest`, or a
        /// directory.
        run: String,
    },
    /// Time `WORKLOAD.NAME.STATISTIC`: the response time of an action, or the service time of a
    /// kind of I/O or call, over all tiles of a step.
    Time {
        /// Name of the workload.
        workload: String,
        /// Name of the action, or of the kind of I/O or call.
        name: String,
        /// Statistic of the times.
        statistic: TimeStatistic,
        /// Value that the time is compared with.
        bound: Nanos,
        /// Number of tiles of the step. If absent, it is the step that the answer is based on.
        tiles: Option<u32>,
    },
}

/// Statistic of times: `p95`, `p99.9`, `mean` or `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeStatistic {
    /// Percentile, in per cent, above 0 and below 100.
    Percentile(f64),
    /// Arithmetic mean of the samples.
    Mean,
    /// Maximum of the samples.
    Max,
}

/// Relation of a quantity to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// At least the value, `>=`.
    AtLeast,
    /// Greater than the value, `>`.
    Above,
    /// At most the value, `<=`.
    AtMost,
    /// Less than the value, `<`.
    Below,
}

impl Relation {
    /// Decides the relation between an interval and `value`. Returns true or false if all values of
    /// the interval agree, and `None` otherwise. An absent `high` means no upper bound.
    pub fn decide(self, low: f64, high: Option<f64>, value: f64) -> Option<bool> {
        let high = high.unwrap_or(f64::INFINITY);
        let (met, missed) = match self {
            Self::AtLeast => (low >= value, high < value),
            Self::Above => (low > value, high <= value),
            Self::AtMost => (high <= value, low > value),
            Self::Below => (high < value, low >= value),
        };
        (met || missed).then_some(met)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::Above => ">",
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }
}

/// Reason why a text is not an expectation, or why its object does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// The text is malformed.
    #[error("the expectation \"{text}\" {why}")]
    Text {
        /// Text as it was given.
        text: String,
        /// Reason why it is malformed.
        why: String,
    },
    /// The expectation names something that the tile does not have.
    #[error("the expectation \"{text}\" is about {what}, which does not exist")]
    Unknown {
        /// Text as it was given.
        text: String,
        /// Kind and name of the missing object: `the workload "shup"`.
        what: String,
        /// Text with the nearest name, and all known names.
        help: String,
    },
}

/// End of every message about a malformed text.
const FORM: &str = "is invalid: write QUANTITY >= VALUE or <= VALUE, as in tiles >= 8, score >= \
                    7.5 or shop.order.p95 <= 300ms, or: not slower than RUN";
/// Start of an expectation that refers to a stored run.
const NOT_SLOWER: &str = "not slower than";

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let wrong =
            |why: &str| ExpectationError::Text { text: text.to_owned(), why: why.to_owned() };
        if let Some(run) = text.trim().strip_prefix(NOT_SLOWER) {
            let is_word = run.starts_with(char::is_whitespace) && !run.trim().is_empty();
            let run = run.trim().to_owned();
            let expectation =
                Self { quantity: Quantity::NotSlower { run }, relation: Relation::AtLeast };
            return is_word.then_some(expectation).ok_or_else(|| {
                wrong("names no run: write not slower than RUN, for example not slower than latest")
            });
        }
        let at = text.find(['<', '>']).ok_or_else(|| wrong(FORM))?;
        let (left, rest) = (text[..at].trim(), &text[at..]);
        let relation = [Relation::AtLeast, Relation::AtMost, Relation::Above, Relation::Below];
        let found = relation.into_iter().find_map(|r| Some((r, rest.strip_prefix(r.text())?)));
        let (relation, right) = found.ok_or_else(|| wrong(FORM))?;
        let right = right.trim();
        let quantity =
            match left {
                "tiles" => Quantity::Tiles(right.parse().map_err(|_| {
                    wrong(&format!("needs a whole number of tiles, not \"{right}\""))
                })?),
                "score" => match right.parse::<f64>() {
                    Ok(score) if score.is_finite() => Quantity::Score(score),
                    _ => return Err(wrong(&format!("needs a number, not \"{right}\""))),
                },
                unknown if !unknown.contains('.') => return Err(wrong(FORM)),
                times if matches!(relation, Relation::AtMost | Relation::Below) => {
                    time(times, right).map_err(|why| wrong(&why.to_string()))?
                }
                _ => return Err(wrong("compares a time; write <= or <")),
            };
        Ok(Self { quantity, relation })
    }
}

/// Parses `shop.order.p95` and `300ms`, or `300ms at 8 tiles`.
fn time(left: &str, right: &str) -> Result<Quantity, Malformed> {
    let (workload, rest) = left.split_once('.').ok_or(FORM)?;
    let statistic = |(at, _): (usize, &str)| Some((&rest[..at], statistic(&rest[at + 1..])?));
    let (name, statistic) = rest.match_indices('.').find_map(statistic).ok_or(
        "names no statistic: the last part must be p95, p99.9, mean or max, as in shop.order.p95",
    )?;
    let (bound, tiles) = match right.split_once(" at ") {
        None => (right, None),
        Some((bound, at)) => {
            let count = at.trim().trim_end_matches("tiles").trim_end_matches("tile").trim();
            let tiles: u32 = count.parse().map_err(|_| {
                format!("names the step \"{at}\"; write a number of tiles, for example at 8 tiles")
            })?;
            (bound, Some(tiles))
        }
    };
    let bound: Nanos = bound.trim().parse().map_err(|error| format!("has no time: {error}"))?;
    if bound == Nanos::ZERO {
        return Err("needs a time above 0".into());
    }
    Ok(Quantity::Time {
        workload: workload.to_owned(),
        name: name.to_owned(),
        statistic,
        bound,
        tiles,
    })
}

fn statistic(text: &str) -> Option<TimeStatistic> {
    match text {
        "mean" => Some(TimeStatistic::Mean),
        "max" => Some(TimeStatistic::Max),
        other => {
            let p: f64 = other.strip_prefix('p')?.parse().ok()?;
            (p > 0.0 && p < 100.0).then_some(TimeStatistic::Percentile(p))
        }
    }
}

impl fmt::Display for TimeStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(p) => write!(f, "p{p}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = self.relation.text();
        match &self.quantity {
            Quantity::Tiles(count) => write!(f, "tiles {relation} {count}"),
            Quantity::Score(score) => write!(f, "score {relation} {score}"),
            Quantity::NotSlower { run } => write!(f, "{NOT_SLOWER} {run}"),
            Quantity::Time { workload, name, statistic, bound, tiles } => {
                write!(f, "{workload}.{name}.{statistic} {relation} {}", bound.to_text())?;
                tiles.map_or(Ok(()), |tiles| write!(f, " at {tiles} tiles"))
            }
        }
    }
}

impl TryFrom<String> for Expectation {
    type Error = ExpectationError;

    fn try_from(text: String) -> Result<Self, ExpectationError> {
        text.parse()
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_read_back_as_it_was_written() {
        for text in [
            "tiles >= 8",
            "tiles < 3",
            "score > 7.5",
            "shop.order.p95 <= 300ms",
            "shop.order.p99.9 < 1s",
            "mail.log.mean <= 10ms at 8 tiles",
            "not slower than latest~1",
        ] {
            let expectation: Expectation = text.parse().expect(text);
            assert_eq!(expectation.to_string().parse(), Ok(expectation), "{text}");
        }
        let same: Expectation = "tiles>=8".parse().expect("without spaces");
        assert_eq!(same.to_string(), "tiles >= 8");
    }

    #[test]
    fn what_is_no_expectation_says_what_would_be() {
        for (text, why) in [
            ("", "tiles >= 8"),
            ("tiles = 8", "tiles >= 8"),
            ("not slower than", "names no run"),
            ("not slower thanlatest", "names no run"),
            ("tiles >= many", "not \"many\""),
            ("tiles >= -1", "whole number"),
            ("score >= NaN", "needs a number"),
            ("shop.order.p95 >= 3ms", "write <="),
            ("shop.order <= 3ms", "names no statistic"),
            ("shop.order.p100 <= 3ms", "names no statistic"),
            ("shop.order.p95 <= 3", "has no time"),
            ("shop.order.p95 <= 0ms", "above 0"),
            ("shop.order.p95 <= 3ms at noon", "at 8 tiles"),
            ("order <= 3ms", "QUANTITY >= VALUE"),
        ] {
            let error = text.parse::<Expectation>().expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn an_interval_around_the_value_decides_nothing() {
        let at_least = |low, high| Relation::AtLeast.decide(low, high, 8.0);
        assert_eq!(at_least(8.0, Some(9.0)), Some(true));
        assert_eq!(at_least(8.0, None), Some(true), "at least 8");
        assert_eq!(at_least(7.0, Some(9.0)), None);
        assert_eq!(at_least(7.0, None), None, "at least 7");
        assert_eq!(at_least(5.0, Some(7.0)), Some(false));
        assert_eq!(Relation::Below.decide(1.0, Some(8.0), 8.0), None);
        assert_eq!(Relation::AtMost.decide(1.0, Some(8.0), 8.0), Some(true));
        assert_eq!(Relation::Above.decide(9.0, Some(9.0), 9.0), Some(false));
    }
}
