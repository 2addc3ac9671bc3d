//! Recognition of the content of a device or file, to name it in a refusal.
//!
//! The protecting rule is that both ends must be zero; this table only finds the name of the
//! content. Offsets and magic numbers are facts of the formats. The source of each is noted.

use crate::refusal::End;

/// Recognised content and its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub name: &'static str,
    /// Offset of the magic number from the start of the device, in bytes.
    pub offset: u64,
    pub end: End,
}

/// Name of content that is not recognised.
pub(crate) const UNKNOWN: &str = "data";

struct Magic(&'static str, usize, &'static [u8]);

/// Magic numbers at offsets from the first byte. Specific formats come before general ones: a FAT
/// or NTFS boot sector also ends like an MBR, which is therefore last.
const FIRST: &[Magic] = &[
    // Disk image formats, by their specifications.
    Magic("a qcow2 image", 0, b"QFI\xfb"),
    Magic("a VMDK image", 0, b"KDMV"),
    Magic("a VMDK image", 0, b"COWD"),
    Magic("a VMDK descriptor", 0, b"# Disk DescriptorFile"),
    Magic("a VHDX image", 0, b"vhdxfile"),
    Magic("a VHD image", 0, b"conectix"),
    Magic("a VDI image", 0x40, b"\x7f\x10\xda\xbe"),
    Magic("a QED image", 0, b"QED\0"),
    Magic("a Parallels image", 0, b"WithoutFreeSpace"),
    Magic("a Parallels image", 0, b"WithouFreSpacExt"),
    // Ours: docs/formats/tier.md.
    Magic("a tier's cache", 0, b"TMTIER\0\0"),
    // LUKS1 and LUKS2 on-disk formats; LUKS2's second header has the magic reversed.
    Magic("LUKS encryption", 0, b"LUKS\xba\xbe"),
    Magic("LUKS encryption", 0x4000, b"SKUL\xba\xbe"),
    Magic("BitLocker encryption", 3, b"-FVE-FS-"),
    // Linux: fs/xfs/libxfs/xfs_format.h, fs/btrfs (super block at 64 KiB), include/linux/raid.
    Magic("an xfs file system", 0, b"XFSB"),
    Magic("a btrfs file system", 0x10040, b"_BHRfS_M"),
    Magic("an md raid member", 0, b"\xfc\x4e\x2b\xa9"),
    Magic("an md raid member", 4096, b"\xfc\x4e\x2b\xa9"),
    // drivers/md/bcache and fs/bcachefs: the UUID at 24 bytes into the block at 4 KiB.
    Magic(
        "a bcache device",
        4120,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    Magic(
        "a bcachefs file system",
        4120,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    Magic("a VDO volume", 0, b"dmvdo001"),
    Magic("a Stratis member", 516, b"!Stra0tis"),
    Magic("a Ceph BlueStore device", 0, b"bluestore block device"),
    // VMFS: volume member at 1 MiB, file system at 2 MiB.
    Magic("a VMFS volume", 0x0010_0000, b"\x0d\xd0\x01\xc0"),
    Magic("a VMFS file system", 0x0020_0000, b"\x5e\xf1\xab\x2f"),
    Magic("an Oracle ASM disk", 32, b"ORCLDISK"),
    Magic("a GFS2 file system", 0x10000, b"\x01\x16\x19\x70"),
    Magic("an OCFS2 file system", 0x2000, b"OCFSV2"),
    Magic("an f2fs file system", 1024, b"\x10\x20\xf5\xf2"),
    Magic("an erofs file system", 1024, b"\xe2\xe1\xf5\xe0"),
    Magic("a squashfs file system", 0, b"hsqs"),
    Magic("a JFS file system", 0x8000, b"JFS1"),
    Magic("a nilfs2 file system", 1030, b"\x34\x34"),
    Magic("a ReiserFS file system", 0x10034, b"ReIsEr"),
    Magic("an APFS container", 32, b"NXSB"),
    Magic("an HFS+ file system", 1024, b"H+"),
    Magic("an HFS+ file system", 1024, b"HX"),
    // ECMA-119 and ECMA-167: volume descriptors from 32 KiB.
    Magic("an ISO 9660 file system", 0x8001, b"CD001"),
    Magic("a UDF file system", 0x8001, b"BEA01"),
    // Swap: the last ten bytes of the first page, for pages of 4 to 64 KiB.
    Magic("swap space", 0xff6, b"SWAPSPACE2"),
    Magic("swap space", 0x1ff6, b"SWAPSPACE2"),
    Magic("swap space", 0x3ff6, b"SWAPSPACE2"),
    Magic("swap space", 0xfff6, b"SWAPSPACE2"),
    Magic("swap space", 0xff6, b"SWAP-SPACE"),
    Magic("a hibernation image", 0xff6, b"S1SUSPEND"),
    Magic("a hibernation image", 0xff6, b"LINHIB0001"),
    // UEFI specification 5.3.2: the header in the second sector, of 512 or 4096 bytes.
    Magic("a GPT partition table", 512, b"EFI PART"),
    Magic("a GPT partition table", 4096, b"EFI PART"),
    // Boot sectors.
    Magic("an NTFS file system", 3, b"NTFS    "),
    Magic("an exFAT file system", 3, b"EXFAT   "),
    Magic("a FAT file system", 82, b"FAT32   "),
    Magic("a FAT file system", 54, b"FAT16   "),
    Magic("a FAT file system", 54, b"FAT12   "),
    Magic("a FAT file system", 54, b"FAT     "),
    Magic("an MBR partition table or boot sector", 510, b"\x55\xaa"),
];

/// Recognises the content of a device's two ends; `None` if all bytes of both are zero. `size` is
/// the size of the device, and `last` ends at its last byte.
pub(crate) fn recognise(first: &[u8], last: &[u8], size: u64) -> Option<Signature> {
    in_first(first)
        .map(|(name, at)| Signature { name, offset: at as u64, end: End::First })
        .or_else(|| in_last(last, size))
        .or_else(|| unknown(first, 0, End::First))
        .or_else(|| unknown(last, size - last.len() as u64, End::Last))
}

fn unknown(bytes: &[u8], start: u64, end: End) -> Option<Signature> {
    let at = bytes.iter().position(|byte| *byte != 0)?;
    Some(Signature { name: UNKNOWN, offset: start + at as u64, end })
}

fn has(bytes: &[u8], at: usize, magic: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(magic))
}

fn in_first(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let last = FIRST.len() - 1;
    let plain = |table: &'static [Magic]| {
        let hit = table.iter().find(|Magic(_, at, magic)| has(bytes, *at, magic))?;
        Some((hit.0, hit.1))
    };
    ext(bytes)
        .or_else(|| lvm(bytes))
        .or_else(|| zfs(bytes).map(|at| (ZFS, at)))
        .or_else(|| plain(&FIRST[..last]))
        .or_else(|| plain(&FIRST[last..]))
}

