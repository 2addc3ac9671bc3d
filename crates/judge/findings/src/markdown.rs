//! Conversion of a result to a documentation page.

use crate::StudyResult;
use crate::page::{Block, Page, Section};

/// Maximum number of columns of a line, as everywhere in the documentation.
const COLUMNS: usize = 100;

/// Returns the page, which begins with the command that generates it.
pub fn markdown(result: &StudyResult) -> String {
    let page = Page::of(result);
    let mut parts = vec![
        format!("# {}", result.title),
        wrapped(&format!("Made by `{}`; do not edit. {}.", page.command, page.facts)),
    ];
    parts.extend(page.notes.iter().map(|note| wrapped(note)));
    parts.push(wrapped(&format!("**{}**", page.sentence)));
    let sections = std::iter::once(Page::claims(result)).chain(page.missed).chain(page.sections);
    parts.extend(sections.flat_map(section));
    parts.join("\n\n") + "\n"
}

fn section(section: Section) -> Vec<String> {
    let block = |block| match block {
        Block::Paragraph(text) => wrapped(&text),
        Block::Items(items) => {
            items.iter().map(|item| wrapped(&format!("- {item}"))).collect::<Vec<_>>().join("\n")
        }
        Block::Table(grid) => grid.markdown().trim_end().to_owned(),
    };
    let title = std::iter::once(format!("## {}", section.title));
    title.chain(section.blocks.into_iter().map(block)).collect()
}

/// Breaks prose into lines of at most [`COLUMNS`]. Each list item starts on a new line, and rows of
/// tables are not broken.
fn wrapped(text: &str) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        let is_begin = line.is_empty() || line.starts_with('|') || line.starts_with("- ");
        match blocks.last_mut() {
            Some(last) if !is_begin && !last.is_empty() && !last.starts_with('|') => {
                last.push(' ');
                last.push_str(line.trim_start());
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    let lines = blocks.iter().map(|block| filled(block));
    lines.collect::<Vec<_>>().join("\n")
}

fn filled(block: &str) -> String {
    if block.starts_with('|') {
        return block.to_owned();
    }
    let hanging = if block.starts_with("- ") { 2 } else { 0 };
    let (mut text, mut column) = (String::new(), 0);
    for word in block.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > COLUMNS && !is_mark(word) {
            text.push('\n');
            text.push_str(&" ".repeat(hanging));
            column = hanging;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Returns true for a word that would turn its line into a list item, a heading, a quotation or a
/// table if it were the first word.
fn is_mark(word: &str) -> bool {
    matches!(word, "-" | "+" | "*" | "1." | "1)") || word.starts_with(['#', '>', '|'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_wraps_at_100_columns_and_no_mark_begins_a_line() {
        let long = format!("{} - {}", "word ".repeat(20).trim_end(), "word ".repeat(30).trim_end());
        let made = wrapped(&format!("{long}\nand on\n\n- {long}\n- short\n\n| {long} |"));
        let prose = made.lines().filter(|line| !line.starts_with('|'));
        assert!(prose.clone().all(|line| line.len() <= COLUMNS + 2), "{made}");
        assert_eq!(prose.clone().filter(|line| line.starts_with("- ")).count(), 2, "{made}");
        assert!(prose.clone().any(|line| line.ends_with(" -")), "{made}");
        assert!(made.contains("word and on\n\n- word") && made.contains("\n- short\n"), "{made}");
        let words = |text: &str| text.split_whitespace().count();
        assert_eq!(words(&made), words(&long) * 3 + 7, "{made}");
        assert!(made.ends_with(&format!("\n| {long} |")), "tables stay: {made}");
    }
}
