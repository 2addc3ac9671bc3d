use std::collections::BTreeMap;

use serde::Serialize;
use units::Nanos;

use crate::rules::stamp;
use crate::{Alarm, Change, Quantity, Subject};

/// Maximum number of VMs in a document; the alarm of a disk may have hundreds.
const VMS_MAX: usize = 100;

/// Document about the begin or end of an alarm, as web hooks and programs get it.
#[derive(Debug, Serialize)]
pub(crate) struct Document {
    schema: &'static str,
    /// `begun` or `ended`.
    state: &'static str,
    /// Reason why the alarm ended: `kept`, `gone` or `joined`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    host: String,
    rule: String,
    severity: &'static str,
    limit: String,
    window_ns: u64,
    disk: String,
    /// VM; absent if the alarm is about the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    vm: Option<String>,
    began: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<String>,
    summary: String,
    description: String,
    /// VMs that suffer, the slowest first.
    vms: Vec<VmRow>,
    /// Number of further VMs that suffer.
    vms_more: usize,
    /// Number of VMs with enough I/O on the disk to be judged.
    vms_judged: usize,
}

#[derive(Debug, Serialize)]
struct VmRow {
    vm: String,
    ios: u64,
    errors: u64,
    /// Interval of the percentile; absent for a limit on errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    low_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_ns: Option<u64>,
}

impl Document {
    pub fn new(host: &str, change: &Change) -> Self {
        let Change { alarm, end } = change;
        let row = |own: &crate::Sufferer| VmRow {
            vm: own.vm.to_string(),
            ios: own.seen.ios,
            errors: own.seen.errors,
            low_ns: matches!(alarm.limit.quantity, Quantity::Latency(..)).then_some(own.seen.low.0),
            high_ns: own.seen.high.map(|high| high.0),
        };
        Self {
            schema: "tilemark.watch-alarm/1.0",
            state: if end.is_none() { "begun" } else { "ended" },
            reason: end.map(|end| end.how.name()),
            host: host.to_owned(),
            rule: alarm.rule.to_string(),
            severity: alarm.severity.name(),
            limit: alarm.limit.to_string(),
            window_ns: alarm.window.0,
            disk: alarm.subject.disk().to_string(),
            vm: vm_of(alarm).map(str::to_owned),
            began: stamp(alarm.began_s),
            ended: end.map(|end| stamp(end.at_s)),
            summary: alarm.summary(),
            description: alarm.description(),
            vms: alarm.sufferers.iter().take(VMS_MAX).map(row).collect(),
            vms_more: alarm.sufferers.len().saturating_sub(VMS_MAX),
            vms_judged: alarm.judged,
        }
    }

    pub fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers")
    }
}

/// Alert in the form of Alertmanager's API (version 2, `postableAlert`).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Alert {
    labels: BTreeMap<&'static str, String>,
    annotations: BTreeMap<&'static str, String>,
    starts_at: String,
    ends_at: String,
}

impl Alert {
    /// Makes an alert that ends at a time, in seconds since 1970. For an active alarm that time is
    /// in the future, so that the alert ends some time after the watcher did.
    pub fn new(host: &str, alarm: &Alarm, ends_at_s: u64) -> Self {
        let name = match alarm.subject {
            Subject::Vm { .. } => "TilemarkVmSuffers",
            Subject::Disk { .. } => "TilemarkDiskSuffers",
        };
        let mut labels = BTreeMap::from([
            ("alertname", name.to_owned()),
            ("host", host.to_owned()),
            ("disk", alarm.subject.disk().to_string()),
            ("rule", alarm.rule.to_string()),
            ("severity", alarm.severity.name().to_owned()),
        ]);
        labels.extend(vm_of(alarm).map(|vm| ("vm", vm.to_owned())));
        let annotations = [("summary", alarm.summary()), ("description", alarm.description())];
        // A clock that stepped back may make it end before its begin, which is refused.
        let ends_at_s = ends_at_s.max(alarm.began_s + 1);
        Self {
            labels,
            annotations: annotations.into(),
            starts_at: stamp(alarm.began_s),
            ends_at: stamp(ends_at_s),
        }
    }

    /// Returns true if Alertmanager takes both for the same alert.
    pub fn has_labels_of(&self, other: &Self) -> bool {
        self.labels == other.labels
    }
}

fn vm_of(alarm: &Alarm) -> Option<&str> {
    match &alarm.subject {
        Subject::Vm { vm, .. } => Some(vm),
        Subject::Disk { .. } => None,
    }
}

/// Converts a time to whole seconds.
pub(crate) const fn seconds(time: Nanos) -> u64 {
    time.0 / Nanos::SECOND.0
}
