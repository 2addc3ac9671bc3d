//! The answer in words is made from data.

use tilemark_run_store::run::{
    ClimbEnd, ClimbFacts, Edge, Figure, Hysteresis, LeftOut, NextStep, OutOfTime, Run, Status,
    Stop, TilesInterval, Verdict, parse,
};

/// A run of the first release, which has a sentence and no data to make it from.
const GOLDEN: &str = include_str!("../golden/run-1.0.json");

fn old() -> Run {
    parse(GOLDEN).expect("a run of an earlier version")
}

/// The run of [`old`] as this version stores it: 1 tile held, 2 failed.
fn run() -> Run {
    let mut run = old();
    run.scale.footprint = 1.0;
    run.steps[1].reason = "the shop's orders reach 612 ms at p95".to_owned();
    let stop = Some(Stop::Limit { tiles: 2 });
    let (tile_counts, tile_counts_passed) = (2, 1);
    let climb = ClimbFacts { stop, tile_counts, tile_counts_passed, ..ClimbFacts::default() };
    run.answer.climb = Some(climb);
    interval(&mut run, 1, Some(1), 1);
    run
}

fn interval(run: &mut Run, low: u32, high: Option<u32>, likely: u32) {
    let most_likely = Some(likely);
    run.answer.tiles_interval = Some(TilesInterval { low, high, most_likely, confidence: 0.95 });
}

fn climb(run: &mut Run) -> &mut ClimbFacts {
    run.answer.climb.as_mut().expect("a run of this version")
}

#[test]
fn old_run_is_quoted_as_it_was_stored() {
    let mut run = old();
    assert_eq!(run.sentence(), "this datastore holds 1 tile (2 VMs)");
    assert_eq!(run.progress(), "2 of 2 steps");
    run.answer.sentence += "; score 0.90";
    assert_eq!(run.sentence_without_score(), "this datastore holds 1 tile (2 VMs); score 0.90");
}

#[test]
fn stored_sentence_is_never_read_where_there_are_data() {
    let mut run = run();
    run.answer.sentence = "nonsense".to_owned();
    let text = "This datastore holds 1 tile (2 VMs). Tile 2 fails because the shop's orders reach \
                612 ms at p95.";
    assert_eq!(run.sentence_without_score(), text);
    assert_eq!(run.sentence(), format!("{text} Score 0.90."));
    assert_eq!(run.progress(), "2 runs of 2 tile counts, 1 passed");
    run.write_sentences();
    assert_eq!(
        (run.answer.sentence.as_str(), run.answer.progress.as_str()),
        (run.sentence().as_str(), "2 runs of 2 tile counts, 1 passed")
    );
    let stored = serde_json::to_string(&run).expect("serialises");
    assert_eq!(parse(&stored).expect("reads"), run);
}

