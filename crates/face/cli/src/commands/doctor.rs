//! `doctor`: tells why this computer may not be fit for measuring.

use std::time::Duration;

use bystanders::doctor::{Finding, Root, Severity, examine, watch};
use datastore::{Options, Target};
use units::Bytes;

use crate::args::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::target;
use crate::text::count;

/// Prints the findings, the worst first.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let (findings, exit) = findings(args.target.as_deref())?;
    match args.format {
        Format::Json => output::print_json(&findings)?,
        Format::Text => output::show(&text(&findings))?,
    }
    Ok(exit)
}

/// Returns the findings on this host, the worst first.
pub fn findings(target: Option<&str>) -> Result<(Vec<Finding>, Exit), Failure> {
    let refusal = engine::try_ring().err().map(|error| error.to_string());
    let mut findings = examine(&Root::default(), refusal.as_deref());
    findings.extend(watch(WATCH));
    if let Some(target) = target {
        findings.extend(of_datastore(&target::parse(target)?));
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let is_fit = findings.iter().all(|finding| finding.severity != Severity::Harmful);
    Ok((findings, if is_fit { Exit::Success } else { Exit::Inconclusive }))
}

/// Sampling time for other work: two seconds distinguish a tenth of a processor from none.
const WATCH: Duration = Duration::from_secs(2);

/// Returns the refusals and warnings of the safety rules for a datastore.
fn of_datastore(target: &Target) -> Vec<Finding> {
    let options = Options { write: true, run_id: "doctor".to_owned(), ..Options::default() };
    let found = datastore::examine(target, Bytes::ZERO, &options);
    let refused = found.refusals.iter().map(|refusal| Finding {
        id: refusal.id(),
        severity: Severity::Harmful,
        found: refusal.to_string(),
        why: "a run is refused".to_owned(),
        try_next: refusal.hint().unwrap_or_default(),
    });
    let warned = found.preflight.warnings.iter().map(|warning| Finding {
        id: "datastore",
        severity: Severity::Noise,
        found: warning.text.clone(),
        why: String::new(),
        try_next: String::new(),
    });
    let mut findings: Vec<Finding> = refused.chain(warned).collect();
    if found.refusals.is_empty() {
        findings.push(Finding {
            id: "datastore",
            severity: Severity::Good,
            found: format!("a run may use {}", found.preflight.resolved),
            why: String::new(),
            try_next: String::new(),
        });
    }
    findings
}

/// Returns a text for people.
pub fn text(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Good => "good",
            Severity::Unknown => "unknown",
            Severity::Noise => "noise",
            Severity::Harmful => "harmful",
        };
        lines.push(format!("{word:<8} {:<16} {}", finding.id, finding.found));
        if !finding.why.is_empty() {
            lines.push(format!("{:<25} {}", "", finding.why));
        }
        if !finding.try_next.is_empty() {
            lines.push(format!("{:<25} try: {}", "", finding.try_next));
        }
    }
    let harmful = findings.iter().filter(|finding| finding.severity == Severity::Harmful).count();
    let noise = findings.iter().filter(|finding| finding.severity == Severity::Noise).count();
    lines.push(match (harmful, noise) {
        (0, 0) => "fit for measuring, as far as it can be checked from here".to_owned(),
        (0, noise) => format!("fit for measuring; {}", noise_text(noise)),
        (harmful, noise) => {
            format!("not fit for measuring: {harmful} harmful, {}", noise_text(noise))
        }
    });
    lines.join("\n") + "\n"
}

fn noise_text(noise: usize) -> String {
    count(noise as u64, "source") + " of noise"
}
