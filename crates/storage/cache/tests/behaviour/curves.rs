//! Miss-ratio curves beside plain simulation, and how far sampling is off on real traces.

use proptest::prelude::*;
use tilemark_cache::mrc::{ExactStack, MissRatioCurve, ReuseStack, SampleRate, Shards};
use tilemark_cache::{PageId, PolicyKind};

use crate::traces;

proptest! {
    #[test]
    fn a_distance_counts_the_different_pages_since(
        pages in prop::collection::vec((0_u64..60, prop::bool::weighted(0.05)), 0..600),
    ) {
        let mut stack = ReuseStack::new();
        let mut model: Vec<u64> = Vec::new();
        for (page, is_forgotten) in pages {
            let found = model.iter().position(|other| *other == page);
            if let Some(at) = found {
                model.remove(at);
            }
            if is_forgotten {
                stack.forget(PageId(page));
                continue;
            }
            prop_assert_eq!(stack.reference(PageId(page)), found.map(|at| at as u64 + 1));
            model.insert(0, page);
            prop_assert_eq!(stack.pages(), model.len());
        }
    }
}

/// References with locality, enough to fill the line of time several times.
fn stream(count: u64, pages: u64) -> Vec<PageId> {
    let page = |at: u64| {
        let random = state_machine::mix(at);
        let hot = random % 10 < 7;
        PageId((random >> 20) % if hot { pages / 10 } else { pages })
    };
    (0..count).map(page).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn simulated(pages: &[PageId], kind: PolicyKind, capacity: usize) -> f64 {
    let mut policy = kind.build(capacity);
    let misses = pages.iter().filter(|page| !policy.reference(**page).is_hit()).count();
    misses as f64 / pages.len() as f64
}

#[test]
fn the_exact_curve_is_what_lru_caches_of_every_size_would_miss() {
    let pages = stream(300_000, 20_000);
    let mut exact = ExactStack::new();
    pages.iter().for_each(|page| exact.reference(*page));
    let curve = exact.curve();
    for capacity in [1, 10, 500, 1999, 2000, 7777, 20_000, 30_000] {
        let wanted = simulated(&pages, PolicyKind::Lru, capacity);
        let seen = curve.miss_ratio(capacity as u64);
        assert!((seen - wanted).abs() < 1e-9, "{capacity} pages: {seen}, simulated {wanted}");
    }
    assert!(exact.pages() <= 20_000);
}

#[test]
fn a_sample_of_everything_is_exact_to_the_width_of_a_bucket() {
    let pages = stream(100_000, 5_000);
    let mut exact = ExactStack::new();
    let mut shards = Shards::fixed_rate(SampleRate::ALL);
    for page in &pages {
        exact.reference(*page);
        shards.reference(*page);
    }
    assert!(error(&shards.curve(), &exact.curve(), 5_000).0 < 0.002);
}

#[test]
fn a_fixed_size_sample_stays_small_and_its_rate_falls() {
    let mut shards = Shards::fixed_size(512);
    let mut exact = ExactStack::new();
    for page in stream(400_000, 50_000) {
        shards.reference(page);
        exact.reference(page);
    }
    let share = shards.rate().share();
    assert!((0.005..0.02).contains(&share), "512 of 50,000 pages are about 1 %, not {share}");
    let (mean, largest) = error(&shards.curve(), &exact.curve(), 50_000);
    assert!(mean < 0.03, "mean error {mean}, largest {largest}");
}

#[test]
fn sample_rates_outside_zero_to_one_are_refused() {
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(SampleRate::new(share), None, "{share}");
    }
    assert_eq!(SampleRate::new(1.0), Some(SampleRate::ALL));
}

/// Mean and largest absolute difference over 100 sizes up to `pages`.
fn error(curve: &MissRatioCurve, exact: &MissRatioCurve, pages: u64) -> (f64, f64) {
    let sizes = (1..=100).map(|step| pages * step / 100);
    let errors: Vec<f64> =
        sizes.map(|size| (curve.miss_ratio(size) - exact.miss_ratio(size)).abs()).collect();
    (errors.iter().sum::<f64>() / 100.0, errors.iter().copied().fold(0.0, f64::max))
}

#[test]
fn sampled_curves_of_real_traces_are_near_the_exact_ones() {
    let Some(folder) = traces::folder("curves") else { return };
    let rate = |share| SampleRate::new(share).expect("a share");
    for (name, pages) in [("OLTP", traces::oltp(&folder)), ("cp4k", traces::vscsi(&folder, 4096))] {
        let mut exact = ExactStack::new();
        let mut tenth = Shards::fixed_rate(rate(0.1));
        let mut hundredth = Shards::fixed_rate(rate(0.01));
        let mut fixed = Shards::fixed_size(8192);
        for page in &pages {
            exact.reference(*page);
            tenth.reference(*page);
            hundredth.reference(*page);
            fixed.reference(*page);
        }
        let distinct = exact.pages() as u64;
        let exact = exact.curve();
        // The limits are about twice the errors that were seen when this test was written; the
        // trace is too small for 1 %.
        for (kind, shards, limit) in
            [("10 %", &tenth, 0.02), ("1 %", &hundredth, 0.06), ("8,192 pages", &fixed, 0.03)]
        {
            let (mean, largest) = error(&shards.curve(), &exact, distinct);
            eprintln!("{name}: SHARDS {kind}: mean error {mean:.4}, largest {largest:.4}");
            assert!(mean < limit, "{name}: {kind}: {mean}");
        }
        let knee = exact.knee().map(|point| (point.pages, point.miss_ratio));
        eprintln!("{name}: knee at {knee:?} of {distinct} pages");
    }
}
