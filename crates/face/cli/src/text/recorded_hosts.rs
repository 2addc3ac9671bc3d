//! What several hosts recorded, as a document and as text.

use capture::Recorded;
use serde::Serialize;
use units::{Bytes, Nanos};

use super::recording::whole;
use super::{Table, recorded};

/// What hosts recorded, as `--format json` tells it.
#[derive(Debug, Serialize)]
pub struct HostsRecorded {
    /// Name and version of this document.
    pub schema: &'static str,
    /// The recording's name, for `tilemark analyze --host ... NAME`.
    pub recording: String,
    /// Each host.
    pub hosts: Vec<HostRecorded>,
    /// How the command ended, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a host recorded.
#[derive(Debug, Serialize)]
pub struct HostRecorded {
    /// What it is called in the recording.
    pub host: String,
    /// The kernel's name of it.
    pub hostname: String,
    /// How well its clock was known when the recording began, nanoseconds.
    pub clock_known_to_ns: u64,
    /// How far its clock moved against this machine's since, nanoseconds.
    pub clock_moved_ns: Option<i64>,
    /// What it recorded; where its trace lies there.
    pub recorded: Option<Recorded>,
    /// Why there is nothing to tell. What the host has until then stays there.
    pub lost: Option<String>,
}

/// Where each trace lies and how whole it is, then what each host saw.
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
            lines.push(format!("host {}: {why}; what it has until then stays there", host.host));
        }
    }
    for host in &all.hosts {
        let Some(of_host) = &host.recorded else { continue };
        lines.push(format!("\n== host {} ==", host.host));
        lines.push(recorded(of_host).trim_end().to_owned());
    }
    lines.join("\n") + "\n"
}
