//! Choice of the servers' user. PostgreSQL refuses to run as root, and no server of a measurement
//! needs more than its own directory.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use mail_server::Account;

use crate::error::ApplicationError;

/// User for servers of a root that was not reached by sudo.
const NOBODY: &str = "nobody";

/// Chooses the user: this process's own, or, as root, the one who called sudo, or `nobody`. Lets that
/// user pass the directory, and checks that it can.
///
/// The directory stays root's: in a directory of its own the user could put links in the place of
/// files that this process writes.
pub(crate) fn account_of_servers(directory: &Path) -> Result<Account, ApplicationError> {
    let no_user = |source| ApplicationError::NoUser { source: Box::new(source) };
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

/// True if the user may enter a directory, or run a program.
pub(crate) fn may_pass(account: &Account, path: &Path) -> bool {
    let mut look = account.command("test", "KILL");
    look.arg("-x").arg(path);
    look.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Lets all users pass a directory. They can list and write nothing in it.
pub(crate) fn let_pass(directory: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(directory, Permissions::from_mode(0o711))
}
