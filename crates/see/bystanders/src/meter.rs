mod frequency;

use run_store::gauge::GaugeSource;

/// Begins to read a meter; `None` if this host has none of the kind.
type Open = fn() -> Option<Box<dyn GaugeSource>>;

/// Kinds of meters, each in a file below `meter/`.
const METERS: &[Open] = &[frequency::open];

/// Meters of this host, read with every slice of a real step. The table of gauges decides how their
/// values are stored, drawn and compared ([`run_store::gauge::GaugeName`]).
pub fn meters() -> Vec<Box<dyn GaugeSource>> {
    METERS.iter().filter_map(|open| open()).collect()
}