#[test]
fn each_way_to_end_has_its_words() {
    let mut wide = run();
    interval(&mut wide, 1, Some(3), 2);
    climb(&mut wide).hysteresis = Some(Hysteresis { tiles: 1, overload: 2 });
    assert_eq!(
        wide.sentence_without_score(),
        "This datastore holds 1 to 3 tiles (95 %), 2 most likely. 1 tile ran and held. Tile 2 fails \
         because the shop's orders reach 612 ms at p95. 1 tile passed before the overload with 2 and \
         failed after it and a rest."
    );
    let mut flat = run();
    climb(&mut flat).stop = Some(Stop::Flat { tiles: 2, gain: 0.034 });
    let text = "This datastore holds 1 tile (2 VMs). Tile 2 adds 3.4 % of a tile's work.";
    assert_eq!(flat.sentence_without_score(), text);
    let mut none = run();
    (none.answer.tiles_held, none.answer.tiles_interval) = (None, None);
    *climb(&mut none) = ClimbFacts { ended: ClimbEnd::Interrupted, ..ClimbFacts::default() };
    none.answer.score = Figure::absent("no step held");
    assert_eq!(none.sentence(), "Interrupted: no step was finished.");
    let mut asked = none.clone();
    (asked.answer.tiles_held, asked.answer.edge) = (Some(1), Edge::LadderEnded);
    climb(&mut asked).ended = ClimbEnd::Complete;
    let text = "This datastore holds at least 1 tile (2 VMs)";
    assert_eq!(asked.sentence(), format!("{text}, the most that this run was allowed to try."));
    let open = |low| TilesInterval { low, high: None, most_likely: Some(5), confidence: 0.95 };
    let mut doubted = asked.clone();
    (doubted.answer.tiles_held, doubted.answer.tiles_interval) = (Some(4), Some(open(3)));
    let text_of_interval =
        "This datastore holds at least 3 tiles (95 %), 5 most likely. 4 tiles ran and held";
    assert!(doubted.sentence().starts_with(text_of_interval), "{}", doubted.sentence());
    doubted.answer.tiles_interval = Some(open(0));
    let sentence = doubted.sentence();
    assert!(sentence.starts_with("This datastore holds 0 or more tiles (95 %), 5"), "{sentence}");
    (doubted.answer.tiles_held, doubted.answer.tiles_interval) = (Some(4), Some(open(4)));
    let sentence = doubted.sentence();
    assert!(sentence.starts_with("This datastore holds at least 4 tiles (8 VMs)"), "{sentence}");
    climb(&mut asked).users_max = Some(4_000_000);
    let most = ", the largest number whose users fit into memory (at most 4,000,000 users).";
    assert_eq!(asked.sentence(), format!("{text}{most}"));
    asked.answer.edge = Edge::CapacityReached;
    (asked.answer.tiles_max, asked.target.capacity_bytes) = (Some(1), Some(96 << 30));
    asked.tile.disk_bytes = 64 << 30;
    let full = ". Capacity, not speed, was the limit: 96 GiB hold 1 of 64 GiB each.";
    assert_eq!(asked.sentence(), format!("{text}{full}"));
    climb(&mut asked).ended = ClimbEnd::Failed { error: "read failed".to_owned() };
    assert_eq!(
        asked.sentence(),
        "Ended by an error (read failed): this datastore holds at least 1 tile (2 VMs)."
    );
}

#[test]
fn simulation_ended_by_its_time_is_not_complete() {
    let mut run = run();
    assert_eq!(run.answer.ending(), "complete");
    let next = Some(NextStep { tiles: 2, repeat: 2 });
    let left_out = Some(LeftOut { next, steps_run: 3, steps_asked: Some(6) });
    climb(&mut run).out_of_time = Some(OutOfTime { time_ns: 120_000_000_000, left_out });
    let text = ". The time of 2m ended before run 2 of 2 tiles: 3 of 6 steps were run.";
    assert!(run.sentence_without_score().ends_with(text), "{}", run.sentence());
    assert_eq!(run.answer.ending(), "ended-early");
    run.answer.status = Status::Inconclusive;
    assert_eq!(run.answer.ending(), "inconclusive");
}

#[test]
fn old_run_of_a_wrong_model_is_no_run_to_plan_with() {
    let mut run = old();
    run.target.kind = "simulated".to_owned();
    assert!(run.plan_text().is_some());
    for status in [Status::Inconclusive, Status::Interrupted] {
        run.answer.status = status;
        for edge in [Edge::LimitBroken, Edge::None] {
            run.answer.edge = edge;
            assert_eq!(run.plan_text(), None, "{status:?} {edge:?}");
        }
    }
}

#[test]
fn a_step_that_decided_nothing_gives_its_reason() {
    let mut run = run();
    (run.answer.tiles_held, run.answer.tiles_interval) = (None, None);
    climb(&mut run).stop = Some(Stop::Inconclusive { tiles: 2 });
    run.steps[1].verdict = Verdict::Inconclusive;
    let text = "Nothing can be said about 2 tiles (4 VMs): the shop's orders reach 612 ms at p95.";
    assert_eq!(run.sentence_without_score(), text);
}

#[test]
fn each_fact_of_an_answer_is_a_short_sentence() {
    let mut run = run();
    run.steps[1].reason += "; of their time on average 97 % went to flushes (of disk a; of disk b)";
    let text = run.sentence();
    assert!(text.contains(". Of their time on average 97 %"), "{text}");
    assert!(text.contains("flushes (of disk a; of disk b). Score 0.90."), "{text}");
    let longest = text.split(". ").map(|one| one.split_whitespace().count()).max();
    assert!(longest <= Some(25), "{text}");
}
