//! Migration of a virtual machine's memory and disk to another process that shares nothing with the
//! first. The disk goes over NBD, and then the memory. The source is paused before the end, so that
//! the mirror can be completed (as in QEMU's iotest 194).

use serde_json::json;

use super::live::{self, Moved};
use super::machine::{Base, Begin, Machine};
use super::nodes::Nodes;
use super::storage::{JOB, mirror, stop_mirror};
use super::{Vm, Vms};
use crate::operation::{Clock, Done};
use crate::{Phase, VmError};

/// Name of the node through which the source writes to the destination.
const REMOTE: &str = "remote";

impl Vms {
    /// Migrates virtual machine and disk, without anything shared.
    pub fn unified_migration(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
    ) -> Result<Done, VmError> {
        let target = self.take_disks(1)?.remove(0);
        let (name, aio) = (self.next_name(), self.aio);
        let started = self.resident().and_then(|vm| {
            let nodes = Nodes::plain(&target, "disk0", aio);
            base.start(&name, &vm.work, Some(&nodes), Begin::Incoming)
        });
        let mut to = match started {
            Ok(to) => to,
            Err(error) => {
                self.free.push(target);
                return Err(error);
            }
        };
        let vm = self.resident()?;
        let moved = vm.go_to(&mut to, base, clock);
        let (from, checked) = match moved {
            Ok(moved) => (std::mem::replace(&mut vm.machine, to), Ok(moved)),
            Err(error) => (to, Err(error)),
        };
        let moved = match checked {
            Ok(moved) => moved,
            Err(error) => {
                // The destination ends first: two processes must not write.
                drop(from);
                live::cancel(&mut vm.machine);
                stop_mirror(&mut vm.machine, base, REMOTE);
                self.free.push(target);
                return Err(error);
            }
        };
        let source = std::mem::replace(&mut vm.disk, target);
        let checked = vm.check(&base.limits, &|| clock.go_on());
        match checked {
            Ok(checked) => {
                clock.end(Phase::Check);
                drop(from);
                self.free.push(source);
                let Moved { bytes, stood_still } = moved;
                Ok(Done { stood_still: Some(stood_still), copied_bytes: bytes, checked })
            }
            Err(error) => {
                // The source is paused with its own memory and its own disk, so it can continue.
                drop(std::mem::replace(&mut vm.machine, from));
                let target = std::mem::replace(&mut vm.disk, source);
                stop_mirror(&mut vm.machine, base, REMOTE);
                self.free.push(target);
                Err(error)
            }
        }
    }
}

impl Vm {
    fn go_to(
        &mut self,
        to: &mut Machine,
        base: &Base,
        clock: &mut Clock<'_>,
    ) -> Result<Moved, VmError> {
        let from = &mut self.machine;
        from.qmp.forget_events();
        let socket = base.home.path().join(format!("{}.nbd", to.name)).display().to_string();
        let address = json!({ "type": "unix", "data": { "path": &socket } });
        to.ask("nbd-server-start", json!({ "addr": address }))?;
        let export = json!({ "id": "e", "node-name": "disk0", "type": "nbd", "writable": true, "name": "d" });
        to.ask("block-export-add", export)?;
        live::agree(from, to, true)?;
        clock.go_on()?;
        let server = json!({ "type": "unix", "path": &socket });
        let remote =
            json!({ "driver": "nbd", "node-name": REMOTE, "export": "d", "server": server });
        from.ask("blockdev-add", remote)?;
        mirror(from, REMOTE, base, clock)?;
        live::send(base, from, to)?;
        let stopped = live::wait_for_stop(from, &base.limits, &|| clock.go_on())?;
        clock.end(Phase::Copying);
        let what = ("the switch-over", base.limits.switch_over);
        live::wait_for(from, "pre-switchover", what)?;
        // Cancelling without force completes the mirror, with both disks equal.
        from.ask("block-job-cancel", json!({ "device": JOB }))?;
        let ended = from.job_ended(JOB, what, &|| Ok(()))?;
        from.ask("migrate-continue", json!({ "state": "pre-switchover" }))?;
        let moved = live::arrive(from, to, stopped, &base.limits)?;
        clock.end(Phase::SwitchOver);
        to.ask("nbd-server-stop", json!({}))?;
        let disk = ended.data.get("offset").and_then(serde_json::Value::as_u64).unwrap_or(0);
        Ok(Moved { bytes: moved.bytes + disk, ..moved })
    }
}
