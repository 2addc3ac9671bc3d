//! Recording of several hosts, as a document and as text.

use capture::Recorded;
use serde::Serialize;
use units::{Bytes, Nanos};

use super::recording::whole;
use super::{Table, recorded};

/// Recording of several hosts: the document of `--format json`.
#[derive(Debug, Serialize)]
pub struct HostsRecorded {
    /// Name and version of this document.
    pub schema: &'static str,
    /// Name of the recording, for `tilemark analyze --host ... NAME`.
    pub recording: String,
    pub hosts: Vec<HostRecorded>,
    /// How the command ended, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Recording of one host.
#[derive(Debug, Serialize)]
pub struct HostRecorded {
    /// Name of the host in the recording.
    pub host: String,
    /// Host name that the host's kernel reports.
    pub hostname: String,
    /// Uncertainty of the host's clock at the start of the recording, nanoseconds.
    pub clock_known_to_ns: u64,
    /// Drift of the host's clock against this host's clock since the start of the recording,
    /// nanoseconds.
    pub clock_moved_ns: Option<i64>,
    /// Summary of the recording, with the path of the trace on the host.
    pub recorded: Option<Recorded>,
    /// Reason why there is no summary. The trace up to the failure stays on the host.
    pub lost: Option<String>,
}

/// Formats the path and losses of each trace, then the summary of each host.
pub fn hosts_recorded(all: &HostsRecorded) -> String {
    let mut table = Table::new(&[
        "host",
        ">I/Os",
        ">trace",
        ">lost events",
        ">clock known to",
        ">moved since",
        "its trace, which stays there",
    ]);
    for host in &all.hosts {
        let told =
            |value: fn(&Recorded) -> String| host.recorded.as_ref().map_or("-".into(), value);
        let moved = host.clock_moved_ns.map(|moved| Nanos(moved.unsigned_abs()).to_string());
        table.row(vec![
            host.host.clone(),
            told(|of| whole(of.records)),
            told(|of| Bytes::new(of.trace_bytes).to_string()),
            told(|of| whole(of.lost_events)),
            Nanos(host.clock_known_to_ns).to_string(),
            moved.unwrap_or_else(|| "-".to_owned()),
            told(|of| of.trace.display().to_string()),
        ]);
    }
    let mut lines = vec![format!("recording {}", all.recording)];
    lines.extend(table.lines());
    for host in &all.hosts {
        if let Some(why) = &host.lost {
            lines.push(format!("host {}: {why}; its trace up to then stays there", host.host));
        }
    }
    for host in &all.hosts {
        let Some(of_host) = &host.recorded else { continue };
        lines.push(format!("\n== host {} ==", host.host));
        lines.push(recorded(of_host).trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}
