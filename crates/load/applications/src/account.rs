//! User account of the servers. PostgreSQL refuses to run as root, and a measured server needs no
//! access beyond its own directory.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use process_home::Account;

use crate::error::ApplicationError;

/// User for the servers if this process runs as root without sudo.
const NOBODY: &str = "nobody";

/// Chooses the servers' user: this process's own user, or, as root, the caller of sudo or else
/// `nobody`. Lets that user enter the directory, and checks that it can.
///
/// The directory stays owned by root. If the user owned it, the user could replace files that this
/// process writes by links.
pub(crate) fn account_of_servers(directory: &Path) -> Result<Account, ApplicationError> {
    let no_user = |source| ApplicationError::NoUser { source };
    if !rustix::process::geteuid().is_root() {
        return Account::current().map_err(no_user);
    }
    let caller = std::env::var("SUDO_USER").ok().filter(|name| name != "root");
    let name = caller.unwrap_or_else(|| NOBODY.to_owned());
    let account = Account::named(&name).map_err(no_user)?;
    if let_pass(directory).is_ok() && may_pass(&account, directory) {
        return Ok(account);
    }
    Err(ApplicationError::NoEntry { user: name, path: directory.to_owned() })
}

/// Returns true if the user may enter the directory, or execute the program, at `path`.
pub(crate) fn may_pass(account: &Account, path: &Path) -> bool {
    let mut look = account.command("test", "KILL");
    look.arg("-x").arg(path);
    look.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Lets all users enter a directory. They can neither list nor write it.
pub(crate) fn let_pass(directory: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(directory, Permissions::from_mode(0o711))
}
