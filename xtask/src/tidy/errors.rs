//! Errors of libraries are types: who gets a text can only show it, and cuts it apart sooner or later.

use super::sizes::is_production;
use super::{Findings, Tree, scan};

pub fn check(tree: &Tree, findings: &mut Findings) {
    // Parsers of the command line may return text for clap, and a test prints any error.
    let is_library = |path: &str| {
        is_production(path) && !path.starts_with("crates/face/cli/") && !path.ends_with("tests.rs")
    };
    for (path, content) in tree.iter().filter(|(path, _)| is_library(path)) {
        let code = scan::blank(scan::production(content));
        let code = String::from_utf8_lossy(&code);
        for (at, _) in
            code.match_indices("Result<").filter(|(at, _)| has_text_as_error(&code[*at..]))
        {
            let line = code[..at].matches('\n').count() + 1;
            findings.errors.push(format!(
                "{path}:{line}: Result<_, String>: a library's error is a type (thiserror); for \
                 content that is only refused there is untrusted::Malformed"
            ));
        }
    }
}

/// True if the last argument of the type that begins here is `String`.
fn has_text_as_error(code: &str) -> bool {
    let (mut depth, mut last) = (0_usize, 0);
    for (at, c) in code.char_indices() {
        match c {
            // The `>` of `->` closes no bracket.
            '>' if code[..at].ends_with('-') => {}
            '<' | '(' | '[' => depth += 1,
            ',' if depth == 1 && !code[at + 1..].trim_start().starts_with('>') => last = at + 1,
            '>' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let argument = code[last..at].trim().trim_end_matches(',');
                    return last > 0 && argument == "String";
                }
            }
            _ => {}
        }
    }
    false
}
