use std::path::Path;

use spec::replay::Replay;
use trace::{IoRecord, TraceInfo};

use crate::replay::ReplayError;

/// Selection of a trace's records, with the disk for each.
pub struct Selection<'a> {
    vm: Option<&'a str>,
    named: Option<&'a [String]>,
    /// For each VM of the trace: true if it is replayed; `None` before its first record.
    vms: Vec<Option<bool>>,
    /// For each device of the trace: its disk, if it has one; the outer option is `None` before its
    /// first record.
    disks: Vec<Option<Option<u16>>>,
    /// Names of the devices, indexed by disk.
    devices: Vec<String>,
}

impl<'a> Selection<'a> {
    /// Creates the selection for a workload.
    pub fn new(replay: &'a Replay) -> Self {
        let named = replay.devices.as_deref();
        Self {
            vm: replay.vm.as_deref(),
            named,
            vms: Vec::new(),
            disks: Vec::new(),
            devices: named.map(<[String]>::to_vec).unwrap_or_default(),
        }
    }

    /// Returns the disk on which a record is replayed; `None` if it is left out.
    pub fn disk(&mut self, record: &IoRecord, info: &TraceInfo) -> Option<u16> {
        let vm = usize::from(record.vm.0);
        let is_wanted = match self.vms.get(vm).copied().flatten() {
            Some(known) => known,
            None => self.meet_vm(vm, info),
        };
        if !is_wanted {
            return None;
        }
        let device = usize::from(record.device.0);
        match self.disks.get(device).copied().flatten() {
            Some(known) => known,
            None => self.meet_device(device, info),
        }
    }

    fn meet_vm(&mut self, vm: usize, info: &TraceInfo) -> bool {
        let name = info.vms.get(vm).map_or("", String::as_str);
        let is_wanted = self.vm.is_none_or(|wanted| wanted == name);
        self.vms.resize(self.vms.len().max(vm + 1), None);
        self.vms[vm] = Some(is_wanted);
        is_wanted
    }

    fn meet_device(&mut self, device: usize, info: &TraceInfo) -> Option<u16> {
        let unnamed = format!("device {device}");
        let name = info.devices.get(device).map_or(&unnamed, |device| &device.name);
        let place = match self.named {
            Some(named) => named.iter().position(|wanted| wanted == name),
            None => {
                self.devices.push(name.clone());
                Some(self.devices.len() - 1)
            }
        };
        let disk = place.and_then(|place| u16::try_from(place).ok());
        self.disks.resize(self.disks.len().max(device + 1), None);
        self.disks[device] = Some(disk);
        disk
    }

    /// Refuses requested names that are not in the trace.
    pub fn check(&self, path: &Path, info: &TraceInfo) -> Result<(), ReplayError> {
        let unknown = |what, name: &str, known: Vec<String>| {
            let (trace, name) = (path.to_owned(), name.to_owned());
            Err(ReplayError::Unknown { trace, what, name, known })
        };
        if let Some(vm) = self.vm
            && !info.vms.iter().any(|known| known == vm)
        {
            return unknown("VM", vm, info.vms.clone());
        }
        let known = || info.devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>();
        let missing = self.named.unwrap_or_default().iter().find(|name| !known().contains(name));
        missing.map_or(Ok(()), |name| unknown("device", name, known()))
    }

    /// Returns the names of the trace's devices, indexed by disk.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }
}
