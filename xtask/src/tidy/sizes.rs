//! Checks the length of files and functions.

use super::rules::{Config, Exception};
use super::scan::{self, Function};
use super::{CONFIG, Findings, Tree};

/// Limits in lines: a warning above the first, an error above the second.
struct Limits {
    warn: usize,
    stop: usize,
}

const FILE: Limits = Limits { warn: 500, stop: 800 };
const FUNCTION: Limits = Limits { warn: 60, stop: 100 };

pub fn check(tree: &Tree, config: &Config, findings: &mut Findings) {
    let mut needed = vec![false; config.exceptions.len()];
    for (path, content) in tree.iter().filter(|(path, _)| is_production(path)) {
        let source = scan::production(content);
        let mut measure = |function: Option<&Function>, lines, limits: &Limits| {
            let name = function.map(|function| function.name.as_str());
            let exception = config
                .exceptions
                .iter()
                .position(|e| e.file == *path && e.function.as_deref() == name);
            if let Some(position) = exception {
                needed[position] = lines > limits.stop;
            }
            let subject = match function {
                Some(function) => format!("{path}:{}: function {}", function.line, function.name),
                None => format!("{path}: the file"),
            };
            let exception = exception.map(|position| &config.exceptions[position]);
            judge(&subject, lines, limits, exception, findings);
        };
        measure(None, source.lines().count(), &FILE);
        for function in scan::functions(source) {
            measure(Some(&function), function.lines, &FUNCTION);
        }
    }
    for (exception, needed) in config.exceptions.iter().zip(needed) {
        let subject = exception.function.as_deref().unwrap_or("the file");
        let place = format!("{CONFIG}: the exception for {subject} in {}", exception.file);
        if !needed {
            findings.errors.push(format!("{place} is not needed any more, remove it"));
        }
        if exception.reason.trim().is_empty() {
            findings.errors.push(format!("{place} has no reason"));
        }
    }
}

fn judge(
    subject: &str,
    lines: usize,
    limits: &Limits,
    exception: Option<&Exception>,
    findings: &mut Findings,
) {
    let allowed = exception.map_or(limits.stop, |exception| exception.lines);
    if lines > allowed {
        findings.errors.push(format!("{subject} has {lines} lines, at most {allowed} are allowed"));
    } else if lines > limits.stop && lines < allowed {
        findings.errors.push(format!(
            "{subject} has {lines} lines and its exception allows {allowed}: lower it to {lines}"
        ));
    } else if lines > limits.warn && exception.is_none() {
        findings.warnings.push(format!("{subject} has {lines} lines, aim below {}", limits.warn));
    }
}

/// True for Rust that ships or builds the shipped code; integration tests do neither.
pub fn is_production(path: &str) -> bool {
    let is_ours = ["crates/", "benchmarks/", "xtask/"].iter().any(|own| path.starts_with(own));
    is_ours && path.ends_with(".rs") && path.contains("/src/")
}
