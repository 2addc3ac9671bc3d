//! Answers of watched hosts: each is refused or shown, and what is shown is within the limits.
//!
//! The first byte chooses the question, the others are the answer without the question that an
//! answer begins with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tilemark_units::{Nanos, Ratio};
use tilemark_watch::{
    HostSets, HostStore, HostStores, HostTrouble, Load, Merged, Window, neighbours,
};

/// 2026-11-24 12:00 UTC, when the seeds end.
const NOW_S: u64 = 1_795_521_600;
const WINDOW: (u64, u64) = (NOW_S - 60, NOW_S);

struct Host(Vec<u8>);

impl HostStore for Host {
    fn name(&self) -> &str {
        "a"
    }

    fn ask(&self, question: &[u8]) -> Result<Vec<u8>, HostTrouble> {
        Ok([question, &self.0].concat())
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((question, answer)) = data.split_first() else { return };
    let stores = HostStores::new(vec![Box::new(Host(answer.to_vec()))], || NOW_S);
    match question % 7 {
        0 => {
            for own in stores.states() {
                assert!(own.bounds.is_none_or(|(from_s, to_s)| from_s < to_s));
            }
        }
        1 => show(stores.window(WINDOW, 6), 8),
        2 => show(stores.window((WINDOW.0 - 86_400, WINDOW.1), 6), 8),
        3 => show(stores.long_window(WINDOW, 6), 8),
        4 => show_sets(&stores.newest_sets()),
        5 => show_sets(&stores.long_sets((NOW_S - 3600, NOW_S))),
        _ => {
            let all = stores.evidence();
            assert!(all.is_sorted_by_key(|own| own.evidence.at_s));
        }
    }
});

/// Uses slices as the page and the commands do.
fn show(merged: Merged, slices_max: usize) {
    let slices = &merged.slices;
    assert!(slices.len() <= slices_max && slices.is_sorted_by_key(|own| own.start_s));
    let limit = Nanos::from_millis(20);
    for load in Load::by_vm(slices, limit).into_iter().chain(Load::by_disk(&merged.parts, limit)) {
        assert!((0.0..=1.0).contains(&load.slow_share()));
        let of = |direction| load.percentile(direction, Ratio::new(0.99));
        let directions = slices.iter().flat_map(|own| own.io.keys()).map(|key| key.direction);
        directions.take(3).for_each(|direction| {
            let _ = of(direction);
        });
    }
    if let Some(key) = slices.iter().flat_map(|own| own.io.keys()).next() {
        neighbours(slices, &key.vm.clone(), 0);
    }
    let window = Window::from(merged);
    window.write_csv(&mut std::io::sink()).expect("rows");
    window.write_parquet(&mut std::io::sink()).expect("rows");
}

fn show_sets(all: &[HostSets]) {
    for row in all.iter().flat_map(|own| &own.rows) {
        assert!(!row.words().is_empty() && row.error() >= 0.0 && row.start_s <= row.end_s());
    }
    HostSets::write_csv(all, &mut std::io::sink()).expect("rows");
}
