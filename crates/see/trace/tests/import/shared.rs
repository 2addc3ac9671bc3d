//! Real traces, which are not in the repository. Tests of several crates find them with this file.

use std::path::PathBuf;

/// A file of `$TILEMARK_SHARED/traces`, or of `../shared/traces` beside the workspace. Where it is
/// not there, prints why `test` skips.
pub fn file(name: &str, test: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("TILEMARK_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let path = shared.join("traces").join(name);
    if path.is_file() {
        return Some(path);
    }
    eprintln!("{test}: skipped, no {} (set TILEMARK_SHARED)", path.display());
    None
}
