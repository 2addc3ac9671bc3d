//! JUnit XML as Jenkins, GitLab and GitHub's reporters read it. There is a test case for the
//! answer, for each limit and for each expectation. Undecided cases are reported as skipped,
//! because they neither passed nor failed.

use std::fmt::Write as _;

use run_store::run::{Run, Status, Verdict};
use units::Nanos;

use crate::{Role, parts};

/// Outcome of a test case.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
    Error(String),
}

/// A test case of the suite.
struct Case {
    class: String,
    name: String,
    outcome: Outcome,
}

/// Converts a run to one suite.
pub fn junit(run: &Run) -> String {
    let cases = cases(run);
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Error(_)));
    let measured: u64 = run.steps.iter().map(|step| step.measured_ns).sum();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        text,
        "<testsuites>\n  <testsuite name=\"tilemark {}\" tests=\"{}\" failures=\"{failures}\" \
         errors=\"{errors}\" skipped=\"{skipped}\" time=\"{:.3}\" timestamp=\"{}\">",
        escaped(&run.tile.name),
        cases.len(),
        Nanos(measured).as_secs_f64(),
        run.started.strftime("%Y-%m-%dT%H:%M:%S"),
    );
    text += "    <properties>\n";
    for (name, value) in properties(run) {
        let value = escaped(&value);
        let _ = writeln!(text, "      <property name=\"{name}\" value=\"{value}\"/>");
    }
    text += "    </properties>\n";
    cases.iter().for_each(|case| write_case(&mut text, case));
    text + "  </testsuite>\n</testsuites>\n"
}

fn properties(run: &Run) -> Vec<(String, String)> {
    let mut all = vec![
        ("run".to_owned(), run.id.clone()),
        ("tilemark".to_owned(), run.tool.version.clone()),
        ("commit".to_owned(), run.tool.commit.clone().unwrap_or_else(|| "unknown".to_owned())),
        ("datastore".to_owned(), run.target.datastore.clone()),
        ("simulated".to_owned(), run.target.is_simulated().to_string()),
        ("seed".to_owned(), run.seed.to_string()),
    ];
    let parts = parts(run).into_iter().filter(|(role, _)| *role != Role::Expected);
    all.extend(parts.map(|(role, text)| (role.name().to_owned(), text)));
    all.extend(crate::disturbed(&run.steps).map(|text| ("disturbed".to_owned(), text)));
    all.extend(run.labels.tags.iter().map(|(key, value)| (format!("tag.{key}"), value.clone())));
    all
}

fn cases(run: &Run) -> Vec<Case> {
    let answer = &run.answer;
    let outcome = match answer.status {
        Status::Complete => Outcome::Passed,
        Status::Inconclusive => Outcome::Skipped(run.sentence()),
        Status::Interrupted => Outcome::Error(run.sentence()),
    };
    let mut all = vec![Case {
        class: "tilemark.answer".to_owned(),
        name: "the run ended".to_owned(),
        outcome,
    }];
    all.extend(super::limits(run).into_iter().map(|own| {
        let (workload, tiles, limit) = (&own.pooled.workload, own.step.tiles, &own.pooled.result);
        let allowed = Nanos(limit.limit_ns);
        let found = limit.measured_ns.map_or_else(
            || "nothing was measured".to_owned(),
            |found| format!("{} of {allowed} allowed, {} samples", Nanos(found), limit.samples),
        );
        let why = own.reason().map_or(found.clone(), |why| format!("{found}: {why}"));
        Case {
            class: format!("tilemark.limit.{workload}"),
            name: format!("{} {} within {allowed}, {tiles} tiles", limit.name, limit.statistic),
            outcome: outcome_of(own.verdict(), why),
        }
    }));
    all.extend(run.expectations.iter().map(|own| Case {
        class: "tilemark.expectation".to_owned(),
        name: own.text.clone(),
        outcome: outcome_of(own.verdict, own.reason.clone()),
    }));
    all
}

fn outcome_of(verdict: Verdict, why: String) -> Outcome {
    match verdict {
        Verdict::Passed => Outcome::Passed,
        Verdict::Failed => Outcome::Failed(why),
        Verdict::Inconclusive | Verdict::Interrupted => Outcome::Skipped(why),
    }
}

fn write_case(text: &mut String, case: &Case) {
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        escaped(&case.class),
        escaped(&case.name)
    );
    let (element, why) = match &case.outcome {
        Outcome::Passed => {
            let _ = writeln!(text, "{head}/>");
            return;
        }
        Outcome::Failed(why) => ("failure", why),
        Outcome::Skipped(why) => ("skipped", why),
        Outcome::Error(why) => ("error", why),
    };
    let why = escaped(why);
    let _ = writeln!(text, "{head}>\n      <{element} message=\"{why}\"/>\n    </testcase>");
}

/// Escapes text for XML attributes; characters that XML cannot represent are left out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
