//! Names by which a user confirms the device whose content may be destroyed. No other device has
//! these names.

use crate::backing;
use crate::place::DeviceOrFile;
use crate::sysfs::Device;

impl Device {
    /// Returns the names by which `--destroy-data` may call this device, without a check of other
    /// devices.
    ///
    /// A partition is never named by its disk's serial alone: the suffix `-partN`, as udev writes
    /// it, is added. Kernel names are never included, neither of this device nor of devices below
    /// it.
    fn names(&self) -> Vec<String> {
        let whole = self.whole();
        let mut names: Vec<String> =
            [whole.serial(), whole.wwid(), whole.memory_name()].into_iter().flatten().collect();
        names.extend(whole.loop_names());
        if let Some(part) = self.partition() {
            for name in &mut names {
                *name += &format!("-part{part}");
            }
        }
        names.extend(self.by_id());
        names.dedup();
        names
    }

    /// Returns the name of a RAM disk, which has no serial. Its disk sequence number is never given
    /// twice between two boots of the host (Documentation/ABI/stable/sysfs-block, `diskseq`).
    fn memory_name(&self) -> Option<String> {
        let kind = ["zram", "ram"].into_iter().find(|kind| self.name.starts_with(kind))?;
        Some(format!("{kind}-seq{}-{}", self.number_of("diskseq")?, self.size()))
    }

    /// Returns the names of a loop device: its file, if the path still leads to the file, or the
    /// names of the device below.
    fn loop_names(&self) -> Vec<String> {
        let below = backing::below(self).and_then(Result::ok);
        match below {
            Some(DeviceOrFile::Device(number)) => {
                let lower = Self::find(number).map(|lower| lower.names()).unwrap_or_default();
                lower.into_iter().map(|name| name + "-loop").collect()
            }
            Some(DeviceOrFile::File(_)) => backing::verified_path(self).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the names by which `--destroy-data` may call the device. Names that another device
    /// of this host also has are left out: NVMe namespaces share their controller's serial, and
    /// cheap bridges share a constant serial.
    pub fn identities(&self) -> Vec<String> {
        let whole = self.whole();
        let others: Vec<String> = Self::all_whole()
            .into_iter()
            .filter(|other| other.number != whole.number)
            .flat_map(|other| {
                let suffix = self.partition().map(|part| format!("-part{part}"));
                let names = other.names().into_iter();
                names
                    .map(move |name| name + suffix.as_deref().unwrap_or_default())
                    .collect::<Vec<_>>()
            })
            .collect();
        let mut names = self.names();
        names.retain(|name| !others.contains(name));
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::tree;
    use std::fs;

    #[test]
    fn a_partition_is_not_named_by_its_disk_s_serial() {
        let tree = tree();
        fs::write(tree.path().join("block/sda/serial"), "S1\n").expect("serial");
        let at = |name: &str| Device::at(&tree.path().join("block").join(name)).expect("device");
        assert_eq!(at("sda").names(), ["S1"]);
        assert_eq!(at("sda/sda1").names(), ["S1-part1"]);
    }
}
