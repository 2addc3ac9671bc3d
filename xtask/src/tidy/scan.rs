//! Just enough of Rust's syntax to find where functions begin and end.

/// Part of a source file before its module of tests.
pub fn production(source: &str) -> &str {
    let mut offset = 0;
    let mut lines = source.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let opens_tests = lines.peek().is_some_and(|next| {
            next.trim_start().starts_with("mod ") && next.trim_end().ends_with('{')
        });
        if line.trim_end() == "#[cfg(test)]" && opens_tests {
            return &source[..offset];
        }
        offset += line.len();
    }
    source
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Name of the function.
    pub name: String,
    /// Line of the function's `fn`, from 1.
    pub line: usize,
    /// Lines from the `fn` to the closing brace.
    pub lines: usize,
}

/// All functions with a body, including nested ones, in order.
pub fn functions(source: &str) -> Vec<Function> {
    let code = blank(source);
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let mut found = Vec::new();
    for at in 0..code.len().saturating_sub(3) {
        let is_fn = code[at..].starts_with(b"fn ") && (at == 0 || !word(code[at - 1]));
        if !is_fn {
            continue;
        }
        let name: Vec<u8> = code[at + 3..].iter().copied().take_while(|c| word(*c)).collect();
        let Some(end) = (!name.is_empty()).then(|| body_end(&code[at..])).flatten() else {
            continue; // a function pointer type or a declaration
        };
        let newlines = |part: &[u8]| part.iter().filter(|c| **c == b'\n').count();
        found.push(Function {
            name: String::from_utf8_lossy(&name).into_owned(),
            line: newlines(&code[..at]) + 1,
            lines: newlines(&code[at..at + end]) + 1,
        });
    }
    found
}

/// Offset of the brace that closes the first body; nothing if a semicolon comes first.
fn body_end(code: &[u8]) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, c) in code.iter().enumerate() {
        match c {
            b'(' | b'[' => brackets += 1,
            b')' | b']' => brackets = brackets.saturating_sub(1),
            b';' if braces == 0 && brackets == 0 => return None,
            b'{' => braces += 1,
            b'}' => {
                braces = braces.checked_sub(1)?;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Source with the content of comments, strings and characters replaced by spaces, byte by byte;
/// line breaks are kept.
pub fn blank(source: &str) -> Vec<u8> {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let length = opaque_length(&bytes[at..], at.checked_sub(1).map(|before| bytes[before]));
        for byte in &mut code[at..at + length] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += length.max(1);
    }
    code
}

/// Length in bytes of a comment or literal from here; zero for code.
fn opaque_length(rest: &[u8], before: Option<u8>) -> usize {
    let in_word = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_');
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => quoted(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !in_word || before == Some(b'b') => raw_string(rest),
        // A lifetime has no closing quote after one character.
        [b'\'', b'\\', ..] => quoted(rest, b'\''),
        [b'\'', _, b'\'', ..] => 3,
        [b'\'', first, ..] if !first.is_ascii() => quoted(rest, b'\''),
        _ => 0,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `r"…"`, `r#"…"#`; zero for a raw identifier such as `r#type`.
fn raw_string(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|c| **c == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = 2 + hashes;
    rest[body..]
        .windows(end.len())
        .position(|window| window == end)
        .map_or(rest.len(), |at| body + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(String, usize, usize)> {
        functions(source).into_iter().map(|f| (f.name, f.line, f.lines)).collect()
    }

    #[test]
    fn braces_in_text_and_comments_are_not_braces() {
        let source = "// fn no() {\nfn a() {\n    let s = \"}\\\"}\";\n    let c = '}';\n\
                      \x20   /* } /* } */ */\n    let r = r#\"}\"\"#;\n    let b = br\"}\";\n}\nfn b() {}\n";
        assert_eq!(found(source), [("a".to_owned(), 2, 7), ("b".to_owned(), 9, 1)]);
    }

    #[test]
    fn lifetimes_and_raw_names_are_not_literals() {
        let source = "fn a<'a>(x: &'a str) -> &'a str {\n    r#type\n}\nfn b(c: char) -> bool { c == '\\'' }\n";
        assert_eq!(found(source), [("a".to_owned(), 1, 3), ("b".to_owned(), 4, 1)]);
    }

    #[test]
    fn declarations_and_function_types_have_no_length() {
        let source =
            "trait T { fn a(x: [u8; 3]); }\ntype F = fn (u8) -> u8;\nfn b(f: fn(u8)) {\n}\n";
        assert_eq!(found(source), [("b".to_owned(), 3, 2)]);
    }

    #[test]
    fn nested_functions_are_found_inside_their_parents() {
        let source = "fn a() {\n    fn b() {\n    }\n}\n";
        assert_eq!(found(source), [("a".to_owned(), 1, 4), ("b".to_owned(), 2, 2)]);
    }
}
