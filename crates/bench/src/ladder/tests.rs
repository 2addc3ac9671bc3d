use proptest::prelude::*;
use std::collections::BTreeMap;
use units::Nanos;

use super::*;

struct Fake<F>(F, Vec<Next>);

impl<F: FnMut(u32, u32) -> (Judgement, f64)> StepRunner for Fake<F> {
    type Error = std::convert::Infallible;

    fn run_step(&mut self, tiles: u32, repeat: u32) -> Result<StepResult, Self::Error> {
        self.1.push(Next { tiles, repeat });
        let (judgement, throughput) = (self.0)(tiles, repeat);
        Ok(StepResult {
            judgement,
            throughput: Some(throughput),
            throughput_high: None,
            took: Nanos::from_secs(10),
        })
    }
}

fn options() -> LadderOptions {
    LadderOptions {
        climb: Climb::Search,
        repeats: 3,
        around: 2,
        tiles_max: 64,
        gain_min: LadderOptions::GAIN_MIN,
        budget: None,
    }
}

fn climb(
    options: LadderOptions,
    run: impl FnMut(u32, u32) -> (Judgement, f64),
) -> (Ladder, Vec<Next>) {
    let mut ladder = Ladder::new(options);
    let mut fake = Fake(run, Vec::new());
    let Ok(()) = ladder.climb(&mut fake);
    (ladder, fake.1)
}

fn passes_if(pass: bool) -> Judgement {
    if pass { Judgement::Passed } else { Judgement::Failed }
}

fn distinct(runs: &[Next]) -> usize {
    runs.iter().map(|run| (run.tiles, run.repeat)).collect::<std::collections::BTreeSet<_>>().len()
}

proptest! {
    #[test]
    fn the_edge_of_any_monotone_storage_is_found(edge in 0_u32..=64, repeats in 1_u32..=3) {
        let options = LadderOptions { repeats, ..options() };
        let (ladder, runs) =
            climb(options, |tiles, _| (passes_if(tiles <= edge), f64::from(tiles)));
        prop_assert_eq!(ladder.edge().held, edge);
        prop_assert_eq!(ladder.hit_the_cap(), edge == 64);
        prop_assert_eq!(distinct(&runs), runs.len(), "nothing runs twice");
        if edge > 0 {
            prop_assert_eq!(ladder.rungs()[&edge].runs.len(), repeats as usize);
        }
    }

    #[test]
    fn a_held_step_and_every_tested_step_below_it_passed_in_all_their_runs(
        chance in proptest::collection::vec(any::<bool>(), 64 * 3),
        around in 0_u32..3,
    ) {
        let (ladder, _) = climb(LadderOptions { around, ..options() }, |tiles, repeat| {
            (passes_if(chance[((tiles - 1) * 3 + repeat) as usize]), f64::from(tiles))
        });
        let held = ladder.edge().held;
        for (_, rung) in ladder.rungs().range(..=held) {
            prop_assert_eq!(rung.judgement(), Judgement::Passed);
        }
        if held > 0 {
            prop_assert_eq!(ladder.rungs()[&held].runs.len(), 3);
        }
        if held < 64 {
            prop_assert_eq!(ladder.rungs()[&(held + 1)].judgement(), Judgement::Failed);
        }
        prop_assert!(ladder.passed_above_the_edge().iter().all(|tiles| *tiles > held));
    }

    #[test]
    fn a_plateau_is_found_where_it_begins(top in 1_u32..=40) {
        let options = LadderOptions { repeats: 1, ..options() };
        let (ladder, _) = climb(options, |tiles, _| {
            (Judgement::Passed, f64::from(tiles.min(top)))
        });
        prop_assert_eq!(ladder.edge().held, top);
        let stop = ladder.edge().stop;
        prop_assert!(matches!(stop, Some(Stop::Flat { tiles, .. }) if tiles == top + 1), "{:?}", stop);
    }
}

#[test]
fn a_dip_below_the_edge_lowers_what_is_held_and_the_pass_above_is_reported() {
    // 6 fails although 7 and 8 pass; 9 fails. Doubling sees 8, and the steps around it 6.
    let (ladder, _) =
        climb(options(), |tiles, _| (passes_if(tiles != 6 && tiles < 9), f64::from(tiles)));
    assert_eq!(ladder.edge().held, 5);
    assert_eq!(ladder.edge().stop, Some(Stop::Limit { tiles: 6 }));
    assert_eq!(ladder.passed_above_the_edge(), [7, 8]);
}

#[test]
fn one_bad_repeat_of_three_is_enough_to_fail() {
    let (ladder, runs) = climb(options(), |tiles, repeat| {
        (passes_if(tiles < 4 || (tiles == 4 && repeat < 2)), f64::from(tiles))
    });
    assert_eq!(ladder.edge().held, 3);
    assert!(runs.contains(&Next { tiles: 4, repeat: 2 }));
}

#[test]
fn a_failed_step_is_not_repeated() {
    let (_, runs) = climb(options(), |tiles, _| (passes_if(tiles < 3), f64::from(tiles)));
    assert!(runs.iter().all(|run| run.tiles < 3 || run.repeat == 0), "{runs:?}");
}

