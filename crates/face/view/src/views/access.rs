//! View `access`: which offsets the I/O uses, over the whole recording.

use std::path::Path;

use analyze::{Analysis, ENOUGH, Filter, FindingKind, Fold, Limit, Options, Settings, Subject};
use trace::TraceError;
use trace::store::{self, Columns};
use units::Bytes;
use units::print::{count, whole};

use crate::document::AccessPage;
use crate::source::Source;
use crate::words;

/// Returns the answer for the whole source, which is made at the first call.
pub(crate) fn access(source: &Source) -> &AccessPage {
    source.access_or(|recorded| match recorded {
        Some(path) => of_trace(path),
        None => unknown(source.is_observed()),
    })
}

/// Returns the answer for I/O without offsets.
fn unknown(is_observed: bool) -> AccessPage {
    let why = match is_observed {
        true => "The bytes in use are shown when the recording has ended.",
        false => {
            "A run's files hold histograms and no offsets of I/Os, so its working sets and \
             alignment are unknown. A trace recorded beside a run (tilemark record) has them."
        }
    };
    AccessPage { sentence: why.to_owned(), ..AccessPage::default() }
}

/// Reads all of a stored trace and makes the answer.
fn of_trace(path: &Path) -> AccessPage {
    match analysed(path) {
        Ok(analysis) => page(analysis),
        Err(error) => {
            let sentence = format!("The bytes in use cannot be shown: {error}.");
            AccessPage { sentence, ..AccessPage::default() }
        }
    }
}

fn analysed(path: &Path) -> Result<Analysis, TraceError> {
    let store = store::open(path)?;
    let mut fold = Fold::new(&Settings::default());
    fold.read(&mut store.source(Columns::ALL))?;
    let subject = Subject {
        name: path.display().to_string(),
        info: store.info().clone(),
        remarks: Vec::new(),
    };
    let options = Options {
        tool: String::new(),
        views: analyze::View::ALL.to_vec(),
        limit: Limit::usual(),
        filter: Filter::default(),
    };
    Ok(analyze::analyse(fold, &subject, &options))
}

fn page(analysis: Analysis) -> AccessPage {
    let is_of_places = |kind: FindingKind| {
        matches!(kind, FindingKind::Tier | FindingKind::Misaligned | FindingKind::BesideLarge)
    };
    let findings = analysis.findings.iter().filter(|finding| is_of_places(finding.id));
    AccessPage {
        sentence: sentence(&analysis),
        findings: findings.map(|finding| finding.text.clone()).collect(),
        cannot_say: analysis.cannot_say,
        working_set: analysis.working_set,
        miss_ratio: analysis.miss_ratio,
        knees: analysis.knees,
        tiers: analysis.tiers,
        alignment: analysis.alignment,
        beside_large: analysis.beside_large,
    }
}

fn sentence(analysis: &Analysis) -> String {
    let Some(all) = analysis.overview.first() else { return words::too_few(0) };
    let ios = all.reads + all.writes;
    let of_all = analysis.working_set.iter().find(|row| row.window_ns.is_none());
    let Some(touched) = of_all.filter(|_| ios >= ENOUGH) else { return words::too_few(ios) };
    let bytes = Bytes::new(1).scale(touched.max_bytes).round_up(Bytes::new(1));
    let aligned = all.misaligned_share.map_or_else(String::new, |share| {
        format!("; {} of them begin on a multiple of 4 KiB", units::print::percent(1.0 - share))
    });
    match touched.sampled_share < 1.0 {
        true => format!("About {bytes} are touched by {} I/Os{aligned}.", whole(ios)),
        false => format!("{bytes} are touched by {}{aligned}.", count(ios, "I/O")),
    }
}
