//! Path of this program, which starts itself for work that needs a process of its own.

use std::path::PathBuf;

/// Returns the executable file of this program.
pub fn path() -> PathBuf {
    // Where /proc is missing, the search path may find it.
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("tilemark"))
}