/// Recognises an ext super block at 1024 bytes by its magic number and feature words
/// (Documentation/filesystems/ext4).
fn ext(bytes: &[u8]) -> Option<(&'static str, usize)> {
    const MAGIC_AT: usize = 0x438;
    if !has(bytes, MAGIC_AT, b"\x53\xef") {
        return None;
    }
    let word = |at: usize| {
        bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    let (compatible, incompatible, read_only) = (word(0x45c), word(0x460), word(0x464));
    // Extents, 64 bit, flexible groups; huge files, group checksums, large inodes, metadata
    // checksums: none of them exists before ext4.
    let name = if incompatible & (0x40 | 0x80 | 0x200) != 0 || read_only & 0x478 != 0 {
        "an ext4 file system"
    } else if compatible & 0x4 != 0 {
        "an ext3 file system"
    } else {
        "an ext2 file system"
    };
    Some((name, MAGIC_AT))
}

/// Recognises an LVM label in one of the first four sectors (LVM2, lib/format_text/layout.h).
fn lvm(bytes: &[u8]) -> Option<(&'static str, usize)> {
    let at = [0, 512, 1024, 1536].into_iter().find(|at| has(bytes, *at, b"LABELONE"))?;
    Some(("an LVM2 physical volume", at))
}

const ZFS: &str = "a ZFS member";

/// Finds an uberblock in the second half of a 256 KiB label at the start of `bytes`, in either byte
/// order (ZFS on-disk specification, 1.3).
fn zfs(bytes: &[u8]) -> Option<usize> {
    (0x20000..0x40000).step_by(1024).find(|at| {
        has(bytes, *at, b"\x0c\xb1\xba\0\0\0\0\0") || has(bytes, *at, b"\0\0\0\0\0\xba\xb1\x0c")
    })
}

fn in_last(last: &[u8], size: u64) -> Option<Signature> {
    let start = size - last.len() as u64;
    // Where in `last` a byte of the device is.
    let at = |offset: Option<u64>| {
        usize::try_from(offset?.checked_sub(start)?).ok().filter(|at| *at < last.len())
    };
    let below = |unit: u64, back: u64| (size / unit * unit).checked_sub(back);
    let plain = [
        ("a GPT partition table (backup)", size.checked_sub(512), &b"EFI PART"[..]),
        ("a GPT partition table (backup)", size.checked_sub(4096), b"EFI PART"),
        ("a VHD image", size.checked_sub(512), b"conectix"),
        ("a DMG image", size.checked_sub(512), b"koly"),
        // md: version 0.90 in the last full 64 KiB, version 1.0 in the last 8 KiB rounded
        // down to 4 KiB (include/uapi/linux/raid/md_p.h).
        ("an md raid member", below(65536, 65536), b"\xfc\x4e\x2b\xa9"),
        ("an md raid member", below(512, 8192).map(|at| at / 4096 * 4096), b"\xfc\x4e\x2b\xa9"),
        // DRBD: meta data in the last 4 KiB, magic after 60 bytes, versions 0.7 to 9.
        ("a DRBD device", below(4096, 4096).map(|at| at + 60), b"\x83\x74\x02"),
    ];
    let hit = plain.into_iter().find_map(|(name, offset, magic)| {
        has(last, at(offset)?, magic).then_some(Signature { name, offset: offset?, end: End::Last })
    });
    hit.or_else(|| {
        // The third and fourth label, in the last two full 256 KiB.
        [0x80000, 0x40000].into_iter().find_map(|back| {
            let label = below(0x40000, back)?;
            let inside = zfs(last.get(at(Some(label))?..)?)?;
            Some(Signature { name: ZFS, offset: label + inside as u64, end: End::Last })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LENGTH: usize = 8 << 20;
    const SIZE: u64 = (1 << 30) + 12 * 512;

    fn first_with(at: usize, magic: &[u8]) -> Option<Signature> {
        let mut first = vec![0; LENGTH];
        first[at..at + magic.len()].copy_from_slice(magic);
        recognise(&first, &[0; 512], SIZE)
    }

    #[test]
    fn every_signature_of_the_table_is_named() {
        for Magic(name, at, magic) in FIRST {
            let found = first_with(*at, magic).expect("not zero");
            assert_eq!((found.name, found.offset), (*name, *at as u64));
        }
    }

    #[test]
    fn zeros_are_nothing_and_one_byte_is_data() {
        assert_eq!(recognise(&[0; 4096], &[0; 4096], SIZE), None);
        assert_eq!(first_with(4711, b"\x01").map(|f| (f.name, f.offset)), Some((UNKNOWN, 4711)));
        let last = [vec![0; 4095], vec![9]].concat();
        let found = recognise(&[0; 512], &last, SIZE).expect("not zero");
        assert_eq!((found.name, found.offset, found.end), (UNKNOWN, SIZE - 1, End::Last));
    }

    #[test]
    fn signatures_at_the_end_are_named() {
        for (back, magic, name) in [
            (512, &b"EFI PART"[..], "a GPT partition table (backup)"),
            (SIZE % 4096 + 4096 - 60, b"\x83\x74\x02\x6d", "a DRBD device"),
            (SIZE % 65536 + 65536, b"\xfc\x4e\x2b\xa9", "an md raid member"),
            (SIZE % 0x40000 + 0x80000 - 0x20000, b"\x0c\xb1\xba\0\0\0\0\0", ZFS),
        ] {
            let mut last = vec![0; LENGTH];
            let at = LENGTH - usize::try_from(back).expect("small");
            last[at..at + magic.len()].copy_from_slice(magic);
            let found = recognise(&[0; 512], &last, SIZE).expect("not zero");
            assert_eq!((found.name, found.offset), (name, SIZE - back));
        }
    }

    #[test]
    fn zfs_and_lvm_at_the_start_are_named() {
        assert_eq!(first_with(0x21000, b"\0\0\0\0\0\xba\xb1\x0c").map(|f| f.name), Some(ZFS));
        let lvm = first_with(512, b"LABELONE").map(|f| f.name);
        assert_eq!(lvm, Some("an LVM2 physical volume"));
    }

    #[test]
    fn the_three_ext_file_systems_are_told_apart() {
        let mut first = vec![0; LENGTH];
        first[0x438..0x43a].copy_from_slice(b"\x53\xef");
        let name = |first: &[u8]| recognise(first, &[], SIZE).map(|found| found.name);
        assert_eq!(name(&first), Some("an ext2 file system"));
        first[0x45c] = 4;
        assert_eq!(name(&first), Some("an ext3 file system"));
        first[0x460] = 0x40;
        assert_eq!(name(&first), Some("an ext4 file system"));
    }

    proptest! {
        #[test]
        fn any_byte_that_is_not_zero_is_found(
            length in 1_usize..100_000,
            at in 0_usize..100_000,
            byte in 1_u8..,
            size in 100_000_u64..1 << 40,
        ) {
            let mut bytes = vec![0; length];
            bytes[at % length] = byte;
            prop_assert!(recognise(&bytes, &[], size).is_some());
            prop_assert!(recognise(&[], &bytes, size).is_some());
        }
    }
}
