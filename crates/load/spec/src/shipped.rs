//! Definitions in `data/tiles/` and `data/arrays/`, embedded in the program. No file is read at run
//! time.

use crate::error::SpecError;
use crate::nearest::{did_you_mean, plural};

pub use crate::resolve::shipped::{array, group, tile, workload};

/// File that is embedded in the program.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Name of the definition, as used in a tile or plan.
    pub name: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

macro_rules! shipped {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../../../../data/", $folder, $name, ".toml")),
        }),*]
    };
}

/// Folder of single streams for calibration. Each of them is also available as a tile.
pub const MICRO: &str = "micro/";
/// Folder of infrastructure operations: workloads that run beside tiles.
pub const OPERATIONS: &str = "operations/";

const TILES: &[Shipped] = shipped!("tiles/":
    "datacenter", "storage", "general", "vdi", "hci-oltp", "spc1-like", "file-server",
    "shop-real", "mail-real", "web-real", "datacenter-real",
    "shop-like-real", "mail-like-real", "datacenter-like-real",
);

/// Groups of infrastructure operations, in the file format of a tile.
const GROUPS: &[Shipped] = shipped!("tiles/operations/":
    "standard", "deploy", "move", "redeploy", "linked", "snapshot", "boot-storm", "full",
    "qemu", "qemu-clones",
    "named-snapshot", "named-move", "named-storage", "named-unified", "named-deploy");

const WORKLOADS: &[Shipped] = shipped!("tiles/workloads/":
    "mail", "web", "shop", "standby", "shop-real", "mail-real", "web-real",
    "shop-like-real", "mail-like-real", "mail-store", "oltp", "olap", "web-files", "scan",
    "general-4k", "general-8k", "desktop", "six-disk-oltp", "eight-streams", "file-server",
    "micro/read-4k", "micro/write-4k", "micro/mixed-8k", "micro/seq-read-1m",
    "micro/seq-write-1m", "micro/read-4k-qd1", "micro/write-4k-qd1", "micro/http-get",
    "operations/deploy", "operations/storage-migration", "operations/redeploy",
    "operations/linked-deploy", "operations/snapshot", "operations/boot-storm",
    "operations/qemu-deploy", "operations/qemu-linked-deploy", "operations/qemu-boot-storm",
    "operations/qemu-live-migration", "operations/qemu-storage-migration",
    "operations/qemu-unified-migration", "operations/qemu-snapshot",
    "operations/named-snapshot", "operations/named-live-migration", "operations/named-storage-migration",
    "operations/named-unified-migration", "operations/named-deploy",
);

const ARRAYS: &[Shipped] = shipped!("arrays/":
    "hdd-raid10", "ssd-sata-raid5", "nvme-local", "slow-sata", "host-flash",
    "vnx5500", "vsan-6-hybrid", "fas3170", "ds5300",
);

/// All files under `data/studies/`, listed by the build script. Names are paths relative to that
/// folder.
const STUDY_FILES: &[Shipped] = include!(concat!(env!("OUT_DIR"), "/studies.rs"));

/// Returns the files of the shipped tiles, the recommended first tile first, without the `micro/`
/// ones.
pub fn tiles() -> &'static [Shipped] {
    TILES
}

/// Returns the files of the shipped workloads.
pub fn workloads() -> &'static [Shipped] {
    WORKLOADS
}

/// Returns the files of the shipped arrays, simple ones first.
pub fn arrays() -> &'static [Shipped] {
    ARRAYS
}

/// Returns the names that [`array()`] accepts.
pub fn array_names() -> impl Iterator<Item = &'static str> {
    ARRAYS.iter().map(|file| file.name)
}

/// Returns the files of shipped studies: the studies themselves, and, in folders, the files that
/// only they use.
pub fn study_files() -> &'static [Shipped] {
    STUDY_FILES
}

/// Returns the names of the shipped studies.
pub fn study_names() -> impl Iterator<Item = &'static str> {
    let names = STUDY_FILES.iter().filter_map(|file| file.name.strip_suffix(".toml"));
    names.filter(|name| !name.contains('/'))
}

/// Returns the names that [`tile`] accepts: the tiles, then the `micro/` ones.
pub fn tile_names() -> impl Iterator<Item = &'static str> {
    let micro = workload_names().filter(|name| name.starts_with(MICRO));
    TILES.iter().map(|file| file.name).chain(micro)
}

/// Returns the files of shipped groups of infrastructure operations, the recommended first group
/// first.
pub fn groups() -> &'static [Shipped] {
    GROUPS
}

/// Returns the names of the shipped groups of infrastructure operations.
pub fn group_names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|file| file.name)
}

/// Returns the names that [`workload`] accepts.
pub fn workload_names() -> impl Iterator<Item = &'static str> {
    WORKLOADS.iter().map(|file| file.name)
}

/// Returns the file of a shipped array.
pub fn array_file(name: &str) -> Result<Shipped, SpecError> {
    let file = ARRAYS.iter().find(|file| file.name == name);
    file.copied().ok_or_else(|| not_shipped("array", name, array_names()))
}

/// Returns true if the name of a tile or workload is a path: it ends in `.toml`, or contains a
/// folder other than `micro` and `operations`.
pub fn is_path(name: &str) -> bool {
    let is_ours = name.starts_with(MICRO) || name.starts_with(OPERATIONS);
    name.ends_with(".toml") || (name.contains('/') && !is_ours)
}

pub(crate) fn not_shipped(
    what: &'static str,
    name: &str,
    known: impl Iterator<Item = &'static str>,
) -> SpecError {
    let known: Vec<&str> = known.collect();
    let help = format!(
        "{}; a path to your own file ends in .toml",
        did_you_mean(name, &known, &plural(what))
    );
    SpecError::NotShipped { what, name: name.to_owned(), help }
}