#[test]
fn falling_throughput_stops_the_climb_like_a_plateau() {
    let work = |tiles: u32| f64::from(tiles) - 0.08 * f64::from(tiles * tiles);
    let options = LadderOptions { repeats: 1, ..options() };
    let (ladder, _) = climb(options, |tiles, _| (Judgement::Passed, work(tiles)));
    // work(6) = 3.12, work(7) = 3.08.
    assert_eq!(ladder.edge().held, 6);
}

#[test]
fn noise_of_one_tile_near_the_edge_is_not_a_plateau() {
    let result = |tiles: u32, work: f64, high: f64, is_passed: bool| {
        let run = StepResult {
            judgement: passes_if(is_passed),
            throughput: Some(work),
            throughput_high: Some(high),
            took: Nanos::SECOND,
        };
        (tiles, Rung { runs: vec![run] })
    };
    // A real run: 55 tiles did more work than 56, well within the interval of six seconds.
    let noisy =
        [result(55, 54.8, 57.9, true), result(56, 53.3, 56.5, true), result(57, 53.8, 57.0, false)];
    let edge = Edge::of(&noisy.into(), LadderOptions::GAIN_MIN);
    assert_eq!((edge.held, edge.stop), (56, Some(Stop::Limit { tiles: 57 })));
    // Twice the tiles and no more work is one, however noisy.
    let flat = [result(8, 2.9, 3.4, true), result(16, 2.95, 3.5, true)];
    let edge = Edge::of(&flat.into(), LadderOptions::GAIN_MIN);
    assert!(matches!(edge.stop, Some(Stop::Flat { tiles: 16, .. })), "{edge:?}");
}

#[test]
fn a_saturated_generator_never_counts_as_held_or_as_a_broken_limit() {
    let (ladder, _) = climb(options(), |tiles, _| {
        (if tiles <= 5 { Judgement::Passed } else { Judgement::Inconclusive }, f64::from(tiles))
    });
    assert_eq!(ladder.edge().held, 5);
    assert_eq!(ladder.edge().stop, Some(Stop::Inconclusive { tiles: 6 }));
}

#[test]
fn the_search_never_goes_above_the_cap() {
    let options = LadderOptions { tiles_max: 11, ..options() };
    let (ladder, runs) = climb(options, |tiles, _| (Judgement::Passed, f64::from(tiles)));
    assert!(ladder.hit_the_cap());
    assert_eq!(runs.iter().map(|run| run.tiles).max(), Some(11));
}

#[test]
fn a_range_runs_every_count_with_all_repeats_until_one_stops_it() {
    let range = LadderOptions { climb: Climb::Range { first: 2, last: 8 }, ..options() };
    let (ladder, runs) = climb(range, |tiles, _| (passes_if(tiles < 4), f64::from(tiles)));
    let mut per_step = BTreeMap::new();
    for run in &runs {
        *per_step.entry(run.tiles).or_insert(0) += 1;
    }
    assert_eq!(per_step, BTreeMap::from([(2, 3), (3, 3), (4, 1)]));
    assert_eq!(ladder.edge().held, 3);
}

#[test]
fn a_tile_without_scored_work_is_not_flat() {
    struct Unscored;
    impl StepRunner for Unscored {
        type Error = ();
        fn run_step(&mut self, tiles: u32, _: u32) -> Result<StepResult, ()> {
            let judgement = passes_if(tiles < 10);
            Ok(StepResult {
                judgement,
                throughput: None,
                throughput_high: None,
                took: Nanos::SECOND,
            })
        }
    }
    let mut ladder = Ladder::new(options());
    ladder.climb(&mut Unscored).expect("the fake never fails");
    assert_eq!(ladder.edge().held, 9);
}

#[test]
fn the_time_budget_ends_the_climb_before_the_step_that_would_break_it() {
    let options = LadderOptions { budget: Some(Nanos::from_secs(45)), repeats: 1, ..options() };
    let (ladder, runs) = climb(options, |tiles, _| (passes_if(tiles < 8), f64::from(tiles)));
    assert!(ladder.ran_out_of_time());
    assert_eq!(runs.len(), 4, "1, 2, 4 and 8 at 10 s each; a fifth would end at 50 s");
    assert_eq!((ladder.edge().held, ladder.edge().gap()), (4, Some(6)));
}

#[test]
fn an_error_keeps_the_steps_before_it() {
    struct Dies;
    impl StepRunner for Dies {
        type Error = &'static str;
        fn run_step(&mut self, tiles: u32, _: u32) -> Result<StepResult, Self::Error> {
            if tiles > 2 {
                return Err("the device is gone");
            }
            let (judgement, took) = (Judgement::Passed, Nanos::SECOND);
            Ok(StepResult {
                judgement,
                throughput: Some(f64::from(tiles)),
                throughput_high: None,
                took,
            })
        }
    }
    let mut ladder = Ladder::new(options());
    assert_eq!(ladder.climb(&mut Dies), Err("the device is gone"));
    assert_eq!(ladder.edge().held, 2);
}
