//! Directories of tests.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tilemark_applications::{ApplicationError, Applications, Kind};

/// Directory for servers of another user; `None`, with the reason, where the test cannot run.
pub fn place_for(kind: Kind) -> Option<tempfile::TempDir> {
    if let Err(error) = kind.check() {
        eprintln!("skipped: {error}");
        return None;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can limit the memory of servers");
        return None;
    }
    // A path that is too long for a socket's address.
    let directory = tempfile::Builder::new().prefix(&"long".repeat(20)).tempdir();
    let directory = directory.expect("a directory");
    let mode = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(directory.path(), mode).expect("a mode");
    std::fs::create_dir(directory.path().join("apps")).expect("a directory");
    Some(directory)
}

/// Prepares for applications of a run that no other test has.
pub fn start(directory: &Path, test: &str) -> Result<Applications, ApplicationError> {
    Applications::new(directory, &format!("{test}-{}", std::process::id()), &program())
}

/// Program that serves a web site: the example of this crate, which cargo builds with the tests.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("this test");
    let target = own.ancestors().nth(2).expect("the directory of its profile");
    target.join("examples/serve_web")
}
