//! Lists and shows studies, from the documents that `tilemark study run` stored. Some are shipped,
//! others are beside the runs. They are not computed again, because that takes minutes.

use std::path::Path;

use findings::{Block, CLAIMS_NOTE, ClaimResult, KindCount, Outcome, Page, StudyResult, store};
use run_store::rundir::RunId;

use crate::document::{StudyClaim, StudyList, StudyPage, StudyRow, StudySection, StudyTally};

/// Names and results of the shipped studies.
const SHIPPED: [(&str, &str); 6] = [
    ("esg-tiles", include_str!("../../../../docs/studies/esg-tiles.json")),
    ("fast-cache", include_str!("../../../../docs/studies/fast-cache.json")),
    ("protocols", include_str!("../../../../docs/studies/protocols.json")),
    ("storage-and-cpu", include_str!("../../../../docs/studies/storage-and-cpu.json")),
    ("storage-and-cpu-real", include_str!("../../../../docs/studies/storage-and-cpu-real.json")),
    ("vsan-6", include_str!("../../../../docs/studies/vsan-6.json")),
];

/// Lists the results beside the runs in `base`, if given, newest first, and then all shipped
/// studies by name.
pub fn studies(base: Option<&Path>) -> StudyList {
    let mut own: Vec<RunId> = base.map(kept).unwrap_or_default();
    own.sort_by(|a, b| b.cmp(a));
    let own = own.iter().filter_map(|id| own_study(base?, id)).map(|page| page.row);
    let shipped = SHIPPED.iter().map(|(name, text)| read(name, text).row);
    StudyList { studies: own.chain(shipped).collect() }
}

/// Returns the study with this name; `None` if there is none.
pub fn study(base: Option<&Path>, name: &str) -> Option<StudyPage> {
    if let Some((name, text)) = SHIPPED.iter().find(|(known, _)| *known == name) {
        return Some(read(name, text));
    }
    own_study(base?, &RunId::parse(name)?)
}

/// Returns the identifiers of the stored results.
fn kept(base: &Path) -> Vec<RunId> {
    let entries = std::fs::read_dir(base.join(store::DIRECTORY)).into_iter().flatten().flatten();
    entries.filter_map(|entry| RunId::parse(entry.file_name().to_str()?)).collect()
}

/// Reads a stored result; `None` if there is no document.
fn own_study(base: &Path, id: &RunId) -> Option<StudyPage> {
    let path = base.join(store::DIRECTORY).join(id.as_str()).join(store::RESULT);
    let mut page = read(id.as_str(), &untrusted::read_text(&path).ok()?);
    (page.row.is_own, page.row.made) = (true, Some(id.started().to_string()));
    Some(page)
}

fn read(name: &str, text: &str) -> StudyPage {
    match findings::parse(text) {
        Ok(result) => page_of(name, &result),
        Err(error) => unreadable(name, &error.to_string()),
    }
}

/// Makes the page for a result that cannot be read, with the reason.
fn unreadable(name: &str, why: &str) -> StudyPage {
    StudyPage {
        row: StudyRow {
            name: name.to_owned(),
            is_own: false,
            made: None,
            title: name.to_owned(),
            sentence: format!("This result cannot be shown: {why}."),
            claims: 0,
        },
        made_by: String::new(),
        notes: Vec::new(),
        claims_note: String::new(),
        tallies: Vec::new(),
        claims: Vec::new(),
        sections: Vec::new(),
    }
}

