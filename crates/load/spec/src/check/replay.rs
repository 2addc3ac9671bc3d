use indexmap::IndexMap;

use super::access::Kind;
use super::finding::Findings;
use crate::locate::DefinitionPath;
use crate::replay::{KINDS, Replay};
use crate::workload::Workload;

/// Checks a recorded load. Returns its kinds of I/O. The trace itself is not read.
pub(super) fn replay_kinds(
    workload: &Workload,
    replay: &Replay,
    found: &mut Findings,
) -> IndexMap<String, Kind> {
    let root = DefinitionPath::default();
    let place = root.key("replay");
    found.says_something(place.key("trace"), "the trace", &replay.trace);
    let disks: usize = workload.vms.iter().map(|vm| vm.disks.len()).sum();
    if disks == 0 && !workload.vms.is_empty() {
        let help = "add a [[vm.disk]] for each device of the trace";
        found.add_help(root.key("vm").index(0), "a replay needs a disk", help);
    }
    if let Some(devices) = &replay.devices
        && devices.len() != disks
    {
        let message = format!(
            "there are {} devices but {disks} disks; each disk plays one device",
            devices.len()
        );
        found.add(place.key("devices"), message);
    }
    let help = "a workload either has users and actions, or plays a trace";
    if !workload.groups.is_empty() {
        found.add_help(root.key("users").index(0), "a replay has no users", help);
    }
    if !workload.actions.is_empty() {
        found.add_help(root.key("action").index(0), "a replay has no actions", help);
    }
    KINDS.iter().map(|kind| ((*kind).to_owned(), Kind::of_any_disk(kind))).collect()
}
