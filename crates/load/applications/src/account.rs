//! Unprivileged user of the servers. PostgreSQL refuses to run as root, and no server of a
//! measurement needs more than its own directory.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::ApplicationError;

/// User of the servers.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    /// Set if this process is root: the user to change to.
    other: Option<Other>,
}

#[derive(Debug, Clone)]
struct Other {
    uid: u32,
    gid: u32,
}

/// User for servers of a root that was not reached by sudo.
const NOBODY: &str = "nobody";

impl Account {
    /// Chooses the user: this process's own, or, as root, the one who called sudo, or `nobody`.
    /// Gives the directory to that user and checks that it can be entered.
    pub(crate) fn of_servers(directory: &Path) -> Result<Self, ApplicationError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self { other: None });
        }
        let name = std::env::var("SUDO_USER").ok().filter(|name| name != "root");
        let name = name.unwrap_or_else(|| NOBODY.to_owned());
        let (Some(uid), Some(gid)) = (id(&name, "-u"), id(&name, "-g")) else {
            return Err(ApplicationError::NoUser { user: name });
        };
        let account = Self { other: Some(Other { uid, gid }) };
        let is_given = account.give(directory).is_ok();
        let mut look = account.command("test", "KILL");
        look.arg("-w").arg(directory).arg("-a").arg("-x").arg(directory);
        if is_given && look.stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
            return Ok(account);
        }
        Err(ApplicationError::NoEntry { user: name, path: directory.to_owned() })
    }

    /// Makes the user the owner of a file or directory.
    pub(crate) fn give(&self, path: &Path) -> std::io::Result<()> {
        self.other.as_ref().map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid)))
    }

    /// Command that runs `program` as the user, and that the kernel sends `signal` when the thread
    /// that starts it ends.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>, signal: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", signal, "--no-new-privs"]);
        if let Some(Other { uid, gid }) = &self.other {
            command.args(["--reuid", &uid.to_string(), "--regid", &gid.to_string()]);
            command.arg("--clear-groups");
        }
        command.arg("--").arg(program);
        // Settings of the caller must not change what the servers do or say.
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").env("TZ", "UTC");
        command
    }
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

fn id(user: &str, which: &str) -> Option<u32> {
    let output = Command::new("id").args([which, "--", user]).output().ok()?;
    let number = String::from_utf8(output.stdout).ok()?.trim().parse().ok()?;
    // A user with number 0 is root under another name.
    (number != 0 && output.status.success()).then_some(number)
}
