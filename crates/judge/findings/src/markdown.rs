//! Result as a page of the documentation.

use crate::StudyResult;
use crate::page::{Block, Page, Section};

/// Page, which begins with the command that makes it.
pub fn markdown(result: &StudyResult) -> String {
    let page = Page::of(result);
    let mut parts = vec![
        format!("# {}", result.title),
        format!("Made by `{}`; do not edit. {}.", page.command, page.facts),
    ];
    parts.extend(page.notes);
    parts.push(format!("**{}**", page.sentence));
    let sections = std::iter::once(Page::claims(result)).chain(page.missed).chain(page.sections);
    parts.extend(sections.flat_map(section));
    parts.join("\n\n") + "\n"
}

fn section(section: Section) -> Vec<String> {
    let block = |block| match block {
        Block::Paragraph(text) => text,
        Block::Items(items) => {
            items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
        }
        Block::Table(grid) => grid.markdown().trim_end().to_owned(),
    };
    let title = std::iter::once(format!("## {}", section.title));
    title.chain(section.blocks.into_iter().map(block)).collect()
}
