//! Histograms that other hosts send: what can be read is sent the same again, and adds up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_stats::{Compact, Histogram};

fuzz_target!(|data: &[u8]| {
    let Ok(received) = serde_json::from_slice::<Compact>(data) else { return };
    let sent = serde_json::to_vec(&received).expect("a histogram is JSON");
    assert_eq!(serde_json::from_slice::<Compact>(&sent).expect("its own bytes"), received);
    let mut open = Histogram::new();
    open.merge_compact(&received);
    assert_eq!(open.compact(), received);
    if received.buckets().any(|(_, count)| count > u32::MAX / 2) {
        return;
    }
    open.merge_compact(&received);
    assert_eq!((open.count(), open.sum_ns()), (2 * received.count(), 2 * received.sum_ns));
    let mut twice = received.clone();
    twice.merge(&received);
    assert_eq!(twice.buckets().count(), received.buckets().count());
});
