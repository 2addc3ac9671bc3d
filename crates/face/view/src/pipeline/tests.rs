use run_store::run::{Expected, LimitResult, Run, Status, Verdict};

use super::*;

fn run() -> Run {
    let golden = include_str!("../../../../base/run-store/tests/golden/run-1.0.json");
    let mut run = run_store::run::parse(golden).expect("a run");
    let expected = |text: &str, verdict| Expected {
        text: text.to_owned(),
        verdict,
        reason: "because of <that> & \"this\" | there".to_owned(),
        unit: "tiles".to_owned(),
        found: None,
        low: None,
        high: None,
        tiles: None,
    };
    run.expectations = vec![
        expected("tiles >= 1", Verdict::Passed),
        expected("tiles >= 2", Verdict::Failed),
        expected("tiles >= 3", Verdict::Inconclusive),
    ];
    run
}

/// Limit of the step behind the answer.
fn limit(run: &mut Run) -> &mut LimitResult {
    let held = run.answer.tiles_held;
    let step = run.steps.iter_mut().rev().find(|step| Some(step.tiles) == held);
    &mut step.expect("the golden run held").limits[0].result
}

#[test]
fn what_is_not_decided_is_skipped_and_what_is_missed_fails() {
    let text = junit(&run());
    let cases = text.matches("<testcase ").count();
    assert!(text.contains(&format!("tests=\"{cases}\" failures=\"1\"")), "{text}");
    assert!(text.contains("skipped=\"1\""), "{text}");
    assert!(text.contains("name=\"tiles &gt;= 1\"/>"), "a case that passed: {text}");
    let why = "message=\"because of &lt;that&gt; &amp; &quot;this&quot; | there\"";
    assert!(text.contains(&format!("<failure {why}")) && text.contains(&format!("<skipped {why}")));
    assert!(!text.contains('\u{7}') && !junit_of_name("bell\u{7}").contains('\u{7}'));
}

fn junit_of_name(name: &str) -> String {
    let mut run = run();
    run.tile.name = name.to_owned();
    junit(&run)
}

#[test]
fn the_sentence_to_plan_with_stands_first() {
    let plan = run().plan_text().expect("the golden run held");
    assert!(plan.starts_with("Plan with "), "{plan}");
    let text = markdown(&run());
    let first = text.lines().nth(2).expect("a line after the title");
    assert_eq!(first, format!("**{plan}**"), "{text}");
    let property = format!("<property name=\"plan\" value=\"{plan}\"/>");
    assert!(junit(&run()).contains(&property), "{}", junit(&run()));
}

#[test]
fn summaries_hold_every_sentence_of_the_answer() {
    let run = run();
    let (page, suite) = (markdown(&run), junit(&run));
    let parts = crate::parts(&run);
    assert!(parts.len() > run.expectations.len() + 3, "{parts:?}");
    for (role, text) in parts {
        if role == crate::Role::Expected {
            continue;
        }
        assert!(page.contains(&super::markdown::cell(&text)), "{text}: {page}");
        let (name, value) = (role.name(), super::junit::escaped(&text));
        let property = format!("<property name=\"{name}\" value=\"{value}\"/>");
        assert!(suite.contains(&property), "{property}: {suite}");
    }
}

#[test]
fn a_run_that_says_nothing_is_no_green_suite() {
    let mut run = run();
    run.expectations.clear();
    run.steps.clear();
    run.answer.status = Status::Inconclusive;
    let text = junit(&run);
    assert!(text.contains("tests=\"1\"") && text.contains("skipped=\"1\""), "{text}");
    run.answer.status = Status::Interrupted;
    assert!(junit(&run).contains("errors=\"1\""));
}

#[test]
fn each_limit_is_a_case_and_a_maximum_is_none() {
    let mut run = run();
    let before = limits(&run).len();
    assert!(before > 0, "the golden run has limits");
    limit(&mut run).verdict = Verdict::Failed;
    assert!(junit(&run).contains("failures=\"2\""), "{}", junit(&run));
    limit(&mut run).statistic = run_store::run::Statistic::Max;
    assert_eq!(limits(&run).len(), before - 1, "it decides nothing");
}

#[test]
fn a_summary_says_what_was_missed_and_no_cell_ends_early() {
    let text = markdown(&run());
    assert!(text.contains("| `tiles >= 2` | **missed** |"), "{text}");
    assert!(text.contains("\\| there |"), "{text}");
    assert!(text.contains("| not decided |"), "{text}");
}

#[test]
fn figures_are_of_one_direction_a_file() {
    let run = run();
    let names = |value: &serde_json::Value| -> Vec<String> {
        let all = value.as_array().expect("a list").iter();
        all.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    let bigger = names(&bench_json(&run));
    assert!(bigger.iter().any(|name| name.ends_with(": tiles held")), "{bigger:?}");
    assert!(bigger.iter().all(|name| !name.contains("p9")), "{bigger:?}");
    let times = bench_json_times(&run);
    assert_eq!(
        names(&times).len(),
        limits(&run).iter().filter(|own| own.pooled.result.measured_ns.is_some()).count()
    );
    assert!(times.as_array().expect("a list").iter().all(|one| one["unit"] == "ms"));
}

/// Regression: the step behind the answer was disturbed, and its broken limit was a `failure` for
/// pipelines.
#[test]
fn limit_broken_beside_other_work_is_skipped_with_the_reason() {
    let mut run = run();
    run.expectations.clear();
    let disturbance = vec![run_store::run::Disturbance {
        gauge: run_store::gauge::GaugeName::CpuOthers,
        by: "cc".to_owned(),
        value: 0.5,
        limit: 0.1,
    }];
    let held = run.answer.tiles_held;
    run.steps.retain(|step| Some(step.tiles) == held);
    for step in &mut run.steps {
        step.disturbances = disturbance.clone();
        step.verdict = Verdict::Inconclusive;
        step.reason = disturbance[0].to_string();
        for limit in step.limits.iter_mut().filter(|limit| limit.result.decides()) {
            limit.result.verdict = Verdict::Failed;
        }
    }
    let text = junit(&run);
    assert!(text.contains("failures=\"0\""), "{text}");
    assert!(text.contains("<skipped") && text.contains("most of it cc"), "{text}");
    assert!(text.contains("<property name=\"disturbed\""), "{text}");
    let text = markdown(&run);
    assert!(text.contains("most of it cc") && !text.contains("| failed |"), "{text}");
}
