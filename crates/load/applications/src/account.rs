//! Choice of the servers' user. PostgreSQL refuses to run as root, and no server of a measurement
//! needs more than its own directory.

use std::path::Path;
use std::process::Stdio;

use mail_server::Account;

use crate::error::ApplicationError;

/// User for servers of a root that was not reached by sudo.
const NOBODY: &str = "nobody";

/// Chooses the user: this process's own, or, as root, the one who called sudo, or `nobody`. Gives
/// the directory to that user and checks that it can be entered.
pub(crate) fn account_of_servers(directory: &Path) -> Result<Account, ApplicationError> {
    let no_user = |source| ApplicationError::NoUser { source: Box::new(source) };
    if !rustix::process::geteuid().is_root() {
        return Account::current().map_err(no_user);
    }
    let caller = std::env::var("SUDO_USER").ok().filter(|name| name != "root");
    let name = caller.unwrap_or_else(|| NOBODY.to_owned());
    let account = Account::named(&name).map_err(no_user)?;
    let is_given = account.own_directory(directory).is_ok();
    let mut look = account.command("test", "KILL");
    look.arg("-w").arg(directory).arg("-a").arg("-x").arg(directory);
    if is_given && look.stdin(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return Ok(account);
    }
    Err(ApplicationError::NoEntry { user: name, path: directory.to_owned() })
}
