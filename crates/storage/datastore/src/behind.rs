use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::device_number::DeviceNumber;
use crate::sysfs::Device;

/// Whole block device: a disk, not a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeDevice {
    /// Kernel name of the device: `nvme0n1`.
    pub name: String,
    /// Number of the device in the kernel's form: `259:0`.
    pub number: String,
}

/// Returns the whole block device on which a path's file system lies, or the whole device of the
/// path if it is a device itself. `None` if there is no single device: memory, network file
/// systems, file systems over several devices (btrfs) or over another file system.
///
/// # Errors
///
/// If the path does not exist.
pub fn device_behind(path: &Path) -> std::io::Result<Option<WholeDevice>> {
    let found = std::fs::metadata(path)?;
    let is_device = rustix::fs::FileType::from_raw_mode(found.mode()).is_block_device();
    let packed = if is_device { found.rdev() } else { found.dev() };
    let device = Device::find(DeviceNumber::from_packed(packed)).map(|device| device.whole());
    Ok(device.map(|whole| WholeDevice { name: whole.name, number: whole.number.to_string() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_device_has_none_and_what_has_one_has_a_whole_one() {
        assert_eq!(device_behind(Path::new("/proc/self")).expect("it is there"), None);
        let root = device_behind(Path::new("/")).expect("it is there");
        let Some(root) = root else {
            eprintln!("skipped: the root file system of this machine is on no block device");
            return;
        };
        let partition = format!("/sys/dev/block/{}/partition", root.number);
        assert!(!Path::new(&partition).exists(), "{root:?}");
        assert!(device_behind(Path::new("/nowhere/at/all")).is_err());
    }
}
