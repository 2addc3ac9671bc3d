//! Mistakes of form, in words: what the TOML reader and serde report, with the nearest match.

use crate::error::Problem;
use crate::nearest::did_you_mean;

/// A mistake of form as a problem with its place and, for an unknown name, the nearest one.
pub(crate) fn explain(error: &toml::de::Error, text: &str) -> Problem {
    let (message, help) = reword(error.message());
    let span = error.span().map(|span| {
        let end = span.end.min(text.len());
        let start = span.start.min(end);
        // A mistake in a whole table is shown at its first line.
        let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
        (start, line - start).into()
    });
    Problem { message, span, help, path: String::new() }
}

fn reword(message: &str) -> (String, Option<String>) {
    if let Some(rest) = message.strip_prefix("unknown field `") {
        return unknown(rest, "key", "keys");
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        return unknown(rest, "choice", "choices");
    }
    if let Some(field) = message.strip_prefix("missing field `") {
        let field = field.trim_end_matches('`');
        return (format!("the key \"{field}\" is missing"), None);
    }
    if message.starts_with("wanted exactly 1 element") {
        let help = "write one { choice = ... }; several steps are several list elements";
        return ("exactly one choice belongs in this table".to_owned(), Some(help.to_owned()));
    }
    (message.replace('\n', "; "), None)
}

/// `rest` is serde's text behind the opening quote: the name, then the expected ones.
fn unknown(rest: &str, one: &str, many: &str) -> (String, Option<String>) {
    let mut quoted = rest.split('`');
    let name = quoted.next().unwrap_or_default();
    // Between two names stands text such as ", expected one of ": every other part is a name.
    let known: Vec<&str> = quoted.skip(1).step_by(2).collect();
    (format!("unknown {one} \"{name}\""), Some(did_you_mean(name, &known, many)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_names_the_nearest_one() {
        let (message, help) =
            reword("unknown field `disc`, expected one of `disk`, `size`, `address`");
        assert_eq!(message, "unknown key \"disc\"");
        let help = help.expect("a nearest match");
        assert_eq!(help, "did you mean \"disk\"? known keys: disk, size, address");
    }
}
