use run_store::run::{Edge, Run, Verdict};
use spec::plan::{Plan, Scale};
use units::{Bytes, Nanos};

use crate::plan::ResolvedPlan;
use crate::progress::Control;
use crate::rig::fake::FakeRig;
use crate::run::confirm::{SizeEvidence, larger};
use crate::run::larger::Reason;
use crate::run::tests::{half_a_millisecond, plan, rig, run_fake};
use crate::tile_load::TileLoad;

/// Returns the plan of a quick search with the disk size of the profile.
fn search() -> ResolvedPlan {
    let mut plan = plan(Plan::default());
    plan.footprint = 1.0 / 64.0;
    plan.origins.insert("scale.footprint".to_owned(), run_store::run::Origin::Profile);
    plan
}

fn growing(plan: &ResolvedPlan) -> FakeRig {
    FakeRig { can_renew: true, fill_bytes_per_s: 1e9, ..rig(plan, half_a_millisecond()) }
}

fn run(plan: &ResolvedPlan, rig: &mut FakeRig) -> Run {
    run_fake(plan, rig, &Control::default()).expect("a run").finished.run
}

fn warning(run: &Run) -> String {
    let own = run.warnings.iter().find(|warning| warning.id == "scaled-footprint");
    own.map(|warning| warning.text.clone()).unwrap_or_default()
}

#[test]
fn known_edge_is_confirmed_with_larger_disks() {
    let plan = search();
    let run = run(&plan, &mut growing(&plan));
    assert_eq!(run.answer.edge, Edge::LimitBroken, "{:?}", run.answer);
    assert_eq!(run.scale.footprint, 1.0, "there was room and time for full size");
    let other = run.resized.as_ref().expect("a search came first");
    assert!(other.is_search);
    assert_eq!(other.footprint, 1.0 / 64.0);
    assert_eq!(other.tile_bytes, 1 << 20);
    let held = run.answer.tiles_held.expect("known");
    assert!(other.held <= held && held < other.failed.max(held + 1), "{held}, {other:?}");
    assert_eq!(run.steps[0].tiles, other.held, "the larger disks begin where the search held");
    let sentence = &run.answer.sentence;
    let both =
        format!("With 1 MiB of disks per tile {} tiles passed and {}", other.held, other.failed);
    assert!(sentence.contains(&both), "{sentence}");
    assert!(sentence.contains("Confirmed with 64 MiB per tile"), "{sentence}");
}

#[test]
fn steps_of_both_sizes_have_numbers_of_their_own() {
    let plan = search();
    let run = run(&plan, &mut growing(&plan));
    let other = run.resized.expect("a search came first");
    let last = other.steps.iter().map(|step| step.step).max();
    assert!(run.steps.iter().all(|step| Some(step.step) > last), "{last:?}");
    let orders: Vec<u32> = other.steps.iter().chain(&run.steps).map(|step| step.order).collect();
    assert!(orders.windows(2).all(|pair| pair[0] < pair[1]), "{orders:?}");
}

#[test]
fn disks_grow_as_far_as_the_count_that_failed_fits() {
    let plan = search();
    let mut rig = growing(&plan);
    let seen = run(&plan, &mut rig).resized.expect("a search").failed;
    // Room for that many tiles of a quarter of the size, but not of half of it.
    let capacity = Bytes::MIB * (16 * u64::from(seen) + 1);
    let run = run(&plan, &mut FakeRig { capacity, ..growing(&plan) });
    assert_eq!(run.scale.footprint, 0.25);
    assert!(run.resized.is_some_and(|other| other.is_search));
}

#[test]
fn size_is_kept_and_the_reason_told_where_disks_stay() {
    let plan = search();
    let run = run(&plan, &mut FakeRig { can_renew: false, ..growing(&plan) });
    assert_eq!((run.scale.footprint, run.resized.is_none()), (1.0 / 64.0, true));
    let text = warning(&run);
    assert!(text.contains("they were not made larger: this storage keeps its disks"), "{text}");
}

#[test]
fn size_that_somebody_chose_is_kept_without_a_word() {
    let plan = plan(Plan {
        scale: Scale { footprint: Some(1.0 / 64.0), ..Scale::default() },
        ..Plan::default()
    });
    let run = run(&plan, &mut growing(&plan));
    assert!(run.resized.is_none());
    assert!(!warning(&run).contains("made larger"), "{}", warning(&run));
}

#[test]
fn search_without_an_edge_keeps_its_disks() {
    let mut plan = search();
    plan.settings.ladder.tiles_max = Some(1);
    let run = run(&plan, &mut growing(&plan));
    assert!(run.resized.is_none());
    assert!(warning(&run).contains("the search ended before the edge was known"));
}

#[test]
fn answer_is_that_of_the_search_while_larger_disks_say_nothing() {
    let plan = search();
    let mut rig = growing(&plan);
    let whole = run(&plan, &mut rig);
    let searched = whole.resized.expect("a search");
    // Filling the larger disks fails, so no step with them begins.
    let smaller = searched.steps.iter().map(|step| step.tiles).max().unwrap_or(0);
    let mut rig = FakeRig { fails_after_renewal: true, ..growing(&plan) };
    let run = run(&plan, &mut rig);
    assert_eq!(run.scale.footprint, 1.0 / 64.0);
    assert_eq!(run.answer.tiles_held, Some(searched.held), "{}", run.answer.sentence);
    assert!(
        run.steps.iter().all(|step| step.tiles <= smaller && step.verdict != Verdict::Interrupted)
    );
    let other = run.resized.expect("larger disks were begun");
    assert_eq!((other.is_search, other.steps.len()), (false, 0));
    assert!(run.answer.sentence.starts_with("Ended by an error"), "{}", run.answer.sentence);
}

fn seen(left: Nanos, fill_bytes_per_s: f64) -> SizeEvidence {
    SizeEvidence { failed: 4, left, step: Nanos::from_secs(10), fill_bytes_per_s }
}

/// Returns the chosen share of full size.
fn chosen(seen: SizeEvidence, fits: u32) -> Result<f64, Reason> {
    let larger = larger(&search(), seen, |_: &TileLoad| fits).expect("it can be built");
    larger.map(|larger| larger.plan.footprint)
}

#[test]
fn half_of_the_time_left_is_for_filling() {
    // Four tiles of full size are 256 MiB: 50 s at 5.12 MiB/s.
    let speed = 5.12 * 1024.0 * 1024.0;
    assert_eq!(chosen(seen(Nanos::from_secs(101), speed), 4), Ok(1.0));
    assert_eq!(chosen(seen(Nanos::from_secs(99), speed), 4), Ok(0.5));
    assert_eq!(chosen(seen(Nanos::from_secs(39), speed), 4), Err(Reason::Time));
    assert_eq!(chosen(seen(Nanos::from_secs(101), 1.0), 4), Err(Reason::Time));
    assert_eq!(chosen(seen(Nanos::from_secs(101), speed), 3), Err(Reason::Room));
    assert_eq!(chosen(seen(Nanos::from_secs(101), 0.0), 4), Err(Reason::Speed));
}
