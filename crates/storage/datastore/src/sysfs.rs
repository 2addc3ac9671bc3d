//! Block devices in sysfs: relatives, users, identity.

use std::fs;
use std::path::{Path, PathBuf};

use crate::device_number::DeviceNumber;
use crate::place::block_number;
use crate::preflight::DeviceFacts;

/// Directory of a block device in sysfs (Documentation/ABI/stable/sysfs-block).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    pub number: DeviceNumber,
    pub name: String,
    dir: PathBuf,
}

impl Device {
    /// Finds the device of this number on this host.
    pub fn find(number: DeviceNumber) -> Option<Self> {
        Self::at(&Path::new("/sys/dev/block").join(number.to_string()))
    }

    /// Returns the device whose sysfs directory, or a link to it, is `path`.
    pub fn at(path: &Path) -> Option<Self> {
        let dir = fs::canonicalize(path).ok()?;
        let number = DeviceNumber::parse(&fs::read_to_string(dir.join("dev")).ok()?)?;
        // The kernel writes a slash in a name as an exclamation mark.
        let name = dir.file_name()?.to_str()?.replace('!', "/");
        Some(Self { number, name, dir })
    }

    /// Lists all whole block devices of this host.
    pub fn all_whole() -> Vec<Self> {
        Self::listed(Path::new("/sys/block"))
    }

