//! Resident virtual machine, which runs all the time and is moved.

use serde_json::{Value, json};

use super::checks::{Known, first_quarters};
use super::machine::{Base, Begin};
use super::nodes::Nodes;
use super::{Vm, Vms};
use crate::{After, VmError};

impl Vms {
    /// Boots the resident virtual machine if there is none, or the last one was lost.
    pub fn see_to_resident(&mut self, base: &Base) -> Result<(), VmError> {
        if let Some(vm) = &mut self.resident {
            if vm.machine.alive().is_ok() {
                return Ok(());
            }
            self.give_up_resident();
        }
        let disk = self.take_disks(1)?.remove(0);
        match self.boot_resident(base, &disk) {
            Ok(vm) => {
                self.resident = Some(vm);
                Ok(())
            }
            Err(error) => {
                self.free.push(disk);
                Err(error)
            }
        }
    }

    fn boot_resident(&mut self, base: &Base, disk: &datastore::VirtualDisk) -> Result<Vm, VmError> {
        let (name, work) = (self.next_name(), self.next_work());
        let known = Known::new(first_quarters(disk, work.seed)?, true);
        let nodes = Nodes::plain(disk, "disk0", self.aio);
        let mut machine = base.start(&name, &work, Some(&nodes), Begin::Boot)?;
        machine.beat_after(0, base.limits.boot, &|| Ok(()))?;
        let mut vm = Vm { machine, work, disk: disk.clone(), known, is_layered: false };
        vm.check(&base.limits, &|| Ok(()))?;
        Ok(vm)
    }

    /// Ends the resident virtual machine and frees its disk.
    pub fn give_up_resident(&mut self) {
        if let Some(Vm { machine, disk, .. }) = self.resident.take() {
            drop(machine);
            self.free.push(disk);
        }
    }

    /// Returns the resident virtual machine, for an operation.
    pub fn resident(&mut self) -> Result<&mut Vm, VmError> {
        let none = || VmError::Unsupported("no machine runs".to_owned());
        self.resident.as_mut().ok_or_else(none)
    }

    /// Recovers after a failed operation. Either the virtual machine continues and is undamaged, or
    /// it is abandoned.
    pub fn recover(&mut self, base: &Base) -> After {
        let Some(vm) = &mut self.resident else {
            return After::Lost { why: "it does not run".to_owned() };
        };
        if vm.is_layered {
            return self.let_layered_go(base);
        }
        let recovered = vm.go_on().and_then(|()| vm.check(&base.limits, &|| Ok(())));
        let Err(error) = recovered else { return After::Whole };
        self.give_up_resident();
        After::Lost { why: error.to_string() }
    }

    /// Checks and then abandons a virtual machine whose snapshot could not be merged. It runs from
    /// two disks, and the next operation needs them.
    fn let_layered_go(&mut self, base: &Base) -> After {
        let Some(vm) = &mut self.resident else { return After::Nothing };
        // Its disk alone has not all of its content.
        vm.known.is_plain = false;
        let looked = vm.go_on().and_then(|()| vm.check(&base.limits, &|| Ok(())));
        self.give_up_resident();
        let why = "with its snapshot, which could not be merged";
        After::Lost {
            why: match looked {
                Ok(_) => format!("it was whole {why}"),
                Err(error) => format!("{error}; it ran {why}"),
            },
        }
    }
}

impl Vm {
    /// Resumes the virtual machine if an operation left it paused.
    fn go_on(&mut self) -> Result<(), VmError> {
        self.machine.qmp.forget_events();
        let status = self.machine.ask("query-status", json!({}))?;
        if status.get("running").and_then(Value::as_bool) != Some(true) {
            self.machine.ask("cont", json!({}))?;
        }
        Ok(())
    }
}
