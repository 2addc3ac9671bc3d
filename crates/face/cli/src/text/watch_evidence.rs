//! Lists the recordings made when limits were broken.

use serde::Serialize;
use units::Bytes;
use watch::Evidence;

use super::watch::stamp;

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
            return "no alarm was recorded; a rule records with evidence = \"30s\"\n".to_owned();
        }
        let mut lines = Vec::new();
        for own in &self.evidence {
            lines.push(format!("{}  {}", stamp(own.at_s), own.alarm));
            lines.extend(own.findings.iter().map(|finding| format!("  - {finding}")));
            lines.push(match &own.trace {
                Some(trace) => format!("  {} ({})", trace.display(), Bytes::new(own.bytes)),
                None => "  nothing was recorded".to_owned(),
            });
        }
        lines.join("\n") + "\n"
    }
}
