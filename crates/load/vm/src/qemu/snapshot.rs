//! Snapshot layer that receives a virtual machine's writes for a time, and is then merged into its
//! disk.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::machine::{Base, Begin};
use super::nodes::{layer, raw};
use super::storage::JOB;
use super::{Vm, Vms, copies};
use crate::operation::{Clock, Done};
use crate::qmp::Event;
use crate::{Phase, VmError};

const LAYER: &str = "snapshot";
const BYTES: &str = "snapshot-bytes";

impl Vms {
    /// Creates a snapshot, keeps it while the virtual machine writes, and deletes it.
    pub fn snapshot(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
        keep: Duration,
    ) -> Result<Done, VmError> {
        let disk = self.take_disks(1)?.remove(0);
        let (name, aio) = (self.next_name(), self.aio);
        let limits = &base.limits;
        let made = base.start(&name, &self.work, None, Begin::Blocks).and_then(|mut tool| {
            copies::make_layer(&mut tool, &disk, aio, limits.copying, &|| clock.go_on())?;
            tool.quit();
            Ok(())
        });
        let done = made.and_then(|()| {
            let vm = self.resident()?;
            vm.machine.ask("blockdev-add", raw(&disk, BYTES, aio, false))?;
            let done = vm.keep_layer(base, clock, keep);
            if done.is_err() {
                vm.drop_layer(base);
            }
            done
        });
        self.free.push(disk);
        done
    }
}

impl Vm {
    fn keep_layer(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
        keep: Duration,
    ) -> Result<Done, VmError> {
        let limits = &base.limits;
        let below = self.machine.root.clone();
        self.machine.qmp.forget_events();
        clock.go_on()?;
        self.machine.ask("blockdev-add", layer(BYTES, LAYER, None))?;
        let began = Instant::now();
        self.machine.ask("blockdev-snapshot", json!({ "node": below, "overlay": LAYER }))?;
        let stood_still = began.elapsed();
        clock.end(Phase::Create);
        clock.go_on()?;
        let until = Instant::now() + keep;
        while Instant::now() < until {
            clock.go_on()?;
            self.machine.alive()?;
            std::thread::sleep(Duration::from_millis(20));
        }
        clock.end(Phase::Keep);
        clock.go_on()?;
        let copied_bytes = self.merge(base, &|| clock.go_on())?;
        clock.end(Phase::Delete);
        let checked = self.check(limits, &|| clock.go_on())?;
        clock.end(Phase::Check);
        Ok(Done { stood_still: Some(stood_still), copied_bytes, checked })
    }

    /// Merges the layer into the disk below it. Returns the bytes copied.
    fn merge(
        &mut self,
        base: &Base,
        go_on: &dyn Fn() -> Result<(), VmError>,
    ) -> Result<u64, VmError> {
        let limits = &base.limits;
        let machine = &mut self.machine;
        machine.ask("block-commit", json!({ "job-id": JOB, "device": LAYER }))?;
        let what = "merging its snapshot";
        let mut is_news = |event: &Event| {
            matches!(event.name.as_str(), "BLOCK_JOB_READY" | "BLOCK_JOB_COMPLETED")
                && event.data.get("device").and_then(Value::as_str) == Some(JOB)
        };
        let event = machine.event(what, limits.copying, go_on, &mut is_news)?;
        if event.name != "BLOCK_JOB_READY" {
            let said = event.data.get("error").and_then(Value::as_str).unwrap_or("it ended");
            return Err(machine.not_done(what, said));
        }
        machine.ask("block-job-complete", json!({ "device": JOB }))?;
        let event = machine.job_ended(JOB, (what, limits.switch_over), go_on)?;
        machine.ask("blockdev-del", json!({ "node-name": LAYER }))?;
        machine.ask("blockdev-del", json!({ "node-name": BYTES }))?;
        Ok(event.data.get("offset").and_then(Value::as_u64).unwrap_or(0))
    }

    /// Returns true if the layer exists. QEMU refuses to delete a layer that receives writes.
    fn has_layer(&mut self) -> bool {
        let nodes = self.machine.ask("query-named-block-nodes", json!({ "flat": true }));
        let nodes = nodes.ok().and_then(|own| own.as_array().cloned()).unwrap_or_default();
        nodes.iter().any(|node| node.get("node-name").and_then(Value::as_str) == Some(LAYER))
    }

    /// Cleans up after a failure. Merges the layer if it receives writes, and then removes it in
    /// any case.
    fn drop_layer(&mut self, base: &Base) {
        let cancelled =
            self.machine.ask("block-job-cancel", json!({ "device": JOB, "force": true }));
        if cancelled.is_ok() {
            let what = ("cancelling the merge", base.limits.switch_over);
            let _ = self.machine.job_ended(JOB, what, &|| Ok(()));
        }
        let _ = self.merge(base, &|| Ok(()));
        let _ = self.machine.ask("blockdev-del", json!({ "node-name": LAYER }));
        self.is_layered = self.has_layer();
        let _ = self.machine.ask("blockdev-del", json!({ "node-name": BYTES }));
    }
}
