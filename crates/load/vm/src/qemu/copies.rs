//! Copies of disks by a QEMU process without a virtual machine. They use the same block jobs that
//! move the disk of a running virtual machine.

use std::time::Duration;

use datastore::VirtualDisk;
use serde_json::{Value, json};

use super::machine::{Base, Begin, Machine};
use super::nodes::{Aio, raw};
use crate::VmError;
use crate::guest::Work;

/// Returns the kind of I/O that QEMU can use here: `io_uring`, or threads.
pub(super) fn aio(base: &Base, disk: &VirtualDisk) -> Result<Aio, VmError> {
    let mut tool = base.start("probe-io", &Work::default(), None, Begin::Blocks)?;
    match tool.ask("blockdev-add", raw(disk, "probe", Aio::Uring, true)) {
        Ok(_) => Ok(Aio::Uring),
        Err(VmError::Refused { .. }) => {
            tool.ask("blockdev-add", raw(disk, "probe", Aio::Threads, true)).map(|_| Aio::Threads)
        }
        Err(error) => Err(error),
    }
}

/// Copies a disk onto another. Returns the bytes copied.
pub(super) fn copy(
    tool: &mut Machine,
    (from, to): (&VirtualDisk, &VirtualDisk),
    aio: Aio,
    within: Duration,
    go_on: &dyn Fn() -> Result<(), VmError>,
) -> Result<u64, VmError> {
    tool.ask("blockdev-add", raw(from, "from", aio, true))?;
    tool.ask("blockdev-add", raw(to, "to", aio, false))?;
    let job = json!({ "job-id": "copy", "device": "from", "target": "to", "sync": "full" });
    tool.ask("blockdev-backup", job)?;
    let event = tool.job_ended("copy", ("the copy", within), go_on)?;
    tool.ask("blockdev-del", json!({ "node-name": "to" }))?;
    tool.ask("blockdev-del", json!({ "node-name": "from" }))?;
    Ok(event.data.get("offset").and_then(Value::as_u64).unwrap_or(0))
}

/// Writes an empty qcow2 layer onto a disk. The virtual size of the layer is the size of that disk.
pub(super) fn make_layer(
    tool: &mut Machine,
    disk: &VirtualDisk,
    aio: Aio,
    within: Duration,
    go_on: &dyn Fn() -> Result<(), VmError>,
) -> Result<(), VmError> {
    tool.ask("blockdev-add", raw(disk, "layer", aio, false))?;
    let options = json!({ "driver": "qcow2", "file": "layer", "size": disk.size.get() });
    tool.ask("blockdev-create", json!({ "job-id": "create", "options": options }))?;
    let what = "making a layer";
    let mut is_concluded = |event: &crate::qmp::Event| {
        event.name == "JOB_STATUS_CHANGE"
            && event.data.get("id").and_then(Value::as_str) == Some("create")
            && event.data.get("status").and_then(Value::as_str) == Some("concluded")
    };
    tool.event(what, within, go_on, &mut is_concluded)?;
    let jobs = tool.ask("query-jobs", json!({}))?;
    let said = jobs.as_array().into_iter().flatten();
    let said = said.filter_map(|job| job.get("error").and_then(Value::as_str)).next();
    if let Some(said) = said {
        return Err(tool.not_done(what, said));
    }
    tool.ask("job-dismiss", json!({ "id": "create" }))?;
    tool.ask("blockdev-del", json!({ "node-name": "layer" })).map(drop)
}
