//! Working sets beside exact sets of pages.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use tilemark_cache::PageId;
use tilemark_cache::mrc::{SetSize, Use, WorkingSets};

/// Exact sets: pages with the periods of their last read and write.
#[derive(Default)]
struct Exact {
    now: u32,
    pages: BTreeMap<u64, (Option<u32>, Option<u32>)>,
}

impl Exact {
    fn reference(&mut self, page: u64, of: Use) {
        let known = self.pages.entry(page).or_default();
        match of {
            Use::Read => known.0 = Some(self.now),
            Use::Write => known.1 = Some(self.now),
        }
    }

    /// Pages read, written and used in the last `length` periods.
    fn sizes(&self, length: u32) -> [usize; 3] {
        let is_in = |at: &Option<u32>| at.is_some_and(|at| at + length > self.now);
        let pages = || self.pages.values();
        [
            pages().filter(|own| is_in(&own.0)).count(),
            pages().filter(|own| is_in(&own.1)).count(),
            pages().filter(|own| is_in(&own.0) || is_in(&own.1)).count(),
        ]
    }
}

const LENGTHS: [u32; 3] = [1, 24, 168];

#[derive(Debug, Clone)]
enum Step {
    /// Uses of a range of pages.
    Io { first: u64, pages: u64, is_write: bool },
    /// The period ends.
    End { periods: u32 },
}

fn step(pages: u64) -> impl Strategy<Value = Step> {
    let io = (0..pages, 1..=pages, any::<bool>()).prop_map(|(first, pages, is_write)| Step::Io {
        first,
        pages,
        is_write,
    });
    let end = prop_oneof![6 => Just(1_u32), 1 => 2_u32..40, 1 => 150_u32..400];
    prop_oneof![3 => io, 1 => end.prop_map(|periods| Step::End { periods })]
}

fn play(steps: &[Step], limit: usize) -> (WorkingSets, Exact) {
    let (mut sets, mut exact) = (WorkingSets::new(&LENGTHS, limit), Exact::default());
    for step in steps {
        match *step {
            Step::Io { first, pages, is_write } => {
                let of = if is_write { Use::Write } else { Use::Read };
                for page in first..first + pages {
                    sets.reference(PageId(page), of);
                    exact.reference(page, of);
                }
            }
            Step::End { periods } => {
                sets.advance(periods);
                exact.now += periods;
            }
        }
    }
    (sets, exact)
}

/// Sizes of a set beside the true ones, with the standard error of each that the rate allows.
#[expect(clippy::cast_precision_loss, reason = "few pages")]
fn deviations(size: &SetSize, exact: [usize; 3]) -> [(f64, f64); 3] {
    let beside = |estimate: f64, exact: usize| {
        (estimate - exact as f64, (exact as f64 * (1.0 - size.share) / size.share).sqrt())
    };
    [beside(size.read, exact[0]), beside(size.written, exact[1]), beside(size.used, exact[2])]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn sets_that_fit_are_exact(steps in prop::collection::vec(step(100), 1..80)) {
        let (sets, exact) = play(&steps, 400);
        for (size, length) in sets.sizes().iter().zip(LENGTHS) {
            let size = size.expect("far from too large");
            prop_assert_eq!(size.share, 1.0);
            for (deviation, error) in deviations(&size, exact.sizes(length)) {
                prop_assert_eq!((deviation, error), (0.0, 0.0));
            }
        }
        prop_assert_eq!(sets.is_empty(), exact.sizes(168)[2] == 0);
    }

    /// Six standard errors: a deviation beyond them is no chance.
    #[test]
    fn sampled_sets_are_within_their_error(
        steps in prop::collection::vec(step(6000), 1..60),
    ) {
        let (sets, exact) = play(&steps, 300);
        for (size, length) in sets.sizes().iter().zip(LENGTHS) {
            let size = size.expect("far from too large");
            for (deviation, error) in deviations(&size, exact.sizes(length)) {
                let most = 6.0 * error + 1.0 / size.share;
                prop_assert!(deviation.abs() <= most, "{deviation} of {exact:?}, {size:?}",
                    exact = exact.sizes(length));
            }
        }
    }
}

/// Mean deviation over many windows: sampling is not off to one side, and its spread is the stated
/// one.
#[test]
#[expect(clippy::cast_precision_loss, reason = "few pages")]
fn error_is_the_stated_one() {
    let mut scaled = Vec::new();
    for disk in 0..200_u64 {
        let mut sets = WorkingSets::new(&LENGTHS, 1536);
        for page in 0..20_000 {
            sets.reference(PageId((disk << 40) + page), Use::Read);
        }
        let size = sets.sizes()[1].expect("small");
        assert!(size.share < 0.1 && size.error() > 0.02 && size.error() < 0.06, "{size:?}");
        scaled.push((size.used / 20_000.0 - 1.0) / size.error());
    }
    let mean = scaled.iter().sum::<f64>() / scaled.len() as f64;
    let spread = (scaled.iter().map(|own| own * own).sum::<f64>() / scaled.len() as f64).sqrt();
    // The mean of 200 has a standard error of 0.07, the spread one of 0.05.
    assert!(mean.abs() < 0.25, "{mean}");
    assert!((0.8..1.2).contains(&spread), "{spread}");
}

/// A month: a large set, then a small one that is exact again when the large one left the window.
#[test]
fn rate_rises_again_when_a_set_becomes_smaller() {
    let mut sets = WorkingSets::new(&LENGTHS, 300);
    let mut exact = Exact::default();
    let mut shares = VecDeque::new();
    for hour in 0..24 * 30 {
        let pages = if hour < 24 { 50_000 } else { 100 };
        for page in 0..pages {
            sets.reference(PageId(page), Use::Write);
            exact.reference(page, Use::Write);
        }
        let sizes = sets.sizes();
        shares.push_back(sizes[2].expect("small").share);
        assert!(hour < 25 || sizes[0].expect("small").share == 1.0, "the hour's set is exact");
        sets.advance(1);
        exact.now += 1;
    }
    assert!(shares[30] < 0.01 && shares[24 * 29] == 1.0, "{shares:?}");
    let size = sets.sizes()[2].expect("small");
    assert_eq!((size.used, size.read), (100.0, 0.0));
}

/// More pages than 2^24 times the limit could not be told apart from fewer.
#[test]
fn set_beyond_all_samples_is_unknown_and_memory_is_bounded() {
    let mut sets = WorkingSets::new(&[1], 8);
    for page in 0..1_u64 << 28 {
        sets.reference(PageId(page), Use::Read);
    }
    assert_eq!(sets.sizes(), [None]);
    sets.advance(1);
    sets.reference(PageId(1), Use::Read);
    assert_eq!(sets.sizes()[0].map(|size| size.used), Some(1.0), "the next hour is known again");
}
