//! Devices and files that share blocks with a target: a graph of devices and the objects below
//! them, searched in both directions.
//!
//! ```text
//!        loop1   loop2          Downwards: the object below a loop device, the slaves of dm (LVM,
//!            \   /   \          LUKS, multipath), md and bcache, zram's write-back device, the
//!            file     sdb       disk of a partition. Sideways: the same unit on another path.
//!                    / | \      Upwards from all of these: partitions, and devices built on
//!                sdb1 sdb2 dm-0 them.
//! ```
//!
//! Devices are compared by number and files by inode, never by name. Two kinds of objects are not
//! visited, because they have other blocks of the same disk: the other partitions beside a
//! partition, and the other volumes on a disk that a volume manager claimed.

use std::collections::VecDeque;
use std::path::Path;

use crate::backing;
use crate::device_number::DeviceNumber;
use crate::place::{DeviceOrFile, FileId};
use crate::sysfs::Device;

/// Relation between an upper object and the lower object on which it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// The kernel gave the lower object to the upper object alone (dm, md, bcache, zram).
    Claimed,
    /// The lower object stays open to everybody (loop).
    Shared,
}

/// Device on top of a device or a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stacked {
    upper: DeviceNumber,
    lower: DeviceOrFile,
    link: Link,
}

/// All block devices of this host, with the devices and files below each.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    devices: Vec<Device>,
    stacks: Vec<Stacked>,
    /// Loop devices whose lower object the kernel does not identify: device, and name of the lower
    /// object.
    unknown: Vec<(DeviceNumber, String)>,
}

/// Relation of an object to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    Target,
    /// The object is the disk of which the target, or something below the target, is a partition.
    Whole,
    /// The object lies below the target.
    Lower(Link),
    /// The object is the same storage unit as the target, reached on another path.
    Twin,
    /// The object is a partition of another relative.
    Part,
    /// The object is built on another relative, which is named here.
    Upper(String),
}

/// Device or file that shares blocks with the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relative {
    pub place: DeviceOrFile,
    pub name: String,
    pub role: Role,
}

impl Relative {
    /// Returns true if others may have the object open for reading: the disk around a partition,
    /// and a device that a volume manager claimed (multipathd keeps its paths open).
    pub fn is_watched_by_others(&self) -> bool {
        matches!(self.role, Role::Whole | Role::Lower(Link::Claimed))
    }
}

impl Graph {
    /// Reads the graph of this host.
    pub fn read() -> Self {
        Self::of(Device::all_whole())
    }

    /// Builds the graph of these whole devices and their partitions.
    pub fn of(whole: Vec<Device>) -> Self {
        let mut graph = Self::default();
        for device in whole {
            graph.note_claimed(&device);
            match backing::below(&device) {
                Some(Ok(lower)) => graph.stack(&device, lower, Link::Shared),
                Some(Err(object)) => graph.unknown.push((device.number, object.0)),
                None => {}
            }
            graph.devices.extend(device.partitions());
            graph.devices.push(device);
        }
        graph
    }

    fn stack(&mut self, upper: &Device, lower: DeviceOrFile, link: Link) {
        self.stacks.push(Stacked { upper: upper.number, lower, link });
    }

    fn note_claimed(&mut self, device: &Device) {
        for slave in device.slaves() {
            self.stack(device, DeviceOrFile::Device(slave.number), Link::Claimed);
        }
        // Documentation/admin-guide/blockdev/zram.rst: "none" without one.
        let written_back = device.attribute("backing_dev").filter(|path| path.starts_with('/'));
        if let Some(place) = written_back.and_then(|path| DeviceOrFile::of(Path::new(&path))) {
            self.stack(device, place, Link::Claimed);
        }
    }

    /// Returns the device of this number.
    pub fn device(&self, number: DeviceNumber) -> Option<&Device> {
        self.devices.iter().find(|device| device.number == number)
    }

    /// Returns the names of objects below loop devices that the kernel does not identify.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(|(_, name)| name.as_str())
    }

    /// Returns the name of the unidentified object below a loop device, if one of the relatives is
    /// such a loop device.
    pub fn lies_on_unknown(&self, relatives: &[Relative]) -> Option<&str> {
        let (_, name) = self.unknown.iter().find(|(number, _)| {
            let place = DeviceOrFile::Device(*number);
            relatives.iter().any(|relative| relative.place == place)
        })?;
        Some(name)
    }

    /// Returns all objects that share blocks with `start`: first `start` itself, then near before
    /// far.
    pub fn relatives(&self, start: DeviceOrFile) -> Vec<Relative> {
        let mut found =
            RelativeSearch { graph: self, relatives: Vec::new(), waiting: VecDeque::new() };
        found.add(start, Role::Target);
        while let Some(at) = found.waiting.pop_front() {
            found.go_down(at);
        }
        found.waiting = (0..found.relatives.len()).collect();
        while let Some(at) = found.waiting.pop_front() {
            found.go_up(at);
        }
        found.relatives
    }

    fn name(&self, place: DeviceOrFile) -> String {
        match place {
            DeviceOrFile::Device(number) => {
                self.device(number).map_or_else(|| number.to_string(), |it| it.name.clone())
            }
            DeviceOrFile::File(FileId { device, inode }) => format!("file {device} inode {inode}"),
        }
    }

    /// Returns the other paths to the same storage unit: whole devices of the same world wide name
    /// and size, or the partitions with the same number on them.
    fn twins(&self, device: &Device) -> Vec<DeviceNumber> {
        let whole = device.whole();
        let Some(unit) = whole.unit() else { return Vec::new() };
        let others = self.devices.iter().filter(|other| {
            other.number != whole.number
                && other.unit().as_ref() == Some(&unit)
                && other.size() == whole.size()
        });
        let same = |other: &Device| match device.partition() {
            None => Some(other.number),
            part => other.partitions().iter().find(|it| it.partition() == part).map(|it| it.number),
        };
        others.filter_map(same).collect()
    }
}

