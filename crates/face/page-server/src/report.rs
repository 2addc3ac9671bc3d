//! Report of a run in one file: the page with all its data, which opens anywhere without a network.

use std::io::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use run_store::rundir::{RunDirError, StoredRun, files};
use serde_json::{Map, Value, json};
use view::Source;
use view::document::{RunPage, RunState};

use crate::assets;

/// Position of the data in the page, as `web/vite.report.config.ts` leaves it.
const PLACE: &str =
    "<script id=\"tilemark-data\" type=\"application/octet-stream;base64\"></script>";

/// Reason why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Directory that is not named like a run.
    #[error("{0} is not the directory of a run")]
    NoRun(String),
    /// Run that cannot be opened.
    #[error(transparent)]
    Open(#[from] view::OpenError),
    /// Directory that cannot be read.
    #[error(transparent)]
    Directory(#[from] RunDirError),
    /// Data that cannot be packed.
    #[error("packing the report: {0}")]
    Pack(#[from] std::io::Error),
    /// Built page without a position for the data.
    #[error("the built report page has no placeholder for its data")]
    Template,
}

/// Makes the report of a run in a directory whose other files are complete. Without the built page
/// the report is plain tables.
pub fn report(directory: &Path) -> Result<String, ReportError> {
    let unnamed = || ReportError::NoRun(directory.display().to_string());
    let stored = StoredRun::at(directory).ok_or_else(unnamed)?;
    let Some(template) = assets::report_template() else {
        return Ok(view::plain::report(&stored)?);
    };
    let source = Source::open(stored)?;
    filled(&template, &page(&source, directory), view::offline(&source))
}

/// Returns the page of the run in the state that it has after the directory gets its final name.
fn page(source: &Source, directory: &Path) -> RunPage {
    let mut page = source.page();
    page.row.state = RunState::Complete;
    page.row.status = page.run.as_ref().map(|run| run.answer.ending().to_owned());
    page.checksums = page.checksums.or_else(|| checksums(directory));
    page
}

/// Returns the checksums as `SHA256SUMS` will list them, without the report, which cannot contain
/// its own checksum.
fn checksums(directory: &Path) -> Option<String> {
    let all = StoredRun::at(directory)?.checksums().ok()?;
    let is_report = |line: &&str| line.ends_with(&format!("  {}", files::REPORT));
    Some(all.lines().filter(|line| !is_report(line)).map(|line| format!("{line}\n")).collect())
}

fn filled(
    template: &str,
    page: &RunPage,
    answers: Vec<(String, Value)>,
) -> Result<String, ReportError> {
    let (before, after) = template.split_once(PLACE).ok_or(ReportError::Template)?;
    let answers: Map<String, Value> = answers.into_iter().collect();
    let text = serde_json::to_vec(&json!({ "page": page, "answers": answers }));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&text.map_err(std::io::Error::from)?)?;
    let packed = STANDARD.encode(packed.finish()?);
    let open = PLACE.trim_end_matches("</script>");
    Ok(format!("{before}{open}{packed}</script>{after}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use view::document::{Dimensions, RunKind, RunRow};

    use super::*;

    /// Empty page.
    fn nothing() -> RunPage {
        RunPage {
            row: RunRow {
                id: "20261121T184207Z-datacenter-k3f9qa".to_owned(),
                kind: RunKind::Measured,
                state: RunState::Complete,
                status: None,
                started: "2026-11-21T18:42:07Z".to_owned(),
                duration_ns: 0,
                tile: "<b>tile</b>".to_owned(),
                target: "a & b".to_owned(),
                sentence: "It holds.".to_owned(),
                tiles_held: None,
                tiles: None,
                profile: None,
                scale: None,
                disturbed_steps: 0,
                score: None,
                size_bytes: 0,
                spark: Vec::new(),
                error: None,
            },
            headline: None,
            warnings: Vec::new(),
            facts: Vec::new(),
            run: None,
            environment: None,
            preflight: None,
            plan: Some("a = \"<script>\"".to_owned()),
            checksums: None,
            dimensions: Dimensions {
                workloads: Vec::new(),
                tiles: 0,
                hosts: Vec::new(),
                classes: Vec::new(),
                has_tier: false,
                has_calls: false,
                has_ladder: true,
                has_times: true,
                has_latencies: true,
                lacks: None,
            },
            steps: Vec::new(),
            end_ns: 0,
            slice_ns: 0,
            live: None,
        }
    }

    #[test]
    fn the_data_are_where_the_page_looks_for_them() {
        let page = nothing();
        let template = format!("<html><body>{PLACE}</body></html>");
        let answers = vec![("overview".to_owned(), json!({ "sentence": "</script>" }))];
        let html = filled(&template, &page, answers).expect("a report");
        let data = html.split(";base64\">").nth(1).and_then(|rest| rest.split('<').next());
        let packed = STANDARD.decode(data.expect("data")).expect("base64");
        let mut text = String::new();
        let mut unpacked = flate2::read::GzDecoder::new(packed.as_slice());
        unpacked.read_to_string(&mut text).expect("gzip");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["answers"]["overview"]["sentence"], "</script>");
        assert_eq!(value["page"]["row"]["id"], page.row.id.as_str());
        assert!(html.ends_with("</script></body></html>"));
    }

    #[test]
    fn a_built_page_has_a_place_for_the_data() {
        if let Some(template) = assets::report_template() {
            assert_eq!(template.matches(PLACE).count(), 1);
        }
    }
}
