mod frequency;

use run_store::gauge::GaugeSource;

/// Begins to read a meter; nothing where this machine has none of the kind.
type Open = fn() -> Option<Box<dyn GaugeSource>>;

/// One line for each, whose code is a file below `meter/`.
const METERS: &[Open] = &[frequency::open];

/// Meters of this machine, read beside every slice of a real step from now on. What they show is
/// stored, drawn and compared as the table of gauges says ([`run_store::gauge::GaugeName`]).
pub fn meters() -> Vec<Box<dyn GaugeSource>> {
    METERS.iter().filter_map(|open| open()).collect()
}
