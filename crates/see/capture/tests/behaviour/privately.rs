//! Runs a test where tracefs is mounted: here, or in a separate mount namespace.

use std::path::Path;
use std::process::Command;

/// Set in the process that was started in the namespace.
const INSIDE: &str = "TILEMARK_TEST_HAS_TRACEFS";
const MOUNT: &str = "mount -t tracefs tracefs /sys/kernel/tracing && exec \"$0\" \"$@\"";

/// True if the test runs here; otherwise it ran in the namespace, or cannot run and prints the
/// reason.
pub fn has_tracefs(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: capturing needs root");
        return false;
    }
    if Path::new("/sys/kernel/tracing/instances").exists() {
        return true;
    }
    if std::env::var_os(INSIDE).is_some() || !Path::new("/sys/kernel/tracing").exists() {
        eprintln!("skipped: no tracefs");
        return false;
    }
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", MOUNT]).arg(program);
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    match command.output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let was_mounted = !text.contains("mount:") && !text.contains("unshare:");
            assert!(output.status.success() || !was_mounted, "{text}");
            eprintln!("{text}");
        }
        Err(error) => eprintln!("skipped: unshare: {error}"),
    }
    false
}
