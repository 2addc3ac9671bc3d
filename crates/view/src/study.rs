//! Studies, from the pages that `tilemark study run` made: those that are shipped, and those that
//! it kept beside the runs. Cells of pages are the texts that people read; they are read back
//! rather than computed again, which takes minutes.

use std::path::Path;

use findings::store;
use record::rundir::RunId;

use crate::document::{StudyClaim, StudyList, StudyPage, StudyRow, StudySection, StudyTally};

/// Names and pages.
const PAGES: [(&str, &str); 6] = [
    ("esg-tiles", include_str!("../../../docs/studies/esg-tiles.md")),
    ("fast-cache", include_str!("../../../docs/studies/fast-cache.md")),
    ("protocols", include_str!("../../../docs/studies/protocols.md")),
    ("storage-and-cpu", include_str!("../../../docs/studies/storage-and-cpu.md")),
    ("storage-and-cpu-real", include_str!("../../../docs/studies/storage-and-cpu-real.md")),
    ("vsan-6", include_str!("../../../docs/studies/vsan-6.md")),
];

/// Own results that are kept beside the runs in `base`, if one is given, the newest first; then
/// all shipped studies, by name.
pub fn studies(base: Option<&Path>) -> StudyList {
    let mut own: Vec<RunId> = base.map(kept).unwrap_or_default();
    own.sort_by(|a, b| b.cmp(a));
    let own = own.iter().filter_map(|id| own_study(base?, id)).map(|page| page.row);
    let shipped = PAGES.iter().map(|(name, text)| read(name, text).row);
    StudyList { studies: own.chain(shipped).collect() }
}

/// One of these; none if there is none of that name.
pub fn study(base: Option<&Path>, name: &str) -> Option<StudyPage> {
    if let Some((name, text)) = PAGES.iter().find(|(known, _)| *known == name) {
        return Some(read(name, text));
    }
    own_study(base?, &RunId::parse(name)?)
}

/// Ids of results that are kept.
fn kept(base: &Path) -> Vec<RunId> {
    let entries = std::fs::read_dir(base.join(store::DIRECTORY)).into_iter().flatten().flatten();
    entries.filter_map(|entry| RunId::parse(entry.file_name().to_str()?)).collect()
}

/// A result that is kept; none if its page cannot be read.
fn own_study(base: &Path, id: &RunId) -> Option<StudyPage> {
    let path = base.join(store::DIRECTORY).join(id.as_str()).join(store::PAGE);
    let mut page = read(id.as_str(), &plain::read_text(&path).ok()?);
    (page.row.is_own, page.row.made) = (true, Some(id.started().to_string()));
    Some(page)
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
            is_own: false,
            made: None,
            title: head.title.trim_start_matches("# ").to_owned(),
            sentence: sentence.unwrap_or_default(),
            claims: u32::try_from(claims.len()).unwrap_or(u32::MAX),
        },
        made_by: made_by.replace("; do not edit", ""),
        notes,
        claims_note: of_claims.map(|part| part.paragraphs.join(" ")).unwrap_or_default(),
        tallies: tallies(&claims),
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

/// How many claims of each kind are met.
fn tallies(claims: &[StudyClaim]) -> Vec<StudyTally> {
    let mut kinds = vec!["predicted", "calibrated", "input", "arithmetic"];
    for claim in claims {
        if !kinds.contains(&claim.kind.as_str()) {
            kinds.push(&claim.kind);
        }
    }
    let tally = |kind: &str| {
        let own = claims.iter().filter(|claim| claim.kind == kind);
        let count = |is: fn(&str) -> bool| {
            let found = own.clone().filter(|claim| is(&claim.outcome)).count();
            u32::try_from(found).unwrap_or(u32::MAX)
        };
        StudyTally {
            kind: kind.to_owned(),
            claims: count(|_| true),
            measured: count(|outcome| outcome != "not-measured"),
            met: count(|outcome| outcome == "met"),
        }
    };
    kinds.into_iter().map(tally).filter(|tally| tally.claims > 0).collect()
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
        let page = study(None, "fast-cache").expect("it is shipped");
        let of_kind = |outcome: &str| {
            let is = |claim: &&StudyClaim| claim.kind == "predicted" && claim.outcome == outcome;
            page.claims.iter().filter(is).count()
        };
        let predicted = &page.tallies[0];
        assert_eq!(predicted.kind, "predicted");
        assert_eq!(predicted.met as usize, of_kind("met"));
        assert_eq!((predicted.measured - predicted.met) as usize, of_kind("not-met"));
        let all: u32 = page.tallies.iter().map(|tally| tally.claims).sum();
        assert_eq!(all, page.row.claims);
        let sum = format!("{} of ", of_kind("met"));
        assert!(page.row.sentence.starts_with(&sum), "{}: {}", sum, page.row.sentence);
        assert!(study(Some(Path::new("/")), "../x").is_none());
    }

    #[test]
    fn own_results_come_first_the_newest_of_all_first_and_what_is_unfinished_is_left_out() {
        let base = tempfile::tempdir().expect("a directory");
        let shipped = studies(Some(base.path())).studies;
        assert!(shipped.iter().all(|row| !row.is_own && row.made.is_none()));
        let (old, new) = ("20261121T184207Z-vsan-6-abcdef", "20261122T184207Z-mine-abcdef");
        let partial = format!("{new}.partial");
        for (id, text) in [(old, PAGES[5].1), (new, PAGES[1].1), (&partial, PAGES[0].1)] {
            let directory = base.path().join(store::DIRECTORY).join(id);
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join(store::PAGE), text).expect("a page");
        }
        let rows = studies(Some(base.path())).studies;
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names[..2], [new, old]);
        assert_eq!(rows[0].made.as_deref(), Some("2026-11-22T18:42:07Z"));
        assert_eq!(rows[2..], shipped);
        let page = study(Some(base.path()), old).expect("it is kept");
        assert!(page.row.is_own && page.claims.len() > 5);
        assert_eq!(study(None, old), None);
    }
}
