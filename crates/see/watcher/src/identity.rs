//! Identity of a disk: the same text on every host that has the same storage.
//!
//! Sources: kernel `Documentation/ABI/stable/sysfs-block` (`wwid` of NVMe), `sysfs-block-dm`
//! (`dm/uuid`), `Documentation/ABI/testing/sysfs-bus-rbd` (`cluster_fsid`, `pool_id`, `image_id`,
//! `current_snap`), and SPC-4 7.8.6 for the designators of SCSI that the kernel's `device/wwid`
//! shows.

use std::path::Path;

/// Prefixes of designators that are unique in the world, given by the maker of the disk or array.
/// Other designators (`t10.`, `nvme.`) are made of serial numbers, which may be equal on emulated
/// disks of two hosts.
const UNIQUE: [&str; 3] = ["naa.", "eui.", "uuid."];
/// Maximum length of an identity that is read.
const LENGTH_MAX: usize = 256;

/// Returns the identity of a disk in a directory like `/sys/block`; `None` if it cannot be
/// determined. It is never made of a name or a size.
pub(crate) fn identity(sys_block: &Path, disk: &str) -> Option<String> {
    let read = |file: &str| {
        let text = std::fs::read_to_string(sys_block.join(disk).join(file)).ok()?;
        let text = text.trim();
        (!text.is_empty() && text.len() <= LENGTH_MAX).then(|| text.to_owned())
    };
    // The paths of a multipath device are disks with its identity. An I/O through it is one of a path,
    // too, and storage that both are counted for would have it twice.
    if is_path(sys_block, disk) {
        return None;
    }
    let of_device = || ["wwid", "device/wwid"].into_iter().find_map(|file| wwid(&read(file)?));
    // The device mapper has the type of the designator as a digit: 3 is NAA, 2 is EUI-64.
    let of_paths = || {
        let uuid = read("dm/uuid")?;
        let designator = uuid.strip_prefix("mpath-")?;
        let parts = [("3", "naa."), ("2", "eui."), ("eui.", "eui."), ("uuid.", "uuid.")];
        let known = parts
            .into_iter()
            .find_map(|(start, kind)| Some(format!("{kind}{}", designator.strip_prefix(start)?)));
        wwid(&known?)
    };
    let of_image = || {
        let (cluster, pool) = (read("device/cluster_fsid")?, read("device/pool_id")?);
        let (image, snap) = (read("device/image_id")?, read("device/current_snap"));
        let snap = snap.filter(|snap| snap != "-").map(|snap| format!("@{snap}"));
        Some(format!("rbd.{cluster}/{pool}/{image}{}", snap.unwrap_or_default()))
    };
    of_device().or_else(of_paths).or_else(of_image)
}

/// Returns true for a path of a multipath device. The device may belong to the device mapper, or to
/// NVMe, which hides its paths.
fn is_path(sys_block: &Path, disk: &str) -> bool {
    let holders = std::fs::read_dir(sys_block.join(disk).join("holders")).into_iter().flatten();
    let mut uuids = holders.flatten().filter_map(|holder| {
        std::fs::read_to_string(sys_block.join(holder.file_name()).join("dm/uuid")).ok()
    });
    let hidden = std::fs::read_to_string(sys_block.join(disk).join("hidden"));
    hidden.is_ok_and(|text| text.trim() == "1") || uuids.any(|uuid| uuid.starts_with("mpath-"))
}

/// Returns a unique designator. A designator of zeros is refused, because it belongs to a disk that
/// has none.
fn wwid(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let digits = UNIQUE.into_iter().find_map(|kind| text.strip_prefix(kind))?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_set = digits.bytes().any(|byte| byte != b'0' && byte != b'-');
    (is_hex && is_set).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<String> {
        let sys = tempfile::tempdir().expect("a directory");
        for (file, text) in files {
            let path = sys.path().join("sda").join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            std::fs::write(path, format!("{text}\n")).expect("written");
        }
        identity(sys.path(), "sda")
    }

    #[test]
    fn identity_is_a_unique_designator_or_none() {
        let naa = "naa.60014055f0cfae3d6254576a87cf2ae1";
        assert_eq!(of(&[("device/wwid", naa)]).as_deref(), Some(naa));
        assert_eq!(
            of(&[("wwid", "eui.0025388B710116E7")]).as_deref(),
            Some("eui.0025388b710116e7")
        );
        let paths = [("dm/uuid", "mpath-360014055f0cfae3d6254576a87cf2ae1")];
        assert_eq!(of(&paths).as_deref(), Some(naa), "as its paths have it");
        let path = [("device/wwid", naa), ("holders/dm-0/a", ""), ("../dm-0/dm/uuid", paths[0].1)];
        assert_eq!(of(&path), None, "the multipath device has it");
        let path = [("wwid", "eui.0025388b710116e7"), ("hidden", "1")];
        assert_eq!(of(&path), None, "the disk that is shown has it");
        let uuid = "uuid.6b0c7a3e-7f0e-4f3a-9d3c-1f2e3d4c5b6a";
        assert_eq!(of(&[("wwid", uuid)]).as_deref(), Some(uuid));
        for none in [
            &[][..],
            &[("device/wwid", "t10.ATA     QEMU HARDDISK                           QM00001")],
            &[("wwid", "nvme.1b36-6465616462656566-51454d55-00000001")],
            &[("wwid", "eui.0000000000000000")],
            &[("device/wwid", "naa.../../etc")],
            &[("dm/uuid", "LVM-abcdef")],
            &[("serial", "disk1")],
        ] {
            assert_eq!(of(none), None, "{none:?}");
        }
    }

    #[test]
    fn image_of_ceph_has_the_identity_of_its_cluster_pool_and_id() {
        let files = [
            ("device/cluster_fsid", "4a2b9f7e-0000-4000-8000-000000000001"),
            ("device/pool_id", "3"),
            ("device/image_id", "1f2a6b8b4567"),
            ("device/current_snap", "-"),
        ];
        let whole = "rbd.4a2b9f7e-0000-4000-8000-000000000001/3/1f2a6b8b4567";
        assert_eq!(of(&files).as_deref(), Some(whole));
        assert_eq!(of(&files[..2]), None, "a part of it could be of two");
    }
}
