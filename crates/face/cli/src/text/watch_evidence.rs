//! Lists the recordings made when limits were broken.

use serde::Serialize;
use units::Bytes;
use watch::Evidence;

use super::watch::stamp;

#[cfg(feature = "hosts")]
pub use hosts::HostsEvidence;

const NOTHING: &str = "no alarm was recorded; a rule records with evidence = \"30s\"\n";

/// The document of `watch evidence --format json`.
#[derive(Debug, Serialize)]
pub struct EvidenceText {
    schema: &'static str,
    evidence: Vec<Evidence>,
}

impl EvidenceText {
    /// Makes the document of recordings, the oldest first.
    pub fn new(evidence: Vec<Evidence>) -> Self {
        Self { schema: "tilemark.watch-evidence/1.0", evidence }
    }

    /// Returns a text for people.
    pub fn text(&self) -> String {
        if self.evidence.is_empty() {
            return NOTHING.to_owned();
        }
        let lines = self.evidence.iter().flat_map(|own| lines(own, ""));
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }
}

/// Returns the lines of a recording. `host` is the begin of the alarm and of the trace's path.
fn lines(own: &Evidence, host: &str) -> Vec<String> {
    let space = if host.is_empty() { "" } else { " " };
    let mut lines = vec![format!("{}  {host}{space}{}", stamp(own.at_s), own.alarm)];
    lines.extend(own.findings.iter().map(|finding| format!("  - {finding}")));
    lines.push(match &own.trace {
        Some(trace) => format!("  {host}{} ({})", trace.display(), Bytes::new(own.bytes)),
        None => "  nothing was recorded".to_owned(),
    });
    lines
}

#[cfg(feature = "hosts")]
mod hosts {
    use serde::Serialize;
    use watch::{Evidence, HostEvidence, HostNote};

    use super::super::watch_hosts::HostNoteRow;
    use super::{NOTHING, lines};

    /// The document of `watch evidence --host --format json`.
    #[derive(Debug, Serialize)]
    pub struct HostsEvidence {
        schema: &'static str,
        hosts: Vec<HostNoteRow>,
        evidence: Vec<HostEvidenceRow>,
    }

    #[derive(Debug, Serialize)]
    struct HostEvidenceRow {
        host: String,
        #[serde(flatten)]
        evidence: Evidence,
    }

    impl HostsEvidence {
        /// Makes the document of the recordings of several hosts, the oldest first.
        pub fn new(evidence: Vec<HostEvidence>, notes: &[HostNote]) -> Self {
            let row =
                |own: HostEvidence| HostEvidenceRow { host: own.host, evidence: own.evidence };
            Self {
                schema: "tilemark.watch-hosts-evidence/1.0",
                hosts: notes.iter().map(HostNoteRow::new).collect(),
                evidence: evidence.into_iter().map(row).collect(),
            }
        }

        /// Returns a text for people.
        pub fn text(&self) -> String {
            if self.evidence.is_empty() {
                return NOTHING.to_owned();
            }
            let rows = self.evidence.iter();
            let lines = rows.flat_map(|own| lines(&own.evidence, &format!("{}:", own.host)));
            lines.collect::<Vec<_>>().join("\n") + "\n"
        }
    }
}
