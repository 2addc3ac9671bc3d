//! Stored histograms (HdrHistogram V2): what can be read is written back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_stats::Histogram;

fuzz_target!(|data: &[u8]| {
    let Ok(histogram) = Histogram::from_v2(data) else { return };
    let again = Histogram::from_v2(&histogram.to_v2()).expect("its own bytes");
    assert_eq!(again.count(), histogram.count());
    assert_eq!(again.max(), histogram.max());
});
