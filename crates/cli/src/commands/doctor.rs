//! Why this machine may not be fit for measuring.

use bench::doctor::{Finding, Root, Severity, examine};

use crate::args::{DoctorArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Prints what was found, the worst first.
pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let mut findings = examine(&Root::default());
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    match args.format {
        Format::Json => output::print_json(&findings)?,
        Format::Text => output::print(&text(&findings))?,
    }
    Ok(Exit::Success)
}

fn text(findings: &[Finding]) -> String {
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
        (0, 0) => "fit for measuring, as far as can be seen from here".to_owned(),
        (0, noise) => format!("fit for measuring; {noise} source(s) of noise"),
        (harmful, noise) => {
            format!("not fit for measuring: {harmful} harmful, {noise} source(s) of noise")
        }
    });
    lines.join("\n") + "\n"
}
