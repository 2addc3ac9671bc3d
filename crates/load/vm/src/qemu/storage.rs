//! Migration of a disk below a running virtual machine.

use datastore::VirtualDisk;
use serde_json::{Value, json};

use super::Vms;
use super::machine::{Base, Machine};
use super::nodes::raw;
use crate::operation::{Clock, Done};
use crate::qmp::Event;
use crate::{Phase, VmError};

/// Name of the job that mirrors a disk.
pub(super) const JOB: &str = "mirror";

/// Mirrors the disk of a virtual machine to a node until both are equal and kept equal.
pub(super) fn mirror(
    machine: &mut Machine,
    target: &str,
    base: &Base,
    clock: &Clock<'_>,
) -> Result<(), VmError> {
    let root = machine.root.clone();
    let job = json!({ "job-id": JOB, "device": root, "target": target, "sync": "full" });
    machine.ask("blockdev-mirror", job)?;
    let what = "copying its disk";
    let of_job = |event: &Event| event.data.get("device").and_then(Value::as_str) == Some(JOB);
    let mut is_news = |event: &Event| {
        let names = ["BLOCK_JOB_READY", "BLOCK_JOB_COMPLETED", "BLOCK_JOB_CANCELLED"];
        names.contains(&event.name.as_str()) && of_job(event)
    };
    let event = machine.event(what, base.limits.copying, &|| clock.go_on(), &mut is_news)?;
    if event.name == "BLOCK_JOB_READY" {
        return Ok(());
    }
    let said = event.data.get("error").and_then(Value::as_str).unwrap_or("it was cancelled");
    Err(machine.not_done(what, said))
}

/// Stops a mirror. The virtual machine stays on its disk.
pub(super) fn stop_mirror(machine: &mut Machine, base: &Base, target: &str) {
    let cancelled = machine.ask("block-job-cancel", json!({ "device": JOB, "force": true }));
    if cancelled.is_ok() {
        let what = ("cancelling the copy", base.limits.switch_over);
        let _ = machine.job_ended(JOB, what, &|| Ok(()));
    }
    let _ = machine.ask("blockdev-del", json!({ "node-name": target }));
}

impl Vms {
    /// Moves the disk of the virtual machine to another range.
    pub fn storage_migration(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
    ) -> Result<Done, VmError> {
        let source = self.resident()?.disk.clone();
        let target = self.take_disks(1)?.remove(0);
        let done = self.move_disk(base, clock, &target);
        // After success and failure alike, it runs on one of the two.
        let is_moved = self.resident()?.disk.name == target.name;
        self.free.push(if is_moved { source } else { target });
        done
    }

    fn move_disk(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
        target: &VirtualDisk,
    ) -> Result<Done, VmError> {
        let aio = self.aio;
        let vm = self.resident()?;
        vm.machine.qmp.forget_events();
        let old = vm.machine.root.clone();
        let new = if old == "disk0" { "disk1" } else { "disk0" };
        vm.machine.ask("blockdev-add", raw(target, new, aio, false))?;
        let moved = (|| {
            clock.go_on()?;
            mirror(&mut vm.machine, new, base, clock)?;
            clock.end(Phase::Copying);
            let asked = vm.machine.ask("query-block-jobs", json!({}))?;
            let began = std::time::Instant::now();
            vm.machine.ask("block-job-complete", json!({ "device": JOB }))?;
            let what = ("the switch-over", base.limits.switch_over);
            let event = vm.machine.job_ended(JOB, what, &|| Ok(()))?;
            let bytes = event.data.get("offset").or_else(|| asked.pointer("/0/offset"));
            Ok((began.elapsed(), bytes.and_then(Value::as_u64).unwrap_or(0)))
        })();
        let (stood_still, copied_bytes) =
            moved.inspect_err(|_: &VmError| stop_mirror(&mut vm.machine, base, new))?;
        clock.end(Phase::SwitchOver);
        new.clone_into(&mut vm.machine.root);
        vm.disk = target.clone();
        vm.machine.ask("blockdev-del", json!({ "node-name": old }))?;
        let checked = vm.check(&base.limits, &|| clock.go_on())?;
        clock.end(Phase::Check);
        Ok(Done { stood_still: Some(stood_still), copied_bytes, checked })
    }
}
