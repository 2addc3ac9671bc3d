//! Studies with a fake simulator, and the shipped example with the real one.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use findings::{Outcome, StudyResult, csv, json_schema, markdown};
use proptest::prelude::*;
use run_store::run::Step;
use spec::study::formula::{Scope, parse};
use spec::study::{
    File, Folder, ResolvedConfiguration, ResolvedStudy, resolve_study, resolve_study_text,
};

use super::evaluate::{Bound, constant};
use super::*;
use bench::progress::Control;

const EXAMPLE: &str = include_str!("../../../../data/studies/example.toml");

/// Example with other claims.
pub(super) fn study(claims: &str) -> ResolvedStudy {
    let (head, _) = EXAMPLE.split_once("[[table]]").expect("the example has a table");
    let text = format!("{head}{claims}");
    let file = File { name: "test.toml".to_owned(), text };
    resolve_study_text(file, &Folder::Shipped).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Claim with this formula.
pub(super) fn claim(id: &str, kind: &str, tolerance: &str, measure: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\ntext = \"It is so\"\nkind = \"{kind}\"\npublished = 2\n\
         source = \"test\"\ntolerance = {{ {tolerance} }}\nmeasure = '{measure}'\n\
         why = \"it is a test\"\n"
    )
}

/// Fake steps; three tiles never fit.
#[derive(Default)]
pub(super) struct Fake {
    pub runs: AtomicUsize,
    pub interrupt_after: Option<usize>,
}

impl Simulate for Fake {
    fn step(&self, point: &Point<'_>, control: &Control) -> Result<Step, PointError> {
        let runs = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        if self.interrupt_after == Some(runs) {
            control.interrupt();
        }
        if point.tiles == 3 {
            return Err(PointError::DoesNotFit("3 tiles need more than there is".to_owned()));
        }
        Ok(fixtures::study_step(&point.configuration.name, point.tiles, point.repeat))
    }

    fn working_set(
        &self,
        _: &ResolvedConfiguration,
        share: f64,
        _: u64,
    ) -> Result<f64, PointError> {
        Ok(share * 1e9)
    }
}

fn go(study: &ResolvedStudy, options: &Options) -> StudyResult {
    run(study, &Fake::default(), options, &Control::default(), &mut |_| {}).expect("it runs")
}

/// Value of a formula with the fake's figures.
fn ours(measure: &str) -> Result<f64, String> {
    let study = study(&claim("X", "predicted", "exact = true", measure));
    let result = go(&study, &Options::default());
    let claim = &result.claims[0];
    claim.ours.ok_or_else(|| claim.reason.clone().expect("a reason"))
}

fn near(measure: &str, expected: f64) {
    let found = ours(measure).unwrap_or_else(|why| panic!("{measure}: {why}"));
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{measure} is {found}");
}