    /// Returns the devices whose sysfs directories, or links to them, are in `dir`.
    pub fn listed(dir: &Path) -> Vec<Self> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut devices: Vec<Self> = entries.filter_map(|entry| Self::at(&entry.path())).collect();
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        devices
    }

    /// Returns a sysfs attribute without surrounding spaces, if it exists and is not empty.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let text = fs::read(self.dir.join(name)).ok()?;
        let text = String::from_utf8_lossy(&text).trim_matches(['\0', ' ', '\n', '\t']).to_owned();
        (!text.is_empty()).then_some(text)
    }

    /// Returns a sysfs attribute that is a number.
    pub fn number_of(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    /// Returns the number of a partition on its disk, counted from 1.
    pub fn partition(&self) -> Option<u64> {
        self.number_of("partition")
    }

    /// Returns the disk to which a partition belongs, or the device itself if it is not a
    /// partition.
    pub fn whole(&self) -> Self {
        self.partition().and_then(|_| Self::at(self.dir.parent()?)).unwrap_or_else(|| self.clone())
    }

    /// Returns the partitions of a disk.
    pub fn partitions(&self) -> Vec<Self> {
        let mut parts = Self::listed(&self.dir);
        parts.retain(|part| part.dir.parent() == Some(&self.dir) && part.partition().is_some());
        parts
    }

    /// Returns the devices on which this device is built: dm (LVM, LUKS, multipath), md, bcache.
    pub fn slaves(&self) -> Vec<Self> {
        Self::listed(&self.dir.join("slaves"))
    }

    /// Returns the size in bytes. sysfs counts in 512 B for every sector size.
    pub fn size(&self) -> u64 {
        self.number_of("size").unwrap_or(0) * 512
    }

    /// Returns true if the kernel refuses writes.
    pub fn is_read_only(&self) -> bool {
        self.number_of("ro") == Some(1)
    }

    /// Returns the disk sequence number, which rises whenever another medium or device takes this
    /// name (Linux 5.15 and later).
    pub fn sequence(&self) -> Option<u64> {
        self.whole().number_of("diskseq")
    }

    /// Returns the path of the file below a loop device.
    pub fn backing_file(&self) -> Option<String> {
        self.whole().attribute("loop/backing_file")
    }

    /// Returns the serial number that the device reports.
    pub fn serial(&self) -> Option<String> {
        self.attribute("serial").or_else(|| self.attribute("device/serial")).or_else(|| {
            // SCSI: VPD page 0x80, four bytes of header before the text (SPC-4, 7.8.15).
            let page = fs::read(self.dir.join("device/vpd_pg80")).ok()?;
            let text = String::from_utf8_lossy(page.get(4..)?).trim().to_owned();
            (!text.is_empty()).then_some(text)
        })
    }

    /// Returns the world wide name of the storage unit behind the device. It is the same on every
    /// path to the unit.
    pub fn unit(&self) -> Option<String> {
        self.attribute("wwid").or_else(|| self.attribute("device/wwid"))
    }

    /// Returns [`Device::unit`], or the UUID of a device-mapper device.
    pub fn wwid(&self) -> Option<String> {
        self.unit()
            .or_else(|| self.attribute("dm/uuid"))
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Returns true if no other host can reach the device: memory, and disks on a bus inside this
    /// host. For other devices it is false, because a hypervisor, a SAN or a server may also give
    /// its disk to other hosts.
    pub fn is_this_hosts_own(&self) -> bool {
        let path = self.dir.to_string_lossy();
        ["zram", "pmem", "mmcblk"].iter().any(|kind| self.name.starts_with(kind))
            || path.contains("/ata")
            || path.contains("/usb")
            || self.attribute("device/transport").is_some_and(|transport| transport == "pcie")
    }

    /// Returns the names of the device in `/dev/disk/by-id`.
    pub fn by_id(&self) -> Vec<String> {
        let entries = fs::read_dir("/dev/disk/by-id").into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| block_number(&entry.path()) == Some(self.number))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Returns the properties of the device for a preflight.
    pub fn facts(&self) -> DeviceFacts {
        let whole = self.whole();
        let queue_bytes = |name: &str| {
            whole.number_of(name).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(512)
        };
        let model = [whole.attribute("device/vendor"), whole.attribute("device/model")];
        let model = model
            .into_iter()
            .flatten()
            .filter(|word| !word.starts_with("0x"))
            .collect::<Vec<_>>()
            .join(" ");
        DeviceFacts {
            name: self.name.clone(),
            number: self.number.to_string(),
            size_bytes: self.size(),
            model: (!model.is_empty()).then_some(model),
            serial: whole.serial(),
            wwid: whole.wwid(),
            by_id: self.by_id(),
            logical_sector_bytes: queue_bytes("queue/logical_block_size"),
            physical_sector_bytes: queue_bytes("queue/physical_block_size"),
            scheduler: whole.attribute("queue/scheduler").map(|text| active_scheduler(&text)),
            rotational: whole.number_of("queue/rotational") == Some(1),
            write_cache: whole.attribute("queue/write_cache"),
            backing_file: self.backing_file(),
        }
    }
}

/// Returns the active scheduler: `mq-deadline` for `none [mq-deadline] kyber`.
fn active_scheduler(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(name, _)| name).to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Adds a device to a simulated sysfs.
    pub(crate) fn put(tree: &tempfile::TempDir, path: &str, number: &str) {
        let dir = tree.path().join("block").join(path);
        fs::create_dir_all(dir.join("slaves")).expect("directory");
        fs::write(dir.join("dev"), number).expect("dev");
    }

    /// Creates a simulated sysfs: `sda` with partition `sda1`, held by `dm-0`, which is held by
    /// `dm-1`.
    pub(crate) fn tree() -> tempfile::TempDir {
        let tree = tempfile::tempdir().expect("temporary directory");
        put(&tree, "sda", "8:0\n");
        put(&tree, "sda/sda1", "8:1\n");
        put(&tree, "dm-0", "253:0\n");
        put(&tree, "dm-1", "253:1\n");
        fs::write(tree.path().join("block/sda/sda1/partition"), "1\n").expect("partition");
        for (upper, lower) in [("dm-0", "sda/sda1"), ("dm-1", "dm-0")] {
            let (up, low) =
                (tree.path().join("block").join(upper), tree.path().join("block").join(lower));
            symlink(&low, up.join("slaves").join(low.file_name().expect("name"))).expect("link");
        }
        tree
    }

    fn names(devices: &[Device]) -> Vec<&str> {
        devices.iter().map(|device| device.name.as_str()).collect()
    }

    #[test]
    fn partitions_disks_and_slaves_are_found() {
        let tree = tree();
        let at = |name: &str| Device::at(&tree.path().join("block").join(name)).expect("device");
        let disk = at("sda");
        assert_eq!(names(&disk.partitions()), ["sda1"]);
        assert_eq!(at("sda/sda1").whole(), disk);
        assert_eq!(names(&at("dm-1").slaves()), ["dm-0"]);
        assert_eq!(disk.whole(), disk);
    }

    #[test]
    fn the_active_scheduler_is_the_one_in_brackets() {
        assert_eq!(active_scheduler("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(active_scheduler("none"), "none");
    }
}
