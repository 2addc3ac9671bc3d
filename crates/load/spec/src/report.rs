//! Readable report of the problems in definition files, each with its place and line.

use std::ops::Range;

use crate::error::{Invalid, Problem};

impl Invalid {
    /// Returns the text of all problems of the file, in order. Each hint is below its problem.
    pub fn report(&self) -> String {
        let parts: Vec<String> = self.problems().map(|problem| self.part(problem)).collect();
        parts.join("\n")
    }

    fn part(&self, problem: &Problem) -> String {
        let mut lines = vec![problem.message.clone()];
        let excerpt = problem.span.as_ref().and_then(|span| Excerpt::of(&self.text, span));
        match excerpt {
            Some(excerpt) => lines.extend(excerpt.lines(&self.name)),
            None => lines.push(format!("  in {}", self.name)),
        }
        lines.extend(problem.help.iter().map(|help| format!("hint: {help}")));
        lines.join("\n")
    }
}

/// Line of a text that contains the start of a span.
struct Excerpt<'a> {
    line: usize,
    column: usize,
    text: &'a str,
    marked: usize,
}

impl<'a> Excerpt<'a> {
    fn of(text: &'a str, span: &Range<usize>) -> Option<Self> {
        let before = text.get(..span.start)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let whole = text.get(start..)?.lines().next().unwrap_or_default();
        let column = text.get(start..span.start)?.chars().count() + 1;
        let marked = text.get(span.clone()).and_then(|span| span.lines().next());
        let marked = marked.map_or(1, |span| span.chars().count()).max(1);
        (!whole.is_empty()).then_some(Self { line, column, text: whole, marked })
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs are kept, so that the mark is exactly below its text.
        let blank = |letter: char| if letter == '\t' { '\t' } else { ' ' };
        let indent: String = self.text.chars().take(self.column - 1).map(blank).collect();
        vec![
            format!("  in {name}, line {}, column {}", self.line, self.column),
            format!("  {number} | {}", self.text),
            format!("  {margin} | {indent}{}", "^".repeat(self.marked)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_below_what_is_wrong() {
        let text = "a = 1\n\tb = \"x\"\n";
        let at = text.find('b').expect("it is there");
        let excerpt = Excerpt::of(text, &(at..at + 1)).expect("a place in the text");
        assert_eq!(
            excerpt.lines("f.toml"),
            ["  in f.toml, line 2, column 2", "  2 | \tb = \"x\"", "    | \t^"]
        );
    }

    #[test]
    fn an_empty_text_has_nothing_to_show() {
        assert!(Excerpt::of("", &(0..0)).is_none());
        assert!(Excerpt::of("ä", &(1..2)).is_none(), "not the beginning of a letter");
    }
}