#[test]
fn figures_are_those_of_the_steps() {
    for (measure, expected) in [
        ("score(\"disks\", 1)", 1.015),
        ("total(\"flash\", 1)", 1.827),
        ("ratio(score(\"flash\", 1), score(\"disks\", 1))", 2.0),
        ("gain(score(\"flash\", 1), score(\"disks\", 1))", 100.0),
        ("passes(\"disks\", 1)", 1.0),
        ("passes(\"disks\", 2)", 0.0),
        ("holds(\"disks\")", 1.0),
        ("holds(\"flash\")", 2.0),
        ("throughput(\"flash\", 2, \"small-shop\")", 609.0),
        ("throughput_total(\"flash\", 2, \"small-shop\")", 1218.0),
        ("actions(\"flash\", 2, \"small-shop\", \"order\")", 2000.0),
        ("actions(\"flash\", 2, \"small-shop\")", 2600.0),
        ("actions_total(\"flash\", 2, \"small-shop\", \"order\")", 4000.0),
        ("dropped(\"disks\", 1, \"small-shop\")", 0.0),
        ("iops(\"disks\", 1)", 4.0 / 3.0 * 1015.0),
        ("percent(read_share(\"disks\", 1))", 75.0),
        (
            "round(latency_mean(\"disks\", 1, \"read\") / latency_mean(\"flash\", 1, \"read\") * 1000) / 1000",
            2.0,
        ),
        (
            "round(p99(\"flash\", 1, \"small-shop\", \"order\") / mean(\"flash\", 1, \"small-shop\", \"order\"))",
            3.0,
        ),
        ("tier(\"flash\", 1, \"fast\", \"hit\")", 0.9125),
        ("tier(\"flash\", 1, \"f*\", \"read_hit\")", 0.9),
        ("tier(\"flash\", 1, \"fast\", \"acceleration\")", 0.9),
        ("part(\"disks\", 1, \"pool * disks\", \"utilisation\")", 0.5),
        ("part(\"disks\", 1, \"*\", \"iops_each\")", 100.0),
        ("host(\"disks\", 1, \"used\")", 0.5),
        ("host(\"disks\", 1, \"used_max_1s\")", 1.0),
        ("host(\"disks\", 1, \"ready\")", 0.75),
        ("touched(\"disks\", 1) / 1MiB", 1.0),
        ("vms(\"disks\", 2)", 2.0),
        ("footprint(\"disks\", 2) / 1GiB", 4.0),
        ("working_set(\"disks\", 2) / 1GB", 1.9),
        ("working_set(\"disks\", 1, 50%) / 1GB", 0.5),
        ("argmax(\"disks\", (2 - tiles) * iops(\"disks\", tiles))", 1.0),
        ("largest(\"disks\", tiles * 10)", 20.0),
        ("smallest(\"disks\", tiles * 10)", 10.0),
        ("score(\"flash\", holds(\"flash\"))", 2.03),
    ] {
        near(measure, expected);
    }
}

#[test]
fn a_figure_that_is_not_there_has_a_reason_and_is_never_met() {
    for (measure, reason) in [
        ("score(\"flash\", 3)", "flash at 3: 3 tiles need more than there is"),
        (
            "tier(\"disks\", 1, \"fast\", \"hit\")",
            "disks at 1: there is no tier \"fast\" (there are: none)",
        ),
        (
            "part(\"disks\", 1, \"pool b*\", \"iops\")",
            "disks at 1: there is no part \"pool b*\" (there are: pool a disks)",
        ),
        ("1 / (vms(\"disks\", 1) - 1)", "a division by 0"),
        ("infrastructure(\"flash\", 1)", "flash at 1: none yet"),
        ("score(\"disks\", 0)", "0 is not a number of tiles from 1 up"),
        ("score(\"disks\", 1.5)", "1.5 is not a number of tiles from 1 up"),
        (
            "largest(\"flash\", score(\"flash\", tiles))",
            "flash at 3: 3 tiles need more than there is",
        ),
    ] {
        assert_eq!(ours(measure), Err(reason.to_owned()), "{measure}");
    }
    let claims = claim("X", "predicted", "at-least = 0", "score(\"flash\", 3)");
    let result = go(&study(&claims), &Options::default());
    assert_eq!((result.claims[0].met, result.claims[0].outcome), (false, Outcome::NotMeasured));
    assert_eq!(result.summary.sentence, "0 of 1 predicted claims reproduced, 1 not measured");
}

#[test]
fn only_what_is_predicted_counts_as_reproduced() {
    let claims: String = ["input", "calibrated", "predicted", "arithmetic", "real"]
        .iter()
        .map(|kind| claim(kind, kind, "at-least = 1", "vms(\"disks\", 1)"))
        .collect();
    let result = go(&study(&claims), &Options::default());
    assert!(result.claims.iter().all(|claim| claim.met));
    assert_eq!(result.summary.sentence, "1 of 1 predicted claims reproduced");
    assert!(result.summary.kinds.iter().all(|count| count.met == 1));
    assert_eq!(result.points, [], "nothing was run for what is known from the definitions");
}

