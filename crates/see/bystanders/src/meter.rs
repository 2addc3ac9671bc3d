mod frequency;

use run_store::gauge::GaugeSource;

/// Function that opens a meter; `None` if this host has no meter of the kind.
type Open = fn() -> Option<Box<dyn GaugeSource>>;

/// Kinds of meters, each in a file below `meter/`.
const METERS: &[Open] = &[frequency::open];

/// Opens the meters of this host, which are read with every slice of a real step. The table of
/// gauges defines how their values are stored, drawn and compared
/// ([`run_store::gauge::GaugeName`]).
pub fn meters() -> Vec<Box<dyn GaugeSource>> {
    METERS.iter().filter_map(|open| open()).collect()
}
