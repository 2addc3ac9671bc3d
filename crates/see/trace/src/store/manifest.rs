//! File `trace.json`: facts about the whole trace, and its parts.

use std::path::Path;

use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};
use untrusted::Malformed;

use super::FORMAT;
use super::schema::SCHEMA;
use crate::{Clock, Device, Losses, TraceError, TraceInfo};

const MAJOR: &str = "tilemark.trace/1.";

/// Name of the file that makes a directory a trace.
pub const TRACE_FILE: &str = "trace.json";
/// Name of the file with the checksums of all other files, as `sha256sum -c` reads them.
pub const SUMS_FILE: &str = "SHA256SUMS";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) schema: String,
    pub(super) writer: String,
    /// Format that the records came from.
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) part_of: Option<PartOf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) machines: Vec<Machine>,
    clock: StoredClock,
    started_unix_ns: Option<i64>,
    has_latency: bool,
    /// True if the trace was still being written when this file was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) unfinished: bool,
    pub(super) records: u64,
    pub(super) records_per_group: usize,
    vms: Vec<String>,
    devices: Vec<StoredDevice>,
    losses: StoredLosses,
    pub(super) parts: Vec<PartEntry>,
}

/// Recording over several hosts, of which a trace is one host's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartOf {
    /// Name of the recording, the same on every host.
    pub recording: String,
    /// Name of the host in the recording.
    pub host: String,
    /// Offset of the trace's time zero from the recording's, in nanoseconds.
    pub after_ns: u64,
    /// Uncertainty of the offset: the true offset differs by at most this, in nanoseconds.
    pub known_to_ns: u64,
}

/// An initiator that is a virtual machine, not a process or control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the VM in the column `vm`.
    pub name: String,
    /// UUID that the VM's hypervisor gave it, if known.
    pub uuid: Option<String>,
}

/// Description of a Parquet file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PartEntry {
    pub(super) file: String,
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) first_issue_ns: u64,
    pub(super) last_issue_ns: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum StoredClock {
    Real { resolution_ns: u64 },
    Order,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredDevice {
    name: String,
    size_bytes: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredLosses {
    bad: u64,
    examples: Vec<String>,
    dropped: u64,
    disordered: u64,
    skipped: u64,
}

impl Manifest {
    pub(super) fn new(
        info: &TraceInfo,
        vms: &[String],
        devices: &[String],
        records_per_group: usize,
        parts: Vec<PartEntry>,
    ) -> Self {
        let devices = devices.iter().zip(&info.devices).map(|(name, device)| StoredDevice {
            name: name.clone(),
            size_bytes: device.size.map(Bytes::get),
        });
        let losses = &info.losses;
        Self {
            schema: SCHEMA.to_owned(),
            writer: super::schema::created_by(),
            source: info.format.to_owned(),
            host: None,
            part_of: None,
            machines: Vec::new(),
            clock: match info.clock {
                Clock::Real { resolution } => StoredClock::Real { resolution_ns: resolution.0 },
                Clock::Order => StoredClock::Order,
            },
            started_unix_ns: info.started_unix_ns,
            has_latency: info.has_latency,
            unfinished: false,
            records: parts.iter().map(|part| part.records).sum(),
            records_per_group,
            vms: vms.to_vec(),
            devices: devices.collect(),
            losses: StoredLosses {
                bad: losses.bad,
                examples: losses.examples.clone(),
                dropped: losses.dropped,
                disordered: losses.disordered,
                skipped: losses.skipped,
            },
            parts,
        }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers can be JSON") + "\n"
    }

    pub(super) fn from_json(path: &Path, text: &str) -> Result<Self, TraceError> {
        #[derive(Deserialize)]
        struct Version {
            schema: String,
        }
        let wrong = |error: serde_json::Error| TraceError::format(path, error.to_string());
        let version: Version = serde_json::from_str(text).map_err(wrong)?;
        if !version.schema.starts_with(MAJOR) {
            let reason = format!(
                "its schema is \"{}\", but this version reads \"{MAJOR}x\"",
                version.schema
            );
            return Err(TraceError::format(path, reason));
        }
        let manifest: Self = serde_json::from_str(text).map_err(wrong)?;
        manifest.check().map_err(|reason| TraceError::format(path, reason))?;
        Ok(manifest)
    }

    fn check(&self) -> Result<(), Malformed> {
        if self.records_per_group == 0 {
            return Err("\"records_per_group\" is 0".into());
        }
        let names = self.vms.len().max(self.devices.len());
        if names > usize::from(u16::MAX) + 1 {
            return Err(
                format!("it names {names} VMs or devices, but a trace has at most 65,536").into()
            );
        }
        match self.parts.iter().find(|part| part.file.contains(['/', '\\']) || part.file == "..") {
            Some(part) => Err(format!("\"{}\" is not the name of a part", part.file).into()),
            None => Ok(()),
        }
    }

    pub(super) fn info(&self) -> TraceInfo {
        let devices = self.devices.iter().map(|device| Device {
            name: device.name.clone(),
            size: device.size_bytes.map(Bytes::new),
        });
        TraceInfo {
            format: FORMAT,
            clock: match self.clock {
                StoredClock::Real { resolution_ns } => {
                    Clock::Real { resolution: Nanos(resolution_ns) }
                }
                StoredClock::Order => Clock::Order,
            },
            started_unix_ns: self.started_unix_ns,
            has_latency: self.has_latency,
            vms: self.vms.clone(),
            devices: devices.collect(),
            losses: Losses {
                bad: self.losses.bad,
                examples: self.losses.examples.clone(),
                dropped: self.losses.dropped,
                disordered: self.losses.disordered,
                skipped: self.losses.skipped,
            },
        }
    }
}