fn page_of(name: &str, result: &StudyResult) -> StudyPage {
    let page = Page::of(result);
    StudyPage {
        row: StudyRow {
            name: name.to_owned(),
            is_own: false,
            made: None,
            title: unmarked(&result.title),
            sentence: unmarked(&page.sentence),
            claims: number(result.claims.len()),
        },
        made_by: format!("Made by {}. {}.", page.command, page.facts),
        notes: page.notes.iter().flat_map(|text| paragraphs(text)).collect(),
        claims_note: CLAIMS_NOTE.to_owned(),
        tallies: result.summary.kinds.iter().map(tally).collect(),
        claims: result.claims.iter().map(claim).collect(),
        sections: page.sections.into_iter().map(section).collect(),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn tally(count: &KindCount) -> StudyTally {
    let measured = count.met + count.not_met;
    StudyTally {
        kind: count.kind.name().to_owned(),
        claims: number(measured + count.not_measured),
        measured: number(measured),
        met: number(count.met),
    }
}

fn claim(claim: &ClaimResult) -> StudyClaim {
    let outcome = match claim.outcome {
        Outcome::Met => "met",
        Outcome::NotMet => "not-met",
        Outcome::NotMeasured => "not-measured",
    };
    let published = findings::published_text(&claim.published, claim.unit.as_deref());
    StudyClaim {
        id: claim.id.clone(),
        kind: claim.kind.name().to_owned(),
        published: unmarked(&published),
        ours: findings::ours(claim),
        tolerance: findings::tolerance_text(claim.tolerance),
        outcome: outcome.to_owned(),
        outcome_text: findings::met(claim),
        is_by_mean: claim.met && claim.interval_inside == Some(false),
        why: (claim.outcome != Outcome::Met).then(|| paragraphs(findings::why(claim)).join(" ")),
        text: unmarked(&claim.text),
    }
}

fn cells(row: &[String]) -> Vec<String> {
    row.iter().map(|cell| unmarked(cell)).collect()
}

fn section(of: findings::Section) -> StudySection {
    let mut section = StudySection {
        title: of.title,
        paragraphs: Vec::new(),
        columns: Vec::new(),
        rows: Vec::new(),
    };
    for block in of.blocks {
        match block {
            Block::Paragraph(text) => section.paragraphs.extend(paragraphs(&text)),
            Block::Items(items) => {
                section.paragraphs.extend(items.iter().flat_map(|item| paragraphs(item)));
            }
            Block::Table(grid) => {
                section.columns = cells(grid.columns());
                section.rows = grid.rows().map(cells).collect();
            }
        }
    }
    section
}

/// Splits a text into paragraphs, each on one line. Each list item is its own paragraph.
fn paragraphs(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut ends = true;
    for line in text.lines().map(str::trim) {
        let item = line.strip_prefix("- ");
        match all.last_mut().filter(|_| !ends && item.is_none()) {
            _ if line.is_empty() => {}
            Some(last) => *last = format!("{last} {}", unmarked(line)),
            None => all.push(unmarked(item.unwrap_or(line))),
        }
        ends = line.is_empty();
    }
    all
}

/// Removes backticks.
fn unmarked(text: &str) -> String {
    text.trim().replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_results_are_made_of_their_documents() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/studies");
        let files = std::fs::read_dir(folder).expect("results");
        let paths = files.map(|file| file.expect("readable").path());
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == "json")) {
            let text = std::fs::read_to_string(&path).expect("readable");
            let made = findings::markdown(&findings::parse(&text).expect("a result"));
            let page = path.with_extension("md");
            if std::env::var_os("TILEMARK_UPDATE").is_some() {
                std::fs::write(&page, &made).expect("writable docs/studies");
            }
            let what = "is not its document's page: run this test with TILEMARK_UPDATE=1";
            assert!(std::fs::read_to_string(&page).is_ok_and(|is| is == made), "{page:?} {what}");
        }
    }

    #[test]
    fn shipped_results_are_complete() {
        for (name, text) in SHIPPED {
            let page = read(name, text);
            let made = findings::markdown(&findings::parse(text).expect(name));
            let of_text = made.lines().filter(|line| line.starts_with("| ")).count();
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
    fn own_results_come_first_newest_first_without_unfinished() {
        let base = tempfile::tempdir().expect("a directory");
        let shipped = studies(Some(base.path())).studies;
        assert!(shipped.iter().all(|row| !row.is_own && row.made.is_none()));
        let (old, new) = ("20261121T184207Z-vsan-6-abcdef", "20261122T184207Z-mine-abcdef");
        let partial = format!("{new}.partial");
        for (id, text) in [(old, SHIPPED[5].1), (new, SHIPPED[1].1), (&partial, SHIPPED[0].1)] {
            let directory = base.path().join(store::DIRECTORY).join(id);
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join(store::RESULT), text).expect("a document");
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

    #[test]
    fn a_result_that_cannot_be_read_is_listed_with_why() {
        let base = tempfile::tempdir().expect("a directory");
        let id = "20261121T184207Z-vsan-6-abcdef";
        let directory = base.path().join(store::DIRECTORY).join(id);
        std::fs::create_dir_all(&directory).expect("a directory");
        let text = r#"{"schema": "tilemark.study/2.0"}"#;
        std::fs::write(directory.join(store::RESULT), text).expect("a document");
        let row = &studies(Some(base.path())).studies[0];
        assert!(row.is_own && row.name == id);
        assert!(row.sentence.contains("tilemark.study/2.0"), "{}", row.sentence);
    }
}
