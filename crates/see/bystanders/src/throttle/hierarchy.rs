use std::path::{Path, PathBuf};

use untrusted::mountinfo::{self, Mount};

/// Control group for block I/O of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// Version 1, controller `blkio`.
    V1(PathBuf),
    /// Version 2, controller `io`.
    V2(PathBuf),
}

impl Hierarchy {
    /// Finds the control group of this process.
    pub fn own() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let found = Self::read(&mounts, &groups)?;
        found.can_limit().then_some(found)
    }

    /// Returns the directory of the group.
    pub fn group(&self) -> &Path {
        match self {
            Self::V1(group) | Self::V2(group) => group,
        }
    }

    /// Parses the texts of `mountinfo` (proc_pid_mountinfo(5)) and `cgroup` (cgroups(7)). A
    /// controller is in version 1 or in version 2, never in both.
    fn read(mounts: &str, groups: &str) -> Option<Self> {
        let own = |is_wanted: &dyn Fn(&str) -> bool| {
            groups.lines().find_map(|line| {
                let mut parts = line.splitn(3, ':').skip(1);
                let (controllers, path) = (parts.next()?, parts.next()?);
                is_wanted(controllers).then_some(path)
            })
        };
        let has_blkio = |list: &str| list.split(',').any(|name| name == "blkio");
        let v1 = mountinfo::mounts(mounts)
            .find(|mount| mount.kind == "cgroup" && has_blkio(mount.super_options));
        if let (Some(mount), Some(path)) = (v1, own(&has_blkio)) {
            return Some(Self::V1(place(&mount, path)?));
        }
        let v2 = mountinfo::mounts(mounts).find(|mount| mount.kind == "cgroup2");
        Some(Self::V2(place(&v2?, own(&str::is_empty)?)?))
    }

    /// Returns true if the kernel can set limits here: version 2 lists its controllers, version 1
    /// has the files in every group but the root.
    fn can_limit(&self) -> bool {
        match self {
            Self::V1(group) => group.is_dir(),
            Self::V2(group) => std::fs::read_to_string(group.join("cgroup.controllers"))
                .is_ok_and(|list| list.split_whitespace().any(|name| name == "io")),
        }
    }
}

/// Returns the path of a group below this mount; `None` if the mount shows another part of the
/// tree.
fn place(mount: &Mount<'_>, group: &str) -> Option<PathBuf> {
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    let is_plain = below.components().all(|part| part != std::path::Component::ParentDir);
    is_plain.then(|| Path::new(&mount.point).join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "38 31 0:35 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn version_1_wins_where_it_has_the_controller() {
        let found = Hierarchy::read(V1, "7:blkio:/work\n4:memory:/else\n0::/\n");
        assert_eq!(found, Some(Hierarchy::V1("/sys/fs/cgroup/blkio/work".into())));
    }

    #[test]
    fn version_2_has_one_tree() {
        let found = Hierarchy::read(V2, "0::/user.slice/a.scope\n");
        assert_eq!(found, Some(Hierarchy::V2("/sys/fs/cgroup/user.slice/a.scope".into())));
    }

    #[test]
    fn a_group_that_this_mount_does_not_show_is_not_guessed() {
        let part = V2.replace("0:26 / ", "0:26 /docker/1 ");
        assert_eq!(Hierarchy::read(&part, "0::/user.slice\n"), None);
        assert_eq!(
            Hierarchy::read(&part, "0::/docker/1/x\n"),
            Some(Hierarchy::V2("/sys/fs/cgroup/x".into()))
        );
        assert_eq!(Hierarchy::read(V2, "0::/../other\n"), None);
        assert_eq!(Hierarchy::read("", "0::/\n"), None);
    }
}
