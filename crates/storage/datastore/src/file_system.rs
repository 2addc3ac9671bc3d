//! Properties of the file system of an open directory or file.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, StatxFlags, fstatvfs, statx};
use units::Bytes;

use crate::device_number::DeviceNumber;
use crate::mounts::{self, Mount};
use crate::preflight::{Examination, FileSystemFacts};
use crate::refusal::FsConcern;
use crate::sysfs::Device;
use crate::{Options, Refusal};

/// File system of an open directory or file.
#[derive(Debug)]
pub(crate) struct FileSystem {
    pub facts: FileSystemFacts,
    pub concern: Option<FsConcern>,
    pub read_only: bool,
    pub device: Option<Device>,
}

/// Share of the free space that may be used. This and [`FREE_RESERVE`] are our choice: a full file
/// system harms all other data on it and slows most allocators.
const FREE_SHARE: f64 = 0.8;
/// Bytes of the free space that are never used.
const FREE_RESERVE: Bytes = Bytes::new(5 << 30);

impl FileSystem {
    /// Reads the properties of the file system of `object`.
    pub fn of(object: impl AsFd) -> std::io::Result<Self> {
        let found =
            statx(&object, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
        let space = fstatvfs(&object)?;
        let mounts = mounts::own()?;
        let number = DeviceNumber { major: found.stx_dev_major, minor: found.stx_dev_minor };
        let mount = mounts
            .iter()
            .find(|mount| mount.id == found.stx_mnt_id)
            .or_else(|| mounts.iter().rev().find(|mount| mount.device == number));
        let root = mounts.iter().rev().find(|mount| mount.point == "/");
        let unit = space.f_frsize;
        Ok(Self {
            concern: mount.and_then(|mount| concern(mount, root)),
            read_only: mount.is_some_and(Mount::is_read_only),
            device: mount.and_then(|mount| mount.devices().into_iter().find_map(Device::find)),
            facts: FileSystemFacts {
                fs_type: mount.map_or("unknown", |mount| &mount.fs_type).to_owned(),
                mount_point: mount.map_or("unknown", |mount| &mount.point).to_owned(),
                source: mount.map_or("unknown", |mount| &mount.source).to_owned(),
                options: mount.map_or_else(String::new, |mount| {
                    format!("{},{}", mount.options, mount.super_options)
                }),
                size_bytes: space.f_blocks.saturating_mul(unit),
                free_bytes: space.f_bavail.saturating_mul(unit),
                leftover_bytes: 0,
            },
        })
    }

    /// Reads the properties like [`Self::of`], for the object at `path`. Refuses the target if they
    /// cannot be read.
    pub fn examine(
        object: impl AsFd,
        path: &Path,
        examination: &mut Examination,
    ) -> ControlFlow<(), Self> {
        let found = Self::of(object)
            .map_err(|error| Refusal::unreadable("read the file system of", path, error));
        examination.need(("the file system can be read", "readable"), found)
    }

    /// Checks the rules on the file system that do not depend on space.
    pub fn check(&self, examination: &mut Examination, options: &Options) {
        let path = std::path::PathBuf::from(&examination.preflight.resolved);
        let read_only = self.read_only.then(|| Refusal::ReadOnlyFs {
            path: path.clone(),
            mount_point: self.facts.mount_point.clone(),
        });
        examination.check(
            "fs-read-only",
            ("the file system is mounted for writing", "rw"),
            if self.read_only { "ro" } else { "rw" },
            read_only,
        );
        let Some(concern) = self.concern else {
            let found = self.facts.fs_type.clone();
            let rule = ("the file system may be filled", "not memory, overlay or root");
            return examination.check("fs-kind", rule, found, None);
        };
        let refusal = Refusal::FileSystem {
            path,
            concern,
            fs_type: self.facts.fs_type.clone(),
            mount_point: self.facts.mount_point.clone(),
        };
        let (id, text) = (refusal.id(), refusal.to_string());
        if options.allow_root_fs {
            examination.warn(id, format!("{text}; allowed by --allow-root-fs"));
        }
        examination.check(
            id,
            ("the file system may be filled", "not memory, overlay or root, unless allowed"),
            format!("{} mounted at {}", self.facts.fs_type, self.facts.mount_point),
            (!options.allow_root_fs).then_some(refusal),
        );
    }
}

impl Mount {
    fn is_read_only(&self) -> bool {
        let ro = |options: &str| options.split(',').any(|option| option == "ro");
        ro(&self.options) || ro(&self.super_options)
    }
}

fn concern(mount: &Mount, root: Option<&Mount>) -> Option<FsConcern> {
    match mount.fs_type.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => Some(FsConcern::Memory),
        "overlay" | "aufs" => Some(FsConcern::Overlay),
        // A bind mount of a part of the root file system is the root file system.
        _ if root.is_some_and(|root| root.device == mount.device) => Some(FsConcern::Root),
        _ => None,
    }
}

