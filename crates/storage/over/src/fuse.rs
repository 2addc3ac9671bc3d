//! QEMU's storage daemon, used as a server, and as a user-space initiator that shows remote disks
//! as files.
//!
//! The daemon and its block modules must come from the same build. Otherwise the daemon does not
//! know the drivers, and reports that at once.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use process_home::{Home, Phase, Process};
use serde_json::{Value, json};

use crate::error::OverError;
use crate::process::{self, BY_TERM, Line, READY_MAX};
use crate::program::{Least, Needed, Program};

const NAME: &str = "qemu-storage-daemon";
/// Oldest version that works: 6.0 is the first with the FUSE export and `--pidfile` (QEMU's change
/// log, 5.2 to 6.0).
const LEAST: Least = Least { version: "6.0", why: "it cannot show disks as files" };

/// Finds the daemon.
pub(crate) fn find(protocol: &'static str) -> Result<Program, OverError> {
    Needed { name: NAME, package: "qemu-utils" }.find(protocol)?.ask_version("--version", &LEAST)
}

/// Refuses a daemon that cannot show disks of this driver as files. `settings` are complete but
/// name no existing disk, so the daemon loads its module and then ends.
pub(crate) fn check_driver(daemon: &Program, settings: &Value) -> Result<(), OverError> {
    // The answer to an export without a node names the missing node, or the unknown type.
    let said = daemon.answer(&["--export", "type=fuse,id=x"])?;
    if said.contains("does not accept value") {
        let (part, package) = ("FUSE export", "qemu-utils");
        return Err(OverError::Incapable { program: NAME, part, package, said });
    }
    let said = daemon.answer(&["--blockdev", &settings.to_string()])?;
    if said.contains("Unknown driver") || said.contains("does not accept value") {
        let (part, package) = ("block driver for the protocol", "qemu-block-extra");
        let said = said.lines().next().unwrap_or_default().to_owned();
        return Err(OverError::Incapable { program: NAME, part, package, said });
    }
    Ok(())
}

/// Starts the daemon as an initiator of these block nodes. Returns the daemon, and a file for each
/// node.
pub(crate) fn attach(
    home: &Home,
    setpriv: &Program,
    daemon: &Program,
    enter: Vec<String>,
    nodes: &[Value],
) -> Result<(Process, Vec<PathBuf>), OverError> {
    let mut arguments = Vec::new();
    let mut files = Vec::new();
    for (nth, node) in nodes.iter().enumerate() {
        let path = home.path().join(format!("disk-{nth}"));
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(|source| OverError::Io {
            attempt: "make",
            object: path.display().to_string(),
            source,
        })?;
        let export = json!({
            "type": "fuse", "id": format!("e{nth}"), "node-name": node["node-name"],
            "mountpoint": path, "writable": true, "allow-other": "off",
        });
        arguments.extend(["--blockdev".to_owned(), node.to_string()]);
        arguments.extend(["--export".to_owned(), export.to_string()]);
        files.push(path);
    }
    let daemon = start(home, setpriv, daemon, enter, (arguments, Phase::Attach))?;
    Ok((daemon, files))
}

/// Starts the daemon and waits until all of its exports exist: it writes the file with its process
/// id last.
pub(crate) fn start(
    home: &Home,
    setpriv: &Program,
    daemon: &Program,
    enter: Vec<String>,
    (mut arguments, phase): (Vec<String>, Phase),
) -> Result<Process, OverError> {
    let ready = home.path().join("qsd.pid");
    arguments.extend(["--pidfile".to_owned(), ready.display().to_string()]);
    let line = Line { program: daemon, enter, arguments, endings: BY_TERM, variables: Vec::new() };
    let process = process::start(home, setpriv, line)?;
    process.wait_until(phase, READY_MAX, || File::open(&ready).is_ok())?;
    Ok(process)
}
