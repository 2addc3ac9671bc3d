//! Private directory of a set of virtual machines. It contains their sockets and output, and its
//! name marks their processes, so that all of them are found again.

use process_home::{Guests, HomeKind, Swept};

/// Environment variable in every process of this program's virtual machines. Its value is the name
/// of the directory.
pub const VARIABLE: &str = "TILEMARK_VM";

/// Directories of virtual machines. `NAME.said` contains the output of a process.
pub(crate) static KIND: HomeKind = HomeKind {
    prefix: "tilemark-vm-",
    variable: VARIABLE,
    is_own: |name| name.ends_with(".said"),
    guests: Guests::None,
    release: |_| Ok(()),
};

/// Kills the virtual machines that ended runs left behind, and removes their directories. With
/// `is_real` false it only lists them.
pub fn sweep(is_real: bool) -> Vec<Swept> {
    process_home::sweep(&KIND, is_real)
}

/// Returns the processes whose environment contains a directory's name.
pub fn processes(name: &str) -> Vec<u32> {
    process_home::carriers(VARIABLE, name)
}
