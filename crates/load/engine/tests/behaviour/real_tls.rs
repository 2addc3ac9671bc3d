//! Real servers with TLS. Skipped, with the reason, where a server is absent or the test does not
//! run as root: it starts each server as another user, because some refuse to run as root.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fixtures::tls::{Authority, Pair};
use http_client::Secret;
use run_store::slice::CallRow;
use rustix::process::{Pid, Signal, kill_process};
use state_machine::{CallError, RequestText};
use tempfile::TempDir;
use tilemark_engine::Outcome;
use tilemark_engine::client::{Address, Login, Service, ServiceError};

use crate::calls::{all_fail, callers, finish, options};
use crate::encrypted::trusting;

/// Maximum time until a server is ready, with room for a busy host.
const READY_MAX: Duration = Duration::from_secs(60);
const PASSWORD: &str = "geheim-4711";

/// User of the servers, and its group.
const USER: &str = "nobody";

/// Private directory of a server, with a certificate for 127.0.0.1 and its key.
struct Place {
    directory: TempDir,
    authority: Authority,
}

impl Place {
    /// Creates a directory if this program is installed and the test runs as root.
    fn with(program: &Path) -> Option<Self> {
        if !rustix::process::geteuid().is_root() || !program.exists() {
            eprintln!("skipped: {} is absent, or this is not root", program.display());
            return None;
        }
        let (directory, authority) =
            (TempDir::new_in("/tmp").expect("a directory"), Authority::new());
        let Pair { certificate, key } = authority.sign("127.0.0.1", 2100);
        let place = Self { directory, authority };
        place.write("cert.pem", &certificate);
        place.write("key.pem", &key);
        let done = Command::new("sh")
            .args(["-c", r#"chmod 600 "$0/key.pem" && chown -R "$1:$(id -gn "$1")" "$0""#])
            .arg(place.path(""))
            .arg(USER)
            .status();
        assert!(done.expect("sh").success());
        Some(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("written");
    }

    /// Command of a program as the servers' user, which ends with the test.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("sh");
        let own = r#"exec setpriv --pdeathsig TERM --reuid "$0" --regid "$(id -gn "$0")" \
            --clear-groups --no-new-privs -- "$@""#;
        command.args(["-c", own, USER]).arg(program).current_dir(self.directory.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(self.path("err")).expect("a file"));
        command
    }

    fn login(&self, password: &str) -> Login {
        let password = Some(Arc::new(Secret::new(password.to_owned())));
        Login { password, ..trusting(&self.authority) }
    }
}

/// Running server, which is stopped at the end of its test.
struct Server(Child);

impl Server {
    /// Starts a server and waits until something listens on a port.
    fn start(place: &Place, mut command: Command, port: u16) -> Self {
        let mut own = Self(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = own.0.try_wait().expect("a child");
            let said = || fs::read_to_string(place.path("err")).unwrap_or_default();
            assert!(ended.is_none() && begun.elapsed() < READY_MAX, "{ended:?}: {}", said());
            std::thread::sleep(Duration::from_millis(10));
        }
        own
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn reach(text: &str, protocol: &str, login: Login) -> Result<Arc<Service>, ServiceError> {
    let address = Address::parse(text, protocol).expect("an address");
    Service::reach(address, login, READY_MAX).map(Arc::new)
}

fn calls(text: &str, protocol: &str, login: Login, ask: &str) -> (CallRow, Outcome) {
    let mut instance = callers(&reach(text, protocol, login).expect(text), 2, 10);
    instance.asks = vec![Some(RequestText::parse(ask).expect("a text"))];
    finish(instance, options(), 10)
}

fn all_succeed(text: &str, protocol: &str, login: Login, ask: &str) {
    let (row, outcome) = calls(text, protocol, login, ask);
    assert_eq!((row.service.count(), row.errors), (10, [0; 5]), "{text}: {:?}", outcome.warnings);
}

/// Calls that a server refuses with these words, none of which is the password.
fn all_refused(text: &str, protocol: &str, login: Login, ask: &str, words: &str) {
    let (row, outcome) = calls(text, protocol, login, ask);
    all_fail(&row, CallError::Status);
    let told = format!("{:?}", outcome.warnings);
    assert!(told.contains(words) && told.contains(text), "{told}");
    assert!(!told.contains(PASSWORD), "{told}");
}

/// Checks that an authority that did not sign the server's certificate refuses it.
fn is_unproven(text: &str, protocol: &str) {
    let error = reach(text, protocol, trusting(&Authority::new())).expect_err("a stranger");
    let source = std::error::Error::source(&error).expect("a reason").to_string();
    assert!(source.contains("no trusted authority signed its certificate"), "{text}: {source}");
}

fn postgres(name: &str) -> PathBuf {
    let all = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = all.map(|version| version.path().join("bin")).max();
    newest.unwrap_or_default().join(name)
}

#[test]
fn postgres_is_called_over_tls_and_refused_without() {
    let Some(place) = Place::with(&postgres("postgres")) else { return };
    let (data, port) = (place.path("data"), free_port());
    let mut init = place.command(&postgres("initdb"));
    init.arg("-D").arg(&data).args([
        "-U",
        "owner",
        "-N",
        "--auth=trust",
        "--no-locale",
        "-E",
        "UTF8",
    ]);
    assert!(init.status().expect("initdb").success());
    fs::write(
        data.join("pg_hba.conf"),
        "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
    )
    .expect("written");
    let mut server = place.command(&postgres("postgres"));
    server.arg("-D").arg(&data).arg("-k").arg(place.path(""));
    server.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-c", "ssl=on"]);
    for (key, file) in [("ssl_cert_file", "cert.pem"), ("ssl_key_file", "key.pem")] {
        server.arg("-c").arg(format!("{key}={}", place.path(file).display()));
    }
    let _server = Server::start(&place, server, port);
    let role = format!("create role shop login password '{PASSWORD}'");
    let mut psql = place.command(&postgres("psql"));
    psql.arg("-h").arg(place.path("")).args(["-p", &port.to_string()]);
    psql.args(["-U", "owner", "-d", "postgres", "-c", &role]);
    let begun = Instant::now();
    while !psql.status().expect("psql").success() {
        assert!(begun.elapsed() < READY_MAX, "the server does not start");
    }

    let clear = format!("postgres://shop@127.0.0.1:{port}/postgres");
    let encrypted = format!("{clear}?sslmode=verify-full");
    let ask = "select ssl::int from pg_stat_ssl where pid = pg_backend_pid() and ssl";
    all_succeed(&encrypted, "postgres", place.login(PASSWORD), ask);
    all_refused(&encrypted, "postgres", place.login("wrong"), ask, "28P01");
    all_refused(&clear, "postgres", place.login(PASSWORD), ask, "28000");
    is_unproven(&encrypted, "postgres");
}

#[test]
fn exim_takes_mail_over_tls_after_a_login() {
    let exim = Path::new("/usr/sbin/exim4");
    let Some(place) = Place::with(exim) else { return };
    let (clear, port) = (free_port(), free_port());
    let group = Command::new("id").args(["-gn", USER]).output().expect("id").stdout;
    let group = String::from_utf8(group).expect("a name");
    let home = place.path("").display().to_string();
    place.write(
        "conf",
        &format!(
            "\
spool_directory = {home}spool
log_file_path = {home}%slog
pid_file_path = {home}pid
exim_user = {USER}
exim_group = {group}
deliver_drop_privilege
never_users =
keep_environment =
primary_hostname = tile.test
local_interfaces = 127.0.0.1
daemon_smtp_ports = {clear} : {port}
daemon_startup_retries = 0
host_lookup =
rfc1413_hosts =
tls_advertise_hosts = *
tls_on_connect_ports = {port}
tls_certificate = {home}cert.pem
tls_privatekey = {home}key.pem
acl_smtp_rcpt = recipient
begin acl
recipient:
  accept authenticated = *
         encrypted = *
         domains = tile.test
  deny
begin routers
none:
  driver = redirect
  data = :blackhole:
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = ${{if and{{{{eq{{$auth2}}{{me}}}}{{eq{{$auth3}}{{{PASSWORD}}}}}}}}}
  server_advertise_condition = ${{if def:tls_in_cipher}}
"
        ),
    );
    let mut server = place.command(exim);
    server.arg("-C").arg(place.path("conf")).arg("-bdf");
    let _server = Server::start(&place, server, port);
    for address in
        [format!("smtp+starttls://me@127.0.0.1:{clear}/"), format!("smtps://me@127.0.0.1:{port}/")]
    {
        all_succeed(&address, "smtp", place.login(PASSWORD), "u1 u2,u3 3900");
        all_refused(&address, "smtp", place.login("wrong"), "u1 u2 100", "reply 535");
        is_unproven(&address, "smtp");
    }
    // Without a login the server refuses the recipient.
    let anybody = format!("smtp+starttls://127.0.0.1:{clear}/");
    all_refused(&anybody, "smtp", trusting(&place.authority), "u1 u2 100", "reply 550");
}

#[test]
fn dovecot_is_read_over_tls() {
    let dovecot = Path::new("/usr/sbin/dovecot");
    let Some(place) = Place::with(dovecot) else { return };
    let version = Command::new(dovecot).arg("--version").output().expect("dovecot").stdout;
    if !version.starts_with(b"2.3") {
        return eprintln!("skipped: the settings are those of Dovecot 2.3");
    }
    let (clear, port) = (free_port(), free_port());
    let group = Command::new("id").args(["-gn", USER]).output().expect("id").stdout;
    let group = String::from_utf8(group).expect("a name");
    let home = place.path("").display().to_string();
    place.write(
        "conf",
        &format!(
            "\
protocols = imap
base_dir = {home}d
state_dir = {home}state
log_path = {home}log
listen = 127.0.0.1
default_internal_user = {USER}
default_internal_group = {group}
default_login_user = {USER}
mail_uid = {USER}
mail_gid = {group}
first_valid_uid = 1
ssl = required
ssl_cert = <{home}cert.pem
ssl_key = <{home}key.pem
auth_mechanisms = plain
mail_location = mdbox:{home}mail/%n
passdb {{
  driver = static
  args = password={PASSWORD}
}}
userdb {{
  driver = static
  args = home={home}mail/%n allow_all_users=yes
}}
auth_failure_delay = 0
service anvil {{
  chroot =
  # Wrong passwords would be answered ever later.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {clear}
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
"
        ),
    );
    let mut server = place.command(dovecot);
    server.arg("-F").arg("-c").arg(place.path("conf"));
    let _server = Server::start(&place, server, port);
    for address in
        [format!("imap+starttls://127.0.0.1:{clear}/"), format!("imaps://127.0.0.1:{port}/")]
    {
        all_succeed(&address, "imap", place.login(PASSWORD), "u1 read=1");
        all_refused(&address, "imap", place.login("wrong"), "u1 read=1", "LOGIN failed");
        is_unproven(&address, "imap");
    }
    // The server demands TLS, and no password is sent without.
    let plain = format!("imap://127.0.0.1:{clear}/");
    all_refused(&plain, "imap", Login::default(), "u1 read=1", "LOGIN failed");
}
