//! Sums of a fold in the form for messages, to merge the sums of several hosts.

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::bursts::Bursts;
use super::slices::Stored;
use super::vm::Vm;
use super::work::Fold;

/// Sums of a fold over a whole trace: everything except page references and I/Os in flight, so that
/// the size does not grow with the number of records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sums {
    records: u64,
    filtered: u64,
    first_ns: Option<u64>,
    last_ns: u64,
    unseen: u64,
    vms: Vec<Option<Box<Vm>>>,
    bursts: Bursts,
    slices: Stored,
}

/// Reason why received sums cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sums name {what} {index}, but only {known} exist")]
pub struct Unknown {
    what: &'static str,
    index: usize,
    known: usize,
}

/// I/Os of a VM on one host, with the first and the last time slice that has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VmSums {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
}

impl Sums {
    /// Returns the number of I/Os that passed the filter.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the I/Os of one VM; `None` if the VM transferred no data.
    pub(crate) fn seen(&self, vm: u16) -> Option<VmSums> {
        let mut found: Option<VmSums> = None;
        let width = self.slices.width_ns;
        for row in self.slices.rows.iter().filter(|row| row.vm() == usize::from(vm)) {
            let from = Nanos(row.slice.saturating_mul(width));
            let seen = found.get_or_insert(VmSums { count: 0, bytes: 0, from, to: from });
            seen.count += row.count;
            seen.bytes += row.bytes;
            seen.to = Nanos(from.0.saturating_add(width));
        }
        found
    }

    /// Checks that every VM and device has a name.
    fn check(&self, vms: usize, devices: usize) -> Result<(), Unknown> {
        let known = |what, index: usize, known| match index < known {
            true => Ok(()),
            false => Err(Unknown { what, index, known }),
        };
        for (at, vm) in self.vms.iter().enumerate() {
            let Some(vm) = vm else { continue };
            known("VM", at, vms)?;
            for (device, _) in &vm.streams {
                known("device", usize::from(device.0), devices)?;
            }
        }
        self.slices.rows.iter().try_for_each(|row| known("VM", row.vm(), vms))
    }
}

impl Fold {
    /// Ends the fold and returns its sums.
    pub fn into_sums(mut self) -> Sums {
        self.settle();
        Sums {
            records: self.records,
            filtered: self.filtered,
            first_ns: self.first.map(|first| first.0),
            last_ns: self.last.0,
            unseen: self.unseen,
            vms: self.vms,
            bursts: self.bursts,
            slices: self.slices.into_stored(),
        }
    }

    /// Adds the sums of another host for the same time. `vms` and `devices` map the other host's
    /// indices to the indices here; a device belongs to one host only.
    ///
    /// The busiest moments of a VM are known only if a single host saw the VM, because the sums do
    /// not contain the moments of two hosts together.
    ///
    /// # Errors
    /// If the sums name a VM or a device that is not in the lists.
    pub fn beside(&mut self, sums: Sums, vms: &[u16], devices: &[u16]) -> Result<(), Unknown> {
        sums.check(vms.len(), devices.len())?;
        let is_first = self.records == 0 && self.filtered == 0;
        self.records += sums.records;
        self.filtered += sums.filtered;
        self.unseen += sums.unseen;
        if let Some(first) = sums.first_ns {
            self.first = Some(self.first.map_or(Nanos(first), |known| known.min(Nanos(first))));
        }
        self.last = self.last.max(Nanos(sums.last_ns));
        self.bursts = if is_first { sums.bursts } else { Bursts::default() };
        self.is_beside = true;
        for (vm, here) in sums.vms.into_iter().zip(vms) {
            let Some(mut vm) = vm else { continue };
            for (device, _) in &mut vm.streams {
                device.0 = devices[usize::from(device.0)];
            }
            let at = usize::from(*here);
            if at >= self.vms.len() {
                self.vms.resize_with(at + 1, || None);
            }
            match &mut self.vms[at] {
                Some(known) => {
                    known.merge(*vm);
                    known.bursts = Bursts::default();
                }
                none => *none = Some(vm),
            }
        }
        self.slices.beside(sums.slices, vms);
        Ok(())
    }
}
