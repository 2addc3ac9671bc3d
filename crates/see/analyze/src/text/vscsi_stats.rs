use std::fmt::Write;

use crate::document::{Analysis, HistogramRow};
use crate::fold::Stream;

/// Names of the sixteen histograms in vscsiStats, in the order of [`Stream::histograms`].
const NAMES: [&str; 16] = [
    "IO lengths of commands",
    "IO lengths of Read commands",
    "IO lengths of Write commands",
    "distance (in LBNs) between successive commands",
    "distance (in LBNs) between successive Read commands",
    "distance (in LBNs) between successive Write commands",
    "distance (in LBNs) between each command from the closest of previous 16",
    "latency of IOs in Microseconds (us)",
    "latency of Read IOs in Microseconds (us)",
    "latency of Write IOs in Microseconds (us)",
    "number of outstanding IOs when a new IO is issued",
    "number of outstanding Read IOs when a new Read IO is issued",
    "number of outstanding Write IOs when a new Write IO is issued",
    "latency of IO interarrival time in Microseconds (us)",
    "latency of IO interarrival time for Reads in Microseconds (us)",
    "latency of IO interarrival time for Writes in Microseconds (us)",
];

/// Formats histograms as `vscsiStats -p all -c` prints them: all sixteen of every VM and device,
/// empty if the trace has no data. Numbers identify VMs and devices, in the order of the answer.
/// Their names are in the brackets where the tool prints the name of a virtual disk.
pub fn vscsi_stats(answer: &Analysis) -> String {
    let mut subjects: Vec<(&str, &str)> = Vec::new();
    for row in &answer.histograms {
        let subject = (row.vm.as_str(), row.device.as_str());
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let mut vms: Vec<&str> = subjects.iter().map(|(vm, _)| *vm).collect();
    vms.dedup();
    let mut text = String::new();
    for (handle, (vm, device)) in subjects.iter().enumerate() {
        let group = vms.iter().position(|known| known == vm).unwrap_or(0) + 1;
        let disk = plain(&format!("{} ({vm}:{device})", handle + 1));
        for ((_, name, _, empty), title) in Stream::new().histograms().iter().zip(NAMES) {
            let is_wanted = |row: &&HistogramRow| {
                row.vm == *vm && row.device == *device && row.histogram == *name
            };
            let _ = writeln!(
                text,
                "Histogram: {title},virtual machine worldGroupID,{group},virtual disk handleID,{disk}"
            );
            let found = answer.histograms.iter().find(is_wanted);
            let limits: Vec<i64> = empty.limits().iter().map(|it| i64::from(*it)).collect();
            let zeros = vec![0; limits.len() + 1];
            rows(&mut text, found, &limits, found.map_or(&zeros, |row| &row.counts));
        }
    }
    text
}

fn rows(text: &mut String, found: Option<&HistogramRow>, limits: &[i64], counts: &[u64]) {
    let value = |of: fn(&HistogramRow) -> Option<i64>| found.and_then(of).unwrap_or(0);
    let _ = writeln!(text, "min,{}", value(|row| row.min));
    let _ = writeln!(text, "max,{}", value(|row| row.max));
    let _ = writeln!(text, "mean,{}", value(|row| row.mean));
    let _ = writeln!(text, "count,{}", found.map_or(0, |row| row.count));
    text.push_str("Frequency,Histogram Bucket Limit\n");
    // Values above the last limit are printed with that limit again, as in the tool.
    for (count, limit) in counts.iter().zip(limits.iter().chain(limits.last())) {
        let _ = writeln!(text, "{count},{limit}");
    }
}

/// Puts a text on one line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
