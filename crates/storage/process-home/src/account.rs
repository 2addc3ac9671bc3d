//! Unprivileged user account of the servers, and the commands to run processes as this user.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, CWD, Gid, Uid};

/// User and primary group, each with number and name, because the servers' settings need both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Number of the user.
    pub uid: u32,
    /// Number of the user's primary group.
    pub gid: u32,
    /// Name of the user.
    pub user: String,
    /// Name of the user's primary group.
    pub group: String,
}

/// Reason why servers cannot run as a user.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// A server would run as root.
    #[error("a server must not run as user {user} (number 0)")]
    Root {
        /// Name of the user.
        user: String,
    },
    /// Only root can run a server as another user.
    #[error("a server cannot run as user {user}: this process is not root")]
    NotRoot {
        /// Name of the requested user.
        user: String,
    },
    /// There is no such user or group.
    #[error("no user or group \"{name}\" on this host")]
    NoAccount {
        /// Name or number that was looked up.
        name: String,
    },
    /// The host's users cannot be looked up.
    #[error("cannot run getent: {0}")]
    NoUsers(#[source] io::Error),
}

impl AccountError {
    /// Returns advice on how to solve the problem, if there is any.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Root { .. } => Some("name an unprivileged user, such as nobody"),
            Self::NotRoot { .. } => Some("run as that user, or leave the user out"),
            Self::NoAccount { .. } | Self::NoUsers(_) => None,
        }
    }
}

impl Account {
    /// Looks up the user of this process.
    ///
    /// # Errors
    /// If this process runs as root, or its user has no name.
    pub fn current() -> Result<Self, AccountError> {
        Self::named(&rustix::process::geteuid().as_raw().to_string())
    }

    /// Looks up a user by name or number. Only root can use an account other than its own.
    ///
    /// # Errors
    /// If there is no such user, it is root, or this process cannot become that user.
    pub fn named(user: &str) -> Result<Self, AccountError> {
        let account = Self::look_up(user)?;
        let own = rustix::process::geteuid();
        if account.uid == 0 {
            return Err(AccountError::Root { user: account.user });
        }
        if !own.is_root() && own.as_raw() != account.uid {
            return Err(AccountError::NotRoot { user: account.user });
        }
        Ok(account)
    }

    fn look_up(user: &str) -> Result<Self, AccountError> {
        let unknown = || AccountError::NoAccount { name: user.to_owned() };
        // NAME:x:UID:GID:...
        let entry = entry_of("passwd", user)?;
        let [name, _, uid, gid, ..] = entry.split(':').collect::<Vec<_>>()[..] else {
            return Err(unknown());
        };
        let (uid, gid): (u32, u32) = uid.parse().ok().zip(gid.parse().ok()).ok_or_else(unknown)?;
        let group = entry_of("group", &gid.to_string())?;
        let group = group.split(':').next().unwrap_or_default().to_owned();
        match is_plain(name) && is_plain(&group) {
            true => Ok(Self { uid, gid, user: name.to_owned(), group }),
            false => Err(unknown()),
        }
    }

    /// Makes the user the owner of an open file, if this process runs as another user.
    ///
    /// # Errors
    /// If this process may not do that.
    pub fn own_file(&self, file: &File) -> io::Result<()> {
        let Some((uid, gid)) = self.other() else { return Ok(()) };
        Ok(rustix::fs::fchown(file, uid, gid)?)
    }

    /// Makes the user the owner of a directory, if this process runs as another user. Links are not
    /// followed.
    ///
    /// # Errors
    /// If this process may not do that.
    pub fn own_directory(&self, path: &Path) -> io::Result<()> {
        let Some((uid, gid)) = self.other() else { return Ok(()) };
        Ok(rustix::fs::chownat(CWD, path, uid, gid, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Returns a command that runs `program` as the user, without any way to gain privileges. The
    /// kernel sends `signal` to the program when the thread that started it ends.
    pub fn command(&self, program: impl AsRef<OsStr>, signal: &str) -> Command {
        let mut command = Command::new("setpriv");
        // Without new privileges a setuid bit, which Exim has, does nothing, and the kernel keeps
        // the signal over the start of such a program.
        command.args(["--pdeathsig", signal, "--no-new-privs"]);
        if rustix::process::geteuid().is_root() {
            command.args(["--reuid", &self.uid.to_string(), "--regid", &self.gid.to_string()]);
            command.arg("--clear-groups");
        }
        command.arg("--").arg(program);
        // Settings of the caller must not change what the servers do or say.
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").env("TZ", "UTC");
        command
    }

    /// Returns the user and group; `None` if this process already has them.
    fn other(&self) -> Option<(Option<Uid>, Option<Gid>)> {
        let is_own = rustix::process::geteuid().as_raw() == self.uid;
        let both = (Some(Uid::from_raw(self.uid)), Some(Gid::from_raw(self.gid)));
        (!is_own).then_some(both)
    }
}

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns a command that enters control groups through their files `cgroup.procs`, and then runs
/// `command`.
pub fn entering(groups: &[PathBuf], command: &Command) -> Command {
    // The shell enters before it changes to the program: a process that enters later has charged
    // its first pages to another group.
    let mut shell = Command::new("sh");
    let enter =
        "while [ \"$1\" != -- ]; do echo $$ > \"$1\" || exit; shift; done; shift; exec \"$@\"";
    shell.args(["-c", enter, "sh"]).args(groups).arg("--");
    shell.arg(command.get_program()).args(command.get_args()).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell
}

/// Returns true if a name or number can be used as an argument and in settings.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(is_letter)
}

/// Returns a line of a user database. `getent` asks all sources of the host, such as /etc/passwd.
fn entry_of(database: &str, key: &str) -> Result<String, AccountError> {
    let unknown = || AccountError::NoAccount { name: key.to_owned() };
    if !is_plain(key) {
        return Err(unknown());
    }
    let output = Command::new("getent").args([database, key]).output();
    let output = output.map_err(AccountError::NoUsers)?;
    let text = String::from_utf8(output.stdout).ok();
    let line = text.as_deref().and_then(|text| text.lines().next());
    line.filter(|_| output.status.success()).map(str::to_owned).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_and_unknown_users_are_refused() {
        assert!(matches!(Account::named("root"), Err(AccountError::Root { .. })));
        assert!(matches!(Account::named("0"), Err(AccountError::Root { .. })));
        for user in ["", "nobody; ls", "--help", "no such", "tilemark-none"] {
            let refused = Account::named(user);
            assert!(matches!(refused, Err(AccountError::NoAccount { .. })), "{user}");
        }
    }
}