#[test]
fn the_interval_is_that_of_the_repeats() {
    let claims = claim("X", "predicted", "absolute = 1", "score(\"disks\", 1)");
    let options = Options { repeats: Some(3), ..Options::default() };
    let result = go(&study(&claims), &options);
    let claim = &result.claims[0];
    assert_eq!(claim.repeats, [Some(1.01), Some(1.02), Some(1.03)]);
    let interval = claim.interval.as_ref().expect("three repeats");
    // t(0.975, 2) s / sqrt(3) = 2.4841 s.
    assert!(((interval.high - interval.low) / 2.0 - 0.024_841).abs() < 1e-6, "{interval:?}");
    assert_eq!(
        (claim.met, claim.interval_inside),
        (true, Some(false)),
        "1.02 is inside by the mean"
    );
}

#[test]
fn an_order_is_that_of_the_means() {
    let order = "score(\"flash\", 1) > score(\"disks\", 1) > 0";
    let result = go(&study(&claim("X", "predicted", "order = true", order)), &Options::default());
    assert_eq!((result.claims[0].ours, result.claims[0].met), (Some(1.0), true));
    let not = "score(\"flash\", 1) < score(\"disks\", 1)";
    let result = go(&study(&claim("X", "predicted", "order = true", not)), &Options::default());
    assert_eq!((result.claims[0].ours, result.claims[0].met), (Some(0.0), false));
    assert_eq!(result.claims[0].why.as_deref(), Some("it is a test"));
}

#[test]
fn an_order_that_the_repeats_do_not_decide_is_not_met() {
    let of = |order: &str, repeats| {
        let study = study(&claim("X", "predicted", "order = true", order));
        let options = Options { repeats: Some(repeats), ..Options::default() };
        let claim = go(&study, &options).claims.remove(0);
        (claim.outcome, claim.reason.unwrap_or_default())
    };
    // With 1.01, 1.02 and 1.03 the mean is above 1.015, and its interval begins at 0.995.
    let near = "score(\"disks\", 1) > 1.015";
    let (outcome, reason) = of(near, 3);
    assert_eq!(outcome, Outcome::NotMeasured, "{reason}");
    assert!(reason.starts_with("the order is not decided: the sides differ by -0.0"), "{reason}");
    assert_eq!(of("score(\"disks\", 1) > 0.99", 3).0, Outcome::Met);
    assert_eq!(of("score(\"disks\", 1) > 1.06", 3).0, Outcome::NotMet);
    let one = of("score(\"flash\", 1) > score(\"disks\", 1)", 1);
    assert_eq!(one.1, "an order needs two repeats or more to be decided");
    let false_anyway = "score(\"disks\", 1) > 1.06 and score(\"disks\", 1) > 1.015";
    assert_eq!(of(false_anyway, 3).0, Outcome::NotMet);
}

#[test]
fn a_claim_about_a_step_that_broke_a_limit_is_not_comparable() {
    assert_eq!(
        ours("score(\"disks\", 2)"),
        Err("not comparable: disks at 2 broke a limit (failed)".to_owned())
    );
    near("passes(\"disks\", 2) * score(\"disks\", 2)", 0.0);
    near("holds(\"disks\")", 1.0);
    assert!(ours("strain(\"disks\", 2)").is_ok(), "how near a step is to its limits stays");
}

#[test]
fn step_shared_by_claims_runs_once_and_unneeded_steps_not() {
    let claims = claim("X", "predicted", "at-least = 0", "score(\"disks\", 1)")
        + &claim("Y", "predicted", "at-least = 0", "iops(\"disks\", 1) + score(\"flash\", 2)");
    let study = study(&claims);
    let runs = |options: &Options| {
        let fake = Fake::default();
        run(&study, &fake, options, &Control::default(), &mut |_| {}).expect("it runs");
        fake.runs.into_inner()
    };
    assert_eq!(runs(&Options::default()), 4, "two steps of two repeats");
    assert_eq!(runs(&Options { only: vec!["X".to_owned()], ..Options::default() }), 2);
    assert_eq!(runs(&Options { all: true, ..Options::default() }), 10, "(2 + 3) steps");
}