/// Space that other runs use in the same file system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leftovers {
    /// Allocated bytes, which are missing from the free space.
    pub allocated: u64,
    /// Bytes allocated, or bytes reserved by a live run if these are more.
    pub reserved: u64,
}

/// Computes the bytes that may be provisioned, and the rule as text. Leftovers of other runs count
/// as used by us. Otherwise one run after another could fill the file system up to the last byte.
pub(crate) fn space_limit(
    free: Bytes,
    leftovers: Leftovers,
    space_max: Option<Bytes>,
) -> (Bytes, String) {
    let ours = free + Bytes::new(leftovers.allocated);
    let by_free = ours
        .scale(FREE_SHARE)
        .saturating_sub(FREE_RESERVE)
        .saturating_sub(Bytes::new(leftovers.reserved))
        .min(free);
    let mut rule = format!("80 % of {free} free less {FREE_RESERVE}");
    if leftovers.reserved > 0 {
        rule += &format!(", other runs hold {}", Bytes::new(leftovers.reserved));
    }
    match space_max {
        Some(max) if max < by_free => (max, format!("space-max {max}")),
        _ => (by_free, rule),
    }
}

/// Returns the bytes that may be allocated now without using the reserve.
pub(crate) fn room(object: impl AsFd) -> Bytes {
    let free = fstatvfs(object).map_or(0, |space| space.f_bavail.saturating_mul(space.f_frsize));
    Bytes::new(free).saturating_sub(FREE_RESERVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: Leftovers = Leftovers { allocated: 0, reserved: 0 };

    #[test]
    fn four_fifths_of_the_free_space_less_5_gib_may_be_used() {
        assert_eq!(space_limit(Bytes::GIB * 100, NONE, None).0, Bytes::GIB * 75);
        assert_eq!(space_limit(Bytes::GIB * 100, NONE, Some(Bytes::GIB)).0, Bytes::GIB);
        assert_eq!(space_limit(Bytes::GIB * 5, NONE, None).0, Bytes::ZERO);
    }

    #[test]
    fn a_second_run_does_not_get_four_fifths_of_what_the_first_left() {
        let first = Leftovers { allocated: 75 << 30, reserved: 75 << 30 };
        assert_eq!(space_limit(Bytes::GIB * 25, first, None).0, Bytes::ZERO);
    }

    #[test]
    fn space_reserved_by_a_live_run_is_not_available() {
        let first = Leftovers { allocated: 0, reserved: 75 << 30 };
        assert_eq!(space_limit(Bytes::GIB * 100, first, None).0, Bytes::ZERO);
    }

    proptest! {
        #[test]
        fn the_limit_always_leaves_the_reserve(free in 0_u64..1 << 50, held in 0_u64..1 << 50) {
            let leftovers = Leftovers { allocated: held, reserved: held };
            let (limit, _) = space_limit(Bytes::new(free), leftovers, None);
            prop_assert!(limit == Bytes::ZERO || limit + FREE_RESERVE <= Bytes::new(free));
        }
    }
}
