use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;
use units::print::change;

/// Maximum error of a calibrated array, as a factor in rate or time. Our choice: the predicted
/// number of tiles is then wrong by as much.
pub const OFF_MAX: f64 = 2.0;

/// Results of `tilemark calibrate` for an array that it fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Calibrated {
    /// True if the measurement included the page cache, because the storage refused direct I/O.
    #[serde(default)]
    pub buffered: bool,
    /// Check with a step of a tile, which ran on the storage and on the array. Absent if the
    /// storage could not be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<TileCheck>,
}

/// Step of a tile, measured on the storage and simulated with the array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TileCheck {
    /// Name of the tile. One tile ran.
    pub tile: String,
    /// IOPS on the storage, above 0.
    pub measured_rate: f64,
    /// IOPS on the array, above 0.
    pub modelled_rate: f64,
    /// Mean time of an I/O on the storage.
    pub measured_time: Nanos,
    /// Mean time of an I/O on the array.
    pub modelled_time: Nanos,
}

impl TileCheck {
    /// Returns the factors by which the number of tiles that the array carries may be wrong: the
    /// lower is at most 1 and the higher at least 1. The capacity of a queue is the inverse of its
    /// service time (the utilisation law, Denning and Buzen 1978). So if the array is twice as fast
    /// as the storage, the true number may be half, and the other way round.
    pub fn factors(&self) -> (f64, f64) {
        let time = self.modelled_time.as_secs_f64() / self.measured_time.as_secs_f64();
        let rate = self.measured_rate / self.modelled_rate;
        let known = [time, rate].into_iter().filter(|factor| factor.is_finite() && *factor > 0.0);
        known.fold((1.0, 1.0), |(low, high), factor| (low.min(factor), high.max(factor)))
    }
}

impl Calibrated {
    /// Returns the factors by which the number of tiles may be wrong; `None` if the array was not
    /// checked.
    pub fn factors(&self) -> Option<(f64, f64)> {
        self.check.as_ref().map(TileCheck::factors)
    }

    /// Returns true if the array is known to be too inaccurate for predictions.
    pub fn is_too_far_off(&self) -> bool {
        self.factors().is_some_and(|(low, high)| low < 1.0 / OFF_MAX || high > OFF_MAX)
    }

    /// Describes the error of the array in a sentence.
    pub fn sentence(&self) -> String {
        let cache = if self.buffered {
            "it was calibrated through the page cache, so memory was measured too; "
        } else {
            ""
        };
        let Some(check) = &self.check else {
            return format!("{cache}its error is unknown: no tile was run on both");
        };
        let time = check.modelled_time.as_secs_f64() / check.measured_time.as_secs_f64();
        format!(
            "{cache}with one tile {} it is off by {} in I/Os per second ({:.0} measured, {:.0} \
             modelled) and by {} in their mean time ({} measured, {} modelled)",
            check.tile,
            change(check.modelled_rate / check.measured_rate - 1.0),
            check.measured_rate,
            check.modelled_rate,
            change(time - 1.0),
            check.measured_time,
            check.modelled_time
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rates: (f64, f64), micros: (u64, u64)) -> TileCheck {
        TileCheck {
            tile: "general".to_owned(),
            measured_rate: rates.0,
            modelled_rate: rates.1,
            measured_time: Nanos::from_micros(micros.0),
            modelled_time: Nanos::from_micros(micros.1),
        }
    }

    #[test]
    fn array_faster_than_its_storage_may_hold_too_many_tiles() {
        assert_eq!(check((1000.0, 1000.0), (500, 250)).factors(), (0.5, 1.0));
        assert_eq!(check((1000.0, 500.0), (500, 500)).factors(), (1.0, 2.0));
        assert_eq!(check((500.0, 1000.0), (500, 1000)).factors(), (0.5, 2.0));
        assert_eq!(check((0.0, 0.0), (0, 0)).factors(), (1.0, 1.0), "nothing is no error");
    }

    #[test]
    fn the_page_cache_is_said_first_and_what_is_not_known_is_said() {
        let unknown = Calibrated { buffered: true, check: None };
        assert!(unknown.sentence().starts_with("it was calibrated through the page cache"));
        assert!(unknown.sentence().ends_with("no tile was run on both"));
        let known = Calibrated { buffered: false, check: Some(check((774.0, 780.0), (774, 35))) };
        assert!(known.sentence().contains("(774 us measured, 35 us modelled)"), "{known:?}");
        assert!(known.is_too_far_off() && !unknown.is_too_far_off());
    }
}
