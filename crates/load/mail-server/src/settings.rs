//! Settings of the two servers.

use std::path::{Path, PathBuf};

use process_home::Account;

use crate::{DovecotSeries, MailServerError, Ports};

/// Maximum length of the runtime directory's path, in bytes. The path of a socket has at most 107
/// bytes (unix(7)), and the longest name of Dovecot's sockets below the directory has 30.
const RUNTIME_MAX: usize = 70;

/// Directories of one mail server.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// Directory for mailboxes, queue and logs, on the measured storage.
    pub(crate) data: PathBuf,
    /// Directory for settings, sockets and passwords, accessible only to the servers' user.
    pub(crate) runtime: PathBuf,
}

impl Paths {
    /// Checks that the paths are valid in the settings of both servers, and that the paths of
    /// sockets are short enough.
    pub(crate) fn new(data: &Path, runtime: &Path) -> Result<Self, MailServerError> {
        for path in [data, runtime] {
            let fault = |why| MailServerError::Path { path: path.to_owned(), why };
            let text = path.to_str().unwrap_or_default();
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
            if !path.is_absolute() || !text.bytes().all(is_plain) {
                return Err(fault(
                    "it is not absolute, or has characters other than a-z, A-Z, 0-9 and / - _ .",
                ));
            }
            if path == runtime && text.len() > RUNTIME_MAX {
                return Err(fault("it is longer than 70 bytes, too long for sockets"));
            }
        }
        Ok(Self { data: data.to_owned(), runtime: runtime.to_owned() })
    }

    pub(crate) fn mailboxes(&self) -> PathBuf {
        self.data.join("mail")
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.data.join("spool")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.data.join("log")
    }
}

/// Random texts of one server, for its greeting and passwords.
#[derive(Debug, Clone)]
pub(crate) struct Secrets {
    /// Word in every greeting, which distinguishes the server from another program on its port.
    pub(crate) token: String,
    /// Password of all mailboxes.
    pub(crate) password: String,
}

/// Returns the settings of Exim. Mail for the one domain goes to Dovecot, and all other mail is
/// refused.
///
/// Source of the settings: The Exim Specification 4.96, chapters 14, 30 and 52.
pub(crate) fn exim(paths: &Paths, account: &Account, ports: Ports, token: &str) -> String {
    let Account { user, group, .. } = account;
    let (spool, logs, runtime) = (paths.spool(), paths.logs(), &paths.runtime);
    let Ports { smtp, lmtp, .. } = ports;
    format!(
        "\
spool_directory = {spool}
log_file_path = {logs}/exim-%s
pid_file_path = {runtime}/exim.pid
exim_user = {user}
exim_group = {group}
deliver_drop_privilege
never_users =
keep_environment =
primary_hostname = tile.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = {smtp}
# A port that is taken ends the server at once instead of after minutes.
daemon_startup_retries = 0
smtp_banner = tile.test {token}
tls_advertise_hosts =
# No names are looked up: nothing leaves this host.
host_lookup =
rfc1413_hosts =
smtp_accept_max = 0
smtp_accept_queue_per_connection = 0
smtp_accept_max_per_connection = 0
acl_smtp_rcpt = recipient
log_selector = +millisec +queue_time
begin acl
recipient:
  accept domains = tile.test
  deny
begin routers
mailbox:
  driver = accept
  domains = tile.test
  transport = lmtp
begin transports
lmtp:
  driver = smtp
  protocol = lmtp
  hosts = 127.0.0.1
  hosts_override
  allow_localhost
  port = {lmtp}
begin retry
* * F,1h,5s
",
        spool = spool.display(),
        logs = logs.display(),
        runtime = runtime.display(),
    )
}

/// Settings whose names differ between the release series of Dovecot.
struct DovecotWords {
    /// Settings that must come first.
    version: &'static str,
    /// Settings of the mailboxes and their password.
    mailboxes: String,
    /// Setting for the number of logins per process, with the value for no limit.
    requests: &'static str,
}

