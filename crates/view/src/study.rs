//! The shipped studies, from the pages that `tilemark study run --format markdown` made.
//!
//! The pages are the only stored results of studies, and their cells are the texts that people
//! read; so they are read back rather than computed again, which takes minutes.

use crate::document::{StudyClaim, StudyList, StudyPage, StudyRow, StudySection};

/// Names and pages.
const PAGES: [(&str, &str); 6] = [
    ("esg-tiles", include_str!("../../../docs/studies/esg-tiles.md")),
    ("fast-cache", include_str!("../../../docs/studies/fast-cache.md")),
    ("protocols", include_str!("../../../docs/studies/protocols.md")),
    ("storage-and-cpu", include_str!("../../../docs/studies/storage-and-cpu.md")),
    ("storage-and-cpu-real", include_str!("../../../docs/studies/storage-and-cpu-real.md")),
    ("vsan-6", include_str!("../../../docs/studies/vsan-6.md")),
];

/// All shipped studies, by name.
pub fn studies() -> StudyList {
    StudyList { studies: PAGES.iter().map(|(name, text)| read(name, text).row).collect() }
}

/// One shipped study; none if there is none of that name.
pub fn study(name: &str) -> Option<StudyPage> {
    let (name, text) = PAGES.iter().find(|(known, _)| *known == name)?;
    Some(read(name, text))
}

fn read(name: &str, text: &str) -> StudyPage {
    let mut parts = text.split("\n## ");
    let head = Part::read(parts.next().unwrap_or_default());
    let sections: Vec<Part> = parts.map(Part::read).collect();
    let mut notes = head.paragraphs;
    // The sum is the last paragraph, in bold; who made the page the first.
    let sum = notes.iter().rposition(|text| text.starts_with("**"));
    let sentence = sum.map(|at| notes.remove(at).trim_matches('*').to_owned());
    let made_by = if notes.is_empty() { String::new() } else { notes.remove(0) };
    let is_claims = |part: &&Part| part.title == "Claims";
    let of_claims = sections.iter().find(is_claims);
    let claims: Vec<StudyClaim> =
        of_claims.map_or(&[][..], |part| &part.rows).iter().filter_map(|row| claim(row)).collect();
    StudyPage {
        row: StudyRow {
            name: name.to_owned(),
            title: head.title.trim_start_matches("# ").to_owned(),
            sentence: sentence.unwrap_or_default(),
            claims: u32::try_from(claims.len()).unwrap_or(u32::MAX),
        },
        made_by: made_by.replace("; do not edit", ""),
        notes,
        claims_note: of_claims.map(|part| part.paragraphs.join(" ")).unwrap_or_default(),
        claims,
        sections: sections
            .iter()
            .filter(|part| !is_claims(part))
            .map(|part| StudySection {
                title: part.title.clone(),
                paragraphs: part.paragraphs.clone(),
                columns: part.columns.clone(),
                rows: part.rows.clone(),
            })
            .collect(),
    }
}

/// `claim | kind | published | ours | tolerance | met | what is said`.
fn claim(row: &[String]) -> Option<StudyClaim> {
    let [id, kind, published, ours, tolerance, met, text] = row else { return None };
    let outcome = match met.split([',', ' ']).next().unwrap_or_default() {
        "yes" => "met",
        "NO" => "not-met",
        _ => "not-measured",
    };
    Some(StudyClaim {
        id: id.clone(),
        kind: kind.clone(),
        published: published.clone(),
        ours: ours.clone(),
        tolerance: tolerance.clone(),
        outcome: outcome.to_owned(),
        outcome_text: met.clone(),
        text: text.clone(),
    })
}

/// A heading and what is below it.
#[derive(Default)]
struct Part {
    title: String,
    paragraphs: Vec<String>,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Part {
    fn read(text: &str) -> Self {
        let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
        let mut part = Self { title: title.trim().to_owned(), ..Self::default() };
        for block in rest.split("\n\n").map(str::trim).filter(|block| !block.is_empty()) {
            if block.starts_with('|') {
                part.table(block);
            } else {
                part.text(block);
            }
        }
        part
    }

    /// Lines of a paragraph become one; items of a list stay paragraphs of their own.
    fn text(&mut self, block: &str) {
        let mut paragraph = String::new();
        for line in block.lines() {
            let item = line.strip_prefix("- ");
            if item.is_some() && !paragraph.is_empty() {
                self.paragraphs.push(std::mem::take(&mut paragraph));
            }
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(plain(item.unwrap_or(line)).trim());
        }
        self.paragraphs.push(paragraph);
    }

    fn table(&mut self, block: &str) {
        let mut rows = block.lines().map(cells);
        self.columns = rows.next().unwrap_or_default();
        let is_rule = |row: &Vec<String>| {
            row.iter().all(|cell| !cell.is_empty() && cell.bytes().all(|b| b"-:".contains(&b)))
        };
        self.rows = rows.filter(|row| !is_rule(row)).collect();
    }
}

/// Cells of a line of a table; `\|` is a bar in a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    let line = line.strip_suffix('|').unwrap_or(&line);
    line.split('|').map(|cell| plain(cell.trim()).replace('\u{1}', "|")).collect()
}

/// Without marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_page_reads_back_whole() {
        for (name, text) in PAGES {
            let page = read(name, text);
            let of_text = text.lines().filter(|line| line.starts_with("| ")).count();
            let tables = page.sections.iter().filter(|section| !section.columns.is_empty()).count();
            let rows: usize = page.sections.iter().map(|section| section.rows.len()).sum();
            assert_eq!(page.claims.len() + 1 + rows + tables, of_text, "{name}");
            assert!(page.claims.len() > 5 && page.row.claims > 5, "{name}");
            assert!(page.row.sentence.contains("predicted claims reproduced"), "{name}");
            assert!(page.made_by.starts_with("Made by tilemark study run"), "{}", page.made_by);
            assert!(!page.claims_note.is_empty() && !page.notes.is_empty(), "{name}");
            for section in &page.sections {
                let width = section.columns.len();
                assert!(section.rows.iter().all(|row| row.len() == width), "{}", section.title);
            }
        }
    }

    #[test]
    fn how_many_claims_are_met_agrees_with_the_sum() {
        let page = study("fast-cache").expect("it is shipped");
        let of_kind = |outcome: &str| {
            let is = |claim: &&StudyClaim| claim.kind == "predicted" && claim.outcome == outcome;
            page.claims.iter().filter(is).count()
        };
        let sum = format!("{} of ", of_kind("met"));
        assert!(page.row.sentence.starts_with(&sum), "{}: {}", sum, page.row.sentence);
        assert!(study("../x").is_none());
    }
}
