//! Readable messages for problems of form: the messages of the TOML reader and serde, with the
//! nearest known name.

use crate::error::Problem;
use crate::nearest::did_you_mean;

/// Converts a problem of form into a [`Problem`] with its place and, for an unknown name, the
/// nearest known name.
pub(crate) fn explain(error: &toml::de::Error, text: &str) -> Problem {
    let (message, help) = reword(error.message());
    let span = error.span().map(|span| {
        let end = span.end.min(text.len());
        let start = span.start.min(end);
        // A mistake in a whole table is shown at the first line of the table.
        let line = text[start..end].find('\n').map_or(end, |newline| start + newline);
        start..line
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
    // The message for the same mistake in a table that is the content of a choice.
    if let Some((names, known)) = message
        .strip_prefix("unexpected keys in table: ")
        .and_then(|rest| rest.split_once(", available keys: "))
    {
        let name = names.split(", ").next().unwrap_or_default();
        let known: Vec<&str> = known.split(", ").collect();
        return (format!("unknown key \"{name}\""), Some(did_you_mean(name, &known, "keys")));
    }
    if let Some(field) = message.strip_prefix("missing field `") {
        let field = field.trim_end_matches('`');
        return (format!("the key \"{field}\" is missing"), None);
    }
    if message.starts_with("wanted exactly 1 element") {
        let help = "write one { choice = ... }; several steps are several list elements";
        return ("exactly one choice belongs in this table".to_owned(), Some(help.to_owned()));
    }
    if let Some(number) = message.strip_prefix("invalid type: integer `")
        && let Some((number, "expected a string")) = number.split_once("`, ")
    {
        return (
            format!("{number} is a number, but a text belongs here"),
            Some(format!("write \"{number}\"")),
        );
    }
    (plain_types(&message.replace('\n', "; ")), None)
}

/// Replaces names of Rust types by plain words.
fn plain_types(message: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("expected f64", "expected a number"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number from 0 up"),
        ("expected a sequence", "expected a list"),
        ("type: sequence", "type: list"),
        ("type: map", "type: table"),
        ("expected a map", "expected a table"),
        ("expected a boolean", "expected true or false"),
    ];
    let mut text = message.to_owned();
    for (from, to) in WORDS {
        text = text.replace(from, to);
    }
    match text.find("expected struct ") {
        Some(at) => format!("{}expected a table", &text[..at]),
        None => text,
    }
}

/// Returns the message and the help for an unknown name. `rest` is serde's text after the opening
/// quote: the name, then the expected names.
fn unknown(rest: &str, one: &str, many: &str) -> (String, Option<String>) {
    let mut quoted = rest.split('`');
    let name = quoted.next().unwrap_or_default();
    // Text such as ", expected one of " separates the names, so every other part is a name.
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