impl DovecotWords {
    /// Returns the settings of a series. Sources: the manuals of 2.3 and 2.4, and the page
    /// "Upgrading Dovecot CE from 2.3 to 2.4".
    fn of(series: DovecotSeries, paths: &Paths, password: &str) -> Self {
        let mail = paths.mailboxes();
        let mail = mail.display();
        match series {
            DovecotSeries::V2_3 => Self {
                version: "",
                mailboxes: format!(
                    "\
disable_plaintext_auth = no
mail_location = mdbox:{mail}/%n
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = home={mail}/%n allow_all_users=yes
}}
"
                ),
                requests: "service_count = 0",
            },
            DovecotSeries::V2_4 => Self {
                version: "dovecot_config_version = 2.4.0\ndovecot_storage_version = 2.4.0\n",
                mailboxes: format!(
                    "\
auth_allow_cleartext = yes
mail_driver = mdbox
mail_path = {mail}/%{{user | username}}
passdb static {{
  password = {password}
}}
userdb static {{
  fields {{
    home = {mail}/%{{user | username}}
  }}
}}
userdb_static_allow_all_users = yes
"
                ),
                requests: "restart_request_count = unlimited",
            },
        }
    }
}

/// Setting of a Dovecot that only fills mailboxes to be copied. If the host loses them, they are
/// created again.
pub(crate) const WITHOUT_SYNC: &str = "mail_fsync = never\n";

/// Returns the settings of Dovecot, with the names of its series.
pub(crate) fn dovecot(
    series: DovecotSeries,
    paths: &Paths,
    account: &Account,
    ports: Ports,
    secrets: &Secrets,
) -> String {
    let Account { user, group, .. } = account;
    let Secrets { token, password } = secrets;
    let DovecotWords { version, mailboxes, requests } = DovecotWords::of(series, paths, password);
    let (logs, runtime) = (paths.logs(), paths.runtime.display());
    format!(
        "\
{version}protocols = imap lmtp
base_dir = {runtime}/d
state_dir = {runtime}/state
log_path = {logs}/dovecot
listen = 127.0.0.1
login_greeting = {token}
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
mail_uid = {user}
mail_gid = {group}
first_valid_uid = 1
ssl = no
auth_mechanisms = plain
{mailboxes}service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  {requests}
  client_limit = 2000
  inet_listener imap {{
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service imap {{
  process_limit = 2000
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp}
  }}
}}
",
        logs = logs.display(),
        imap = ports.imap,
        lmtp = ports.lmtp,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Paths {
        Paths::new(Path::new("/srv/tile-1"), Path::new("/run/t1")).expect("plain paths")
    }

    #[test]
    fn paths_that_settings_or_sockets_cannot_carry_are_refused() {
        let long = format!("/{}", "x".repeat(RUNTIME_MAX));
        for (data, runtime) in [
            ("/srv/a b", "/run/x"),
            ("srv", "/run/x"),
            ("/srv", "/run/x\nexim_user = root"),
            ("/srv/%d", "/run/x"),
            ("/srv/$x", "/run/x"),
            ("/srv", long.as_str()),
        ] {
            let refused = Paths::new(Path::new(data), Path::new(runtime));
            assert!(matches!(refused, Err(MailServerError::Path { .. })), "{data} {runtime}");
        }
        assert!(Paths::new(Path::new(&long), Path::new("/run/x")).is_ok());
    }

    #[test]
    fn settings_name_one_host_one_domain_and_the_user() {
        let account = Account { uid: 7, gid: 8, user: "mail-7".into(), group: "mail-8".into() };
        let ports = Ports { smtp: 2525, imap: 1143, lmtp: 2424 };
        let secrets = Secrets { token: "t0ken".into(), password: "s3cret".into() };
        let exim = exim(&paths(), &account, ports, "t0ken");
        for line in [
            "local_interfaces = 127.0.0.1",
            "daemon_smtp_ports = 2525",
            "exim_user = mail-7",
            "spool_directory = /srv/tile-1/spool",
            "  port = 2424",
            "smtp_banner = tile.test t0ken",
        ] {
            assert!(exim.lines().any(|own| own == line), "{line} in\n{exim}");
        }
        for series in [DovecotSeries::V2_3, DovecotSeries::V2_4] {
            let text = dovecot(series, &paths(), &account, ports, &secrets);
            for line in [
                "listen = 127.0.0.1",
                "default_internal_group = mail-8",
                "ssl = no",
                "login_greeting = t0ken",
                "    port = 1143",
                "    port = 2424",
            ] {
                assert!(text.lines().any(|own| own == line), "{line} in\n{text}");
            }
            assert_eq!(text.matches("s3cret").count(), 1);
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
            let is_new = text.starts_with("dovecot_config_version = 2.4.0\n");
            assert_eq!(is_new, series == DovecotSeries::V2_4, "the version is the first setting");
            assert_eq!(text.contains("mail_location"), series == DovecotSeries::V2_3);
        }
    }
}
