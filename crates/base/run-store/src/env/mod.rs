//! `env.json`: the host of a run. All values are read from `/proc`, `/sys` and `/etc`. A value that
//! cannot be read is null, never a guess.

mod block;
mod host;
mod mount;
mod probe;
mod types;

pub use types::{
    BlockDevice, Cgroup, Cpu, Environment, FileSystem, Memory, QueueSettings, Storage, System,
};

use std::path::Path;

use probe::Probe;

use crate::run::ToolFacts;

/// Name and version of the format `env.json`.
pub const SCHEMA: &str = "tilemark.env/1.0";

/// Reads the environment as it is now. `target` is the datastore's path, or the device itself.
pub fn capture(target: &Path, tool: ToolFacts) -> Environment {
    capture_below(Path::new("/"), target, tool)
}

/// Reads the environment of a host whose `/proc`, `/sys` and `/etc` are below `root`. Used for
/// tests and for copies of other hosts. `target` is a path of this host.
pub fn capture_below(root: &Path, target: &Path, tool: ToolFacts) -> Environment {
    let probe = Probe::new(root);
    Environment {
        schema: SCHEMA.to_owned(),
        tool,
        system: host::system(&probe),
        cpu: host::cpu(&probe),
        memory: host::memory(&probe),
        cgroup: host::cgroup(&probe),
        load_average: host::load_average(&probe),
        storage: mount::storage(&probe, target),
    }
}
