//! Deployment of virtual machines from the template, copied or linked, one or many at once; and
//! their removal.

use datastore::VirtualDisk;

use super::checks::{Known, first_quarters};
use super::machine::{Base, Begin};
use super::nodes::Nodes;
use super::{Vm, Vms, copies};
use crate::operation::{Clock, Done};
use crate::{DeployKind, Phase, VmError};

impl Vms {
    fn template(&self) -> Result<VirtualDisk, VmError> {
        let none = || VmError::Unsupported("there is no template to deploy from".to_owned());
        self.template.clone().ok_or_else(none)
    }

    /// Returns the digest of the template's first three quarters, with which every virtual machine
    /// deployed from it is compared. All digests start with the same seed so that they are
    /// comparable.
    pub fn template_digest(&mut self) -> Result<u64, VmError> {
        if let Some(digest) = self.template_digest {
            return Ok(digest);
        }
        let digest = first_quarters(&self.template()?, self.work.seed)?;
        self.template_digest = Some(digest);
        Ok(digest)
    }

    /// Deploys virtual machines and boots them all at once.
    pub fn deploy(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
        (kind, count): (DeployKind, u32),
    ) -> Result<Done, VmError> {
        let disks = self.take_disks(count as usize)?;
        let before = self.deployed.len();
        let done = self.deploy_on(base, clock, &disks, kind);
        if done.is_err() {
            // If one fails, the others are removed, too.
            self.deployed.truncate(before);
            self.free.extend(disks);
        }
        done
    }

    fn deploy_on(
        &mut self,
        base: &Base,
        clock: &mut Clock<'_>,
        disks: &[VirtualDisk],
        kind: DeployKind,
    ) -> Result<Done, VmError> {
        let (digest, template) = (self.template_digest()?, self.template()?);
        let (limits, aio, work) = (&base.limits, self.aio, self.work);
        let name = self.next_name();
        let mut tool = base.start(&name, &work, None, Begin::Blocks)?;
        let mut copied_bytes = 0;
        for disk in disks {
            let (within, go_on) = (limits.copying, || clock.go_on());
            copied_bytes += match kind {
                DeployKind::Full => {
                    copies::copy(&mut tool, (&template, disk), aio, within, &go_on)?
                }
                DeployKind::Linked => {
                    copies::make_layer(&mut tool, disk, aio, within, &go_on).map(|()| 0)?
                }
            };
        }
        tool.quit();
        clock.end(Phase::Copying);
        let first = self.deployed.len();
        for disk in disks {
            let nodes = match kind {
                DeployKind::Full => Nodes::plain(disk, "disk0", aio),
                DeployKind::Linked => Nodes::linked(&template, disk, aio),
            };
            let machine = base.start(&self.next_name(), &work, Some(&nodes), Begin::Boot)?;
            let known = Known::new(digest, kind == DeployKind::Full);
            self.deployed.push(Vm { machine, work, disk: disk.clone(), known, is_layered: false });
        }
        for vm in &mut self.deployed[first..] {
            vm.machine.beat_after(0, limits.boot, &|| clock.go_on())?;
        }
        clock.end(Phase::Boot);
        let mut checked = Vec::new();
        for vm in &mut self.deployed[first..] {
            checked.push(vm.check(limits, &|| clock.go_on())?);
        }
        clock.end(Phase::Check);
        Ok(Done { stood_still: None, copied_bytes, checked: checked.join("; ") })
    }

    /// Removes all deployed virtual machines.
    pub fn destroy(&mut self, clock: &mut Clock<'_>) -> Done {
        for Vm { machine, disk, .. } in self.deployed.drain(..) {
            machine.quit();
            self.free.push(disk);
        }
        clock.end(Phase::Destroy);
        Done::default()
    }
}