#[test]
fn an_unknown_claim_is_told_with_the_nearest() {
    let study = resolve_study("example").expect("shipped");
    let options = Options { only: vec!["E9".to_owned()], ..Options::default() };
    let error = run(&study, &Fake::default(), &options, &Control::default(), &mut |_| {});
    let error = error.expect_err("no such claim");
    assert_eq!(error.to_string(), "the study \"example\" has no claim \"E9\"");
    assert!(error.hint().contains("known claims: E1, E2"), "{}", error.hint());
}

#[test]
fn what_was_not_run_after_an_interruption_is_not_measured() {
    let study = resolve_study("example").expect("shipped");
    let fake = Fake { interrupt_after: Some(1), ..Fake::default() };
    let options = Options { threads: NonZeroUsize::new(1), ..Options::default() };
    let result = run(&study, &fake, &options, &Control::default(), &mut |_| {}).expect("it runs");
    assert_eq!(fake.runs.into_inner(), 1);
    assert!(!result.complete);
    let outcomes = result.claims.iter().map(|claim| claim.outcome);
    let measured = outcomes.filter(|outcome| *outcome != Outcome::NotMeasured);
    assert_eq!(measured.count(), 1, "the arithmetic one needs no run");
}

#[test]
fn the_outputs_of_the_example_with_made_up_steps() {
    let result = go(&resolve_study("example").expect("shipped"), &Options::default());
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.add_filter(r"[0-9a-f]{64}", "[sha256]");
    settings.add_filter(r"definitions [0-9a-f]{12}", "definitions [sha256]");
    settings.bind(|| {
        insta::assert_snapshot!("markdown", markdown(&result));
        insta::assert_snapshot!("csv", csv(&result));
        let json = serde_json::to_value(&result).expect("JSON");
        insta::assert_snapshot!(
            "claims",
            serde_json::to_string_pretty(&json["claims"]).expect("JSON")
        );
    });
}

#[test]
fn the_stored_schema_is_that_of_the_types() {
    assert_stored("study-1.0.json", &json_schema());
}

