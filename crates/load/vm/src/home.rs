//! Private directory of a set of virtual machines: their sockets and output, and the mark by which
//! everything of them is found again.

use process_home::{Guests, HomeKind, Swept};

/// Environment variable with the name of the directory, in every process of ours.
pub const VARIABLE: &str = "TILEMARK_VM";

/// Directories of virtual machines; `NAME.said` has the output of a process.
pub(crate) static KIND: HomeKind = HomeKind {
    prefix: "tilemark-vm-",
    variable: VARIABLE,
    is_own: |name| name.ends_with(".said"),
    guests: Guests::None,
};

/// Ends the virtual machines of runs that ended without doing so, and removes their directories;
/// with `is_real` false it only lists them.
pub fn sweep(is_real: bool) -> Vec<Swept> {
    process_home::sweep(&KIND, is_real)
}

/// Processes that carry a directory's name.
pub fn processes(name: &str) -> Vec<u32> {
    process_home::carriers(VARIABLE, name)
}