/// State of a search for relatives.
struct RelativeSearch<'a> {
    graph: &'a Graph,
    relatives: Vec<Relative>,
    /// Indexes in `relatives` whose neighbours were not visited yet.
    waiting: VecDeque<usize>,
}

impl RelativeSearch<'_> {
    fn add(&mut self, place: DeviceOrFile, role: Role) {
        if self.relatives.iter().all(|known| known.place != place) {
            self.waiting.push_back(self.relatives.len());
            self.relatives.push(Relative { place, name: self.graph.name(place), role });
        }
    }

    fn go_down(&mut self, at: usize) {
        let (place, role) = (self.relatives[at].place, self.relatives[at].role.clone());
        let DeviceOrFile::Device(number) = place else { return };
        let graph = self.graph;
        if let Some(device) = graph.device(number) {
            if device.partition().is_some() {
                self.add(DeviceOrFile::Device(device.whole().number), Role::Whole);
            }
            if role != Role::Whole {
                for twin in graph.twins(device) {
                    self.add(DeviceOrFile::Device(twin), Role::Twin);
                }
            }
        }
        for stacked in graph.stacks.iter().filter(|stacked| stacked.upper == number) {
            self.add(stacked.lower, Role::Lower(stacked.link));
        }
    }

    fn go_up(&mut self, at: usize) {
        let Relative { place, name, role } = self.relatives[at].clone();
        let graph = self.graph;
        let divided = role == Role::Lower(Link::Claimed);
        for stacked in graph.stacks.iter().filter(|stacked| stacked.lower == place) {
            if !(divided && stacked.link == Link::Claimed) {
                self.add(DeviceOrFile::Device(stacked.upper), Role::Upper(name.clone()));
            }
        }
        if let DeviceOrFile::Device(number) = place
            && role != Role::Whole
        {
            let parts = graph.device(number).map(Device::partitions).unwrap_or_default();
            for part in parts {
                self.add(DeviceOrFile::Device(part.number), Role::Part);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs::tests::{put, tree};
    use std::fs;

    fn related(tree: &tempfile::TempDir, name: &str) -> Vec<String> {
        let graph = graph(tree);
        let device = Device::at(&tree.path().join("block").join(name)).expect("device");
        let mut names: Vec<String> = graph
            .relatives(DeviceOrFile::Device(device.number))
            .into_iter()
            .map(|relative| relative.name)
            .filter(|name| !name.starts_with("file"))
            .collect();
        names.sort();
        names
    }

    fn graph(tree: &tempfile::TempDir) -> Graph {
        Graph::of(Device::listed(&tree.path().join("block")))
    }

    /// Creates `loop900` and `loop901` over two names of one file, and `loop902` over another file.
    fn with_loops() -> tempfile::TempDir {
        let tree = tree();
        let file = |name: &str| tree.path().join(name);
        fs::write(file("image"), "x").expect("file");
        fs::hard_link(file("image"), file("link")).expect("link");
        fs::write(file("other"), "x").expect("file");
        for (number, name) in [(900, "image"), (901, "link"), (902, "other")] {
            put(&tree, &format!("loop{number}"), &format!("7:{number}"));
            let attributes = tree.path().join(format!("block/loop{number}/loop"));
            fs::create_dir(&attributes).expect("directory");
            fs::write(attributes.join("backing_file"), file(name).to_str().expect("plain"))
                .expect("attribute");
        }
        tree
    }

    #[test]
    fn loop_devices_over_two_names_of_one_file_are_relatives() {
        let tree = with_loops();
        assert_eq!(related(&tree, "loop900"), ["loop900", "loop901"]);
        assert_eq!(related(&tree, "loop902"), ["loop902"]);
        let file = DeviceOrFile::of(&tree.path().join("link")).expect("a file");
        assert_eq!(graph(&tree).relatives(file).len(), 3);
    }

    #[test]
    fn what_a_loop_device_lies_on_is_what_its_file_is_now() {
        let tree = with_loops();
        fs::remove_file(tree.path().join("link")).expect("removed");
        assert_eq!(related(&tree, "loop900"), ["loop900"]);
        assert_eq!(graph(&tree).unknown().count(), 1);
    }

    #[test]
    fn sisters_of_a_partition_and_of_a_volume_share_nothing() {
        let tree = tree();
        put(&tree, "sda/sda2", "8:2");
        fs::write(tree.path().join("block/sda/sda2/partition"), "2").expect("partition");
        put(&tree, "dm-2", "253:2");
        let slave = tree.path().join("block/dm-2/slaves/sda1");
        std::os::unix::fs::symlink(tree.path().join("block/sda/sda1"), slave).expect("link");
        assert_eq!(related(&tree, "sda/sda2"), ["sda", "sda2"]);
        assert_eq!(related(&tree, "dm-2"), ["dm-2", "sda", "sda1"]);
        assert_eq!(related(&tree, "dm-0"), ["dm-0", "dm-1", "sda", "sda1"]);
        assert_eq!(related(&tree, "sda"), ["dm-0", "dm-1", "dm-2", "sda", "sda1", "sda2"]);
    }

    #[test]
    fn second_path_to_a_unit_is_related_with_its_holders() {
        let tree = tree();
        put(&tree, "sdb", "8:16");
        for disk in ["sda", "sdb"] {
            fs::write(tree.path().join(format!("block/{disk}/wwid")), "naa.5000c5").expect("wwid");
        }
        let all = ["dm-0", "dm-1", "sda", "sda1", "sdb"];
        assert_eq!(related(&tree, "sdb"), all);
    }
}