fn assert_stored(name: &str, schema: &serde_json::Value) {
    let path = format!("{}/../../../docs/schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let fresh = serde_json::to_string_pretty(schema).expect("JSON") + "\n";
    if std::env::var_os("TILEMARK_UPDATE").is_some() {
        std::fs::write(&path, &fresh).expect("writable docs/schemas");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == fresh, "docs/schemas/{name}: run this test with TILEMARK_UPDATE=1");
}

#[test]
fn the_stored_schema_of_parts_is_that_of_the_types() {
    assert_stored("study-part-1.0.json", &part_json_schema());
}

/// Whole path: the shipped example through the simulator.
#[test]
fn the_example_is_the_same_on_one_thread_and_on_several() {
    let study = resolve_study("example").expect("shipped");
    let result = |threads| {
        let options = Options {
            threads: NonZeroUsize::new(threads),
            only: ["E1", "E2", "E4"].map(str::to_owned).to_vec(),
            repeats: Some(1),
            ..Options::default()
        };
        let simulated = Simulated::new(&study.configurations);
        let result = run(&study, &simulated, &options, &Control::default(), &mut |_| {});
        serde_json::to_string(&result.expect("it runs")).expect("JSON")
    };
    let one = result(1);
    assert_eq!(one, result(3));
    let value: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(value["complete"], true);
    let claims = value["claims"].as_array().expect("claims");
    assert_eq!(claims[0]["ours"], 1.0);
    assert!(claims[2]["ours"].is_number(), "{}", claims[2]);
}

/// Disks of 2 GiB (16 at a footprint of 1/8), where 10 % get 95 % of the orders' I/O.
#[test]
fn working_set_matches_the_hot_spot_and_grows_with_the_share() {
    let study = resolve_study("example").expect("shipped");
    let simulated = Simulated::new(&study.configurations);
    let at = |share| simulated.working_set(&study.configurations[0], share, 1).expect("a curve");
    let disk = super::figures::footprint(&study.configurations[0], 1);
    let (half, most, all) = (at(0.5), at(0.9), at(1.0));
    assert!(half < most && most < all && all <= disk * 1.05, "{half} {most} {all} of {disk}");
    assert!((0.05..0.2).contains(&(most / disk)), "{most} of {disk}");
}

fn number(text: &str) -> Option<f64> {
    let study = resolve_study("example").expect("shipped");
    let formula = parse(text, Scope::Claim).unwrap_or_else(|error| panic!("{text}: {error}"));
    constant(&study, &formula.root, Bound::default())
}

#[test]
fn arithmetic_is_that_of_school() {
    for (text, expected) in [
        ("1 + 2 * 3", 7.0),
        ("(1 + 2) * 3", 9.0),
        ("8 / 4 / 2", 1.0),
        ("10 - 4 - 3", 3.0),
        ("-2 * -3", 6.0),
        ("2 - -1", 3.0),
        ("1e3 + 1_000", 2000.0),
        ("50% * 10", 5.0),
        ("92GB / 1GiB > 85", 1.0),
        ("1 < 2 < 3", 1.0),
        ("3 > 2 > 2", 0.0),
        ("1 == 1 and 2 != 3", 1.0),
        ("not 1 or 1 >= 1", 1.0),
        ("not (1 or 1)", 0.0),
        ("min(3, 1, 2) + max(3, 1, 2)", 4.0),
        ("abs(-5) + round(2.5)", 8.0),
        ("between(2, 1, 2) + between(0, 1, 2)", 1.0),
        ("gain(126, 100)", 26.0),
    ] {
        let found = number(text).expect(text);
        assert!((found - expected).abs() < 1e-9, "{text} is {found}");
    }
    assert_eq!(number("1 / 0"), None);
    assert_eq!(number("1e308 * 10"), None);
}

proptest! {
    #[test]
    fn sums_and_products_follow_a_plain_calculation(
        terms in prop::collection::vec((any::<bool>(), prop::collection::vec(1_u32..100, 1..4)), 1..6)
    ) {
        let (mut text, mut expected) = ("0".to_owned(), 0.0);
        for (is_minus, factors) in &terms {
            let product: f64 = factors.iter().map(|factor| f64::from(*factor)).product();
            expected += if *is_minus { -product } else { product };
            let factors: Vec<String> = factors.iter().map(u32::to_string).collect();
            text += &format!(" {} {}", if *is_minus { "-" } else { "+" }, factors.join(" * "));
        }
        let found = number(&text).expect("a number");
        prop_assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{text}: {found}");
    }

    #[test]
    fn a_comparison_is_one_or_nothing(a in -100_i32..100, b in -100_i32..100) {
        for (sign, holds) in [("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b), ("==", a == b), ("!=", a != b)] {
            prop_assert_eq!(number(&format!("{a} {sign} {b}")), Some(f64::from(u8::from(holds))));
        }
    }
}

#[test]
fn unavailable_real_storage_is_reported_as_not_measured() {
    let real = "[[real]]\nname = \"here\"\ntitle = \"This machine\"\n";
    let claims = claim("R", "real", "absolute = 1", "iops(\"here\", 1)");
    let study = study(&format!("{real}{claims}"));
    let directory = "/nowhere/at/all".into();
    let there = Some(RealStorage { directory, allow_root_fs: false });
    for real in [None, there] {
        let is_tried = real.is_some();
        let options = Options { repeats: Some(1), real, ..Options::default() };
        let (fake, control) = (Fake::default(), Control::default());
        let result = run(&study, &fake, &options, &control, &mut |_| {}).expect("a result");
        let claim = &result.claims[0];
        assert_eq!(claim.outcome, Outcome::NotMeasured);
        let reason = claim.reason.as_deref().unwrap_or_default();
        assert!(
            reason.contains(if is_tried { "/nowhere/at/all" } else { "real storage" }),
            "{reason}"
        );
        assert_eq!(result.simulated, !is_tried);
        assert_eq!(result.configurations.iter().any(|each| each.real), is_tried);
    }
}
