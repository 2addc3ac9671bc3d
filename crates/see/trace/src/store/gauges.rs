//! File `gauges.json`: gauges of the VMs that were sampled beside the I/O, in slices of one width.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::TraceError;

/// Name of the optional file of gauges.
pub const GAUGES_FILE: &str = "gauges.json";
const SCHEMA: &str = "tilemark.trace-gauges/1.0";
const MAJOR: &str = "tilemark.trace-gauges/1.";
/// Initial width of a slice.
const WIDTH: Nanos = Nanos::SECOND;
/// Maximum number of slices. With more slices neighbours are merged, so that memory is bounded. 100
/// VMs with two gauges take 12 MB.
const SLICES_MAX: usize = 3600;

/// Gauges sampled beside the I/O of a trace, as means over slices of one width from the start of
/// the trace.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceGauges {
    width: Nanos,
    /// Values by name and scope.
    values: BTreeMap<(String, String), Vec<Mean>>,
}

/// Mean of a gauge in a slice; none if the gauge was not sampled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Mean {
    sum: f64,
    values: u32,
}

impl Mean {
    fn of(value: Option<f64>) -> Self {
        Self { sum: value.unwrap_or(0.0), values: u32::from(value.is_some()) }
    }

    fn merge(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, values: self.values.saturating_add(other.values) }
    }

    fn get(self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / f64::from(self.values))
    }
}

/// Gauges in the form of their file.
#[derive(Serialize, Deserialize)]
struct Stored {
    schema: String,
    width_ns: u64,
    gauges: Vec<StoredGauge>,
}

#[derive(Serialize, Deserialize)]
struct StoredGauge {
    name: String,
    scope: String,
    value: Vec<Option<f64>>,
}

impl Default for TraceGauges {
    fn default() -> Self {
        Self { width: WIDTH, values: BTreeMap::new() }
    }
}

impl TraceGauges {
    /// Adds a value that was sampled at a time since the start of the trace.
    pub fn add(&mut self, at: Nanos, name: &str, scope: &str, value: f64) {
        let place = |width: Nanos| usize::try_from(at.0 / width.0).unwrap_or(usize::MAX);
        while place(self.width) >= SLICES_MAX {
            self.halve();
        }
        let values = self.values.entry((name.to_owned(), scope.to_owned())).or_default();
        let place = place(self.width);
        if values.len() <= place {
            values.resize(place + 1, Mean::default());
        }
        values[place] = values[place].merge(Mean::of(Some(value)));
    }

    fn halve(&mut self) {
        self.width = Nanos(self.width.0.saturating_mul(2));
        for values in self.values.values_mut() {
            let merge = |pair: &[Mean]| pair.iter().copied().reduce(Mean::merge);
            *values = values.chunks(2).filter_map(merge).collect();
        }
    }

    /// Returns true if no gauge was sampled.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the width of a slice.
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// Returns the values: begin of the slice, name, scope and value.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, &str, &str, f64)> {
        let width = self.width.0;
        self.values.iter().flat_map(move |((name, scope), values)| {
            (0_u64..).zip(values).filter_map(move |(place, value)| {
                let start = Nanos(place.saturating_mul(width));
                Some((start, name.as_str(), scope.as_str(), value.get()?))
            })
        })
    }

    pub(super) fn to_json(&self) -> String {
        let gauge = |((name, scope), value): (&(String, String), &Vec<Mean>)| StoredGauge {
            name: name.clone(),
            scope: scope.clone(),
            // Four digits say all of a share, and keep the file small.
            value: value.iter().map(|own| own.get().map(|own| (own * 1e4).round() / 1e4)).collect(),
        };
        let stored = Stored {
            schema: SCHEMA.to_owned(),
            width_ns: self.width.0,
            gauges: self.values.iter().map(gauge).collect(),
        };
        serde_json::to_string(&stored).expect("numbers and texts") + "\n"
    }
}

/// Reads the gauges of a stored trace; empty if the trace has no file of gauges.
///
/// # Errors
/// The file cannot be read, or is not one of this version.
pub fn gauges(directory: &Path) -> Result<TraceGauges, TraceError> {
    let path = directory.join(GAUGES_FILE);
    let text = match untrusted::read_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(TraceGauges::default());
        }
        text => text.map_err(TraceError::io(&path))?,
    };
    let stored: Stored = serde_json::from_str(&text)
        .map_err(|error| TraceError::format(&path, error.to_string()))?;
    if !stored.schema.starts_with(MAJOR) || stored.width_ns == 0 {
        let reason = format!("its format is {}", untrusted::shown(&stored.schema));
        return Err(TraceError::format(&path, reason));
    }
    if stored.gauges.iter().any(|own| own.value.len() > SLICES_MAX) {
        return Err(TraceError::format(&path, format!("it has over {SLICES_MAX} slices")));
    }
    let means = |values: Vec<Option<f64>>| values.into_iter().map(Mean::of).collect();
    let values = stored.gauges.into_iter().map(|own| ((own.name, own.scope), means(own.value)));
    Ok(TraceGauges { width: Nanos(stored.width_ns), values: values.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_recording_has_coarser_slices_with_the_same_mean() {
        let mut gauges = TraceGauges::default();
        for second in 0..5 * 3600 {
            let value = if second % 2 == 0 { 0.0 } else { 1.0 };
            gauges.add(Nanos::from_secs(second), "vm.cpu", "web1", value);
        }
        assert_eq!(gauges.width(), Nanos::from_secs(8));
        let values: Vec<f64> = gauges.iter().map(|own| own.3).collect();
        assert_eq!(values.len(), 5 * 3600 / 8);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 0.5).abs() < 1e-9, "{mean}");
    }

    #[test]
    fn slice_without_a_value_stays_unknown() {
        let mut gauges = TraceGauges::default();
        gauges.add(Nanos::from_secs(3), "vm.ready", "web1", 0.25);
        let rows: Vec<_> = gauges.iter().collect();
        assert_eq!(rows, [(Nanos::from_secs(3), "vm.ready", "web1", 0.25)]);
        assert!(gauges.to_json().contains("[null,null,null,0.25]"));
    }
}
