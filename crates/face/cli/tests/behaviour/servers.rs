//! Runs that make real servers for their tiles. Skipped, with the reason, where PostgreSQL, Exim,
//! Dovecot or the right to limit memory is absent.

use std::io::{BufRead as _, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fixtures::tls::{self, Authority};
use run_store::run::{Run, Verdict};
use run_store::rundir::StoredRun;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{DEADLINE, Running, Workspace, err, homes_of, out};

const SHOP: [&str; 4] = ["--tile", "shop-real", "--footprint", "0.0001"];
const WEB: [&str; 4] = ["--tile", "web-real", "--footprint", "0.0001"];
const MAIL: [&str; 4] = ["--tile", "mail-real", "--footprint", "0.00001"];

fn place() -> Option<Workspace> {
    place_for(SHOP)
}

/// Place that servers of another user can enter.
fn place_for(tile: [&str; 4]) -> Option<Workspace> {
    let place = Workspace::usable()?;
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(place.path("."), open).expect("a mode");
    let tried = place.run_command(&[&tile[..], &["--tiles", "1"]].concat()).output();
    let tried = tried.expect("the program starts");
    let text = err(&tried);
    if text.contains("was not found")
        || text.contains("no program ")
        || text.contains("run as root")
        || text.contains("cannot enter")
        || text.contains("cannot run")
    {
        eprintln!("skipped: {text}");
        return None;
    }
    Some(place)
}

/// Processes with this text in their arguments.
fn processes(text: &str) -> usize {
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.windows(text.len()).any(|part| part == text.as_bytes())).count()
}

#[test]
fn shop_on_postgres_is_measured_and_leaves_nothing() {
    let Some(place) = place() else { return };
    let words = [&SHOP[..], &["--tiles", "2", "--duration", "3s", "--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("the program starts");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    let step = run.steps.first().unwrap_or_else(|| panic!("{}", err(&output)));
    assert_eq!(step.tiles, 2);
    let kinds: Vec<&str> = step.calls.iter().map(|calls| calls.kind.as_str()).collect();
    assert!(kinds.contains(&"place") && kinds.contains(&"login"), "{kinds:?}");
    for calls in &step.calls {
        assert!(calls.errors.is_empty(), "{calls:?}");
    }
    assert!(step.checks.iter().any(|check| check.id == "littles-law"), "{:?}", step.checks);
    assert!(
        step.warnings.iter().any(|warning| warning.id == "real-servers"),
        "the servers are not named: {:?}",
        step.warnings
    );
    let ds = place.path("ds").display().to_string();
    assert_eq!(processes(&ds), 0, "a server still runs");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn killed_run_takes_its_servers_with_it_and_is_cleaned_up() {
    let Some(place) = place() else { return };
    let mut run = place.start(&[&SHOP[..], &["--tiles", "1"]].concat());
    run.wait_for("measuring");
    let ds = place.path("ds").display().to_string();
    assert!(processes(&ds) > 0, "no server runs");
    run.signal(Signal::KILL);
    run.end();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while processes(&ds) > 0 {
        assert!(std::time::Instant::now() < until, "a server outlived its run");
        std::thread::yield_now();
    }
    assert!(!place.names("ds").is_empty());
    let cleaned = place.output(&["cleanup", "ds"]);
    assert!(cleaned.status.success(), "{}{}", out(&cleaned), err(&cleaned));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn killed_server_fails_the_run_with_its_name() {
    let Some(place) = place() else { return };
    let mut run = place.start(&[&SHOP[..], &["--tiles", "1"]].concat());
    run.wait_for("measuring");
    let state = "applications/tile-1-shop-real/data/postmaster.pid";
    let state = place.path("ds").join(&place.names("ds")[0]).join(state);
    let state = std::fs::read_to_string(state).expect("a server's state");
    let pid: i32 = state.lines().next().and_then(|line| line.parse().ok()).expect("a number");
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, Signal::KILL).expect("it runs");
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("tile-1-shop-real: postgres ended under load (signal: 9"),
        "{}",
        ended.stderr
    );
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

/// PostgreSQL server of a user, with a role whose password has expired.
struct TheirServer {
    server: std::process::Child,
    port: u16,
    directory: tempfile::TempDir,
}

impl TheirServer {
    fn start(secret: &str) -> Self {
        let directory = tempfile::tempdir_in("/tmp").expect("a directory");
        let (home, data) = (directory.path(), directory.path().join("data"));
        assert!(Command::new("chown").arg("nobody").arg(home).status().expect("chown").success());
        let init = Self::program("initdb")
            .arg("-D")
            .arg(&data)
            .args(["-U", "owner", "-N"])
            .args(["--auth-local=trust", "--auth-host=scram-sha-256"])
            .output();
        assert!(init.expect("initdb").status.success());
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr());
        let port = free.expect("a port").port();
        let mut server = Self::program("postgres");
        server.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"]);
        server.arg(home).stderr(std::process::Stdio::null());
        let server = server.spawn().expect("postgres");
        let theirs = Self { server, port, directory };
        let role = format!("create role late login password '{secret}' valid until '2020-01-01'");
        let begun = std::time::Instant::now();
        while !theirs.has_done(&role) {
            assert!(begun.elapsed() < DEADLINE, "the server does not start");
            std::thread::yield_now();
        }
        theirs
    }

    /// Command of a program of the newest installed version, as an unprivileged user.
    fn program(name: &str) -> Command {
        let places = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let place = places.map(|place| place.path().join("bin")).max().unwrap_or_default();
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "QUIT", "--reuid", "nobody", "--clear-groups", "--"]);
        command.arg(place.join(name)).current_dir("/");
        command
    }

    fn has_done(&self, statement: &str) -> bool {
        let mut psql = Self::program("psql");
        psql.arg("-h").arg(self.directory.path()).args(["-p", &self.port.to_string()]);
        psql.args(["-U", "owner", "-d", "postgres", "-c", statement]);
        psql.output().is_ok_and(|own| own.status.success())
    }
}

impl Drop for TheirServer {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.server), Signal::QUIT);
        let _ = self.server.wait();
    }
}

/// Contents of all files below a directory.
fn contents(directory: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(directory).expect("listed").flatten();
    let of = |path: PathBuf| {
        if path.is_dir() { contents(&path) } else { std::fs::read(&path).expect("read") }
    };
    entries.flat_map(|entry| of(entry.path())).collect()
}

#[test]
fn expired_password_is_named_and_is_in_no_result() {
    let Some(place) = place() else { return };
    let secret = "geheim-4711";
    let theirs = TheirServer::start(secret);
    place.write("password", secret);
    let endpoint = format!("shop=postgres://late@127.0.0.1:{}/postgres", theirs.port);
    let file = format!("shop={}", place.path("password").display());
    let more = ["--endpoint", &endpoint, "--credentials", &file, "--tiles", "1"];
    let words = [&SHOP[..], &more, &["--duration", "2s", "--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("the program starts");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    // Beside other work the steps are inconclusive; otherwise they fail. None passes.
    assert_eq!(run.answer.tiles_held.unwrap_or(0), 0, "{}", err(&output));
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    let told = format!("{:?}", run.steps[0].warnings);
    assert!(told.contains("28P01") && told.contains("postgres://late@127.0.0.1"), "{told}");
    let all = [output.stdout, output.stderr, contents(&place.path("runs"))].concat();
    assert!(!all.windows(secret.len()).any(|part| part == secret.as_bytes()), "a secret");
}

/// Answers each line of a client with a refusal of its login.
fn refuse_logins(mut stream: fixtures::tls::Stream, greeting: &str, answer: fn(&str) -> String) {
    let mut text = greeting.to_owned();
    while stream.get_mut().write_all(text.as_bytes()).is_ok() && stream.get_mut().flush().is_ok() {
        let mut line = String::new();
        if !stream.read_line(&mut line).is_ok_and(|count| count > 0) {
            return;
        }
        text = answer(&line);
    }
}

#[test]
fn wrong_mail_passwords_are_named_and_in_no_result() {
    let Some(place) = Workspace::usable() else { return };
    let secret = "geheim-4711";
    let authority = Authority::new();
    let config = || authority.server("localhost", 2100, tls::ALL_VERSIONS);
    let smtp = tls::Server::start(config(), |stream| {
        refuse_logins(stream, "220 mx\r\n", |line| {
            let code = if line.starts_with("EHLO") { 250 } else { 535 };
            format!("{code} {line}")
        });
    });
    let imap = tls::Server::start(config(), |stream| {
        refuse_logins(stream, "* OK hello\r\n", |line| {
            let tag = line.split(' ').next().unwrap_or_default();
            format!("{tag} NO {line}")
        });
    });
    place.write("password", secret);
    place.write("ca.pem", &authority.pem());
    let given = |name: &str, file: &str| format!("{name}={}", place.path(file).display());
    let mut words: Vec<String> = MAIL.iter().map(|word| (*word).to_owned()).collect();
    for (name, address) in [
        ("mail-in", format!("smtps://me@localhost:{}", smtp.port)),
        ("mailboxes", format!("imaps://localhost:{}", imap.port)),
    ] {
        words.extend(["--endpoint".to_owned(), format!("{name}={address}")]);
        words.extend(["--ca".to_owned(), given(name, "ca.pem")]);
        words.extend(["--credentials".to_owned(), given(name, "password")]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let more = ["--tiles", "1", "--duration", "2s", "--format", "json"];
    let output = place.run_command(&[&words[..], &more].concat()).output();
    let output = output.expect("the program starts");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    // The answers repeat what the client said, as some servers do.
    let told = format!("{:?}", run.steps[0].warnings);
    assert!(told.contains("reply 535") || told.contains("LOGIN failed"), "{told}");
    for address in ["mail-in (smtps://me@localhost:", "mailboxes (imaps://localhost:"] {
        assert!(told.contains(&format!("the service of {address}")), "{told}");
    }
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    let all = [output.stdout, output.stderr, contents(&place.path("runs"))].concat();
    // "\0me\0geheim-4711" in base64 is what AUTH sends.
    for text in [secret, "AG1lAGdlaGVpbS00NzEx"] {
        assert!(!all.windows(text.len()).any(|part| part == text.as_bytes()), "a secret");
    }
}

/// Small file system of its own at a place's datastore, unmounted at the end of a test.
struct Mounted(PathBuf);

impl Mounted {
    /// Mounts a new file system of 16 GiB, without space for root alone. A run leaves 5 GiB free.
    fn over(place: &Workspace) -> Option<Self> {
        let (image, point) = (place.path("image"), place.path("ds"));
        let file = std::fs::File::create(&image).expect("a file");
        file.set_len(16 << 30).expect("its size");
        let done = |command: &mut Command| command.output().is_ok_and(|own| own.status.success());
        let made = done(Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&image))
            && done(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&point));
        if !made {
            eprintln!("skipped: no file system can be made and mounted");
            return None;
        }
        std::fs::remove_dir(point.join("lost+found")).expect("removed");
        std::fs::set_permissions(&point, std::fs::Permissions::from_mode(0o711)).expect("a mode");
        Some(Self(point))
    }

    /// Fills the file system with a file that is not of the run.
    fn fill(&self) {
        let found = rustix::fs::statvfs(&self.0).expect("its space");
        let most = found.f_bavail * found.f_frsize - (4 << 20);
        let mut file = std::fs::File::create(self.0.join("foreign")).expect("a file");
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, most).expect("space");
        file.seek(std::io::SeekFrom::End(0)).expect("its end");
        while file.write(&[1; 64 << 10]).is_ok_and(|written| written > 0) {}
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Runs a tile whose datastore becomes full during the measurement. No step may pass.
fn fills_up(tile: [&str; 4], words: &[&str]) {
    let Some(place) = place_for(tile) else { return };
    let Some(mounted) = Mounted::over(&place) else { return };
    let more = ["--tiles", "1", "--duration", "20s", "--live", "line"];
    let mut run = Running::new(place.run_command(&[&tile[..], &more].concat()));
    let id = run.id();
    run.wait_for("measuring");
    mounted.fill();
    let ended = run.end();
    assert!(matches!(ended.code, Some(1 | 4 | 5)), "{:?}: {}", ended.code, ended.stderr);
    let stored = StoredRun::at(place.runs().last().expect("a run")).expect("its directory");
    let run = stored.run().expect("what it had found");
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    let text = format!("{}{:?}{:?}", ended.stderr, run.warnings, run.steps);
    assert!(words.iter().any(|word| text.contains(word)), "{text}");
    assert_cleaned_up_but(&place, id, &["foreign"]);
}

#[test]
fn full_datastore_is_named_for_a_shop_and_nothing_passes() {
    fills_up(SHOP, &["No space left on device"]);
}

#[test]
fn full_datastore_is_named_for_mail_and_nothing_passes() {
    fills_up(MAIL, &["No space left on device", "452 ", "451 "]);
}

#[test]
fn full_datastore_is_named_for_a_site_and_nothing_passes() {
    fills_up(WEB, &["No space left on device", "status 5"]);
}

#[test]
fn servers_need_a_directory() {
    let Some(place) = place() else { return };
    let file = place.path("one.img").display().to_string();
    std::fs::write(&file, "").expect("a file");
    let target = format!("file:{file}");
    let mut words = vec!["run", &target, "--quick", "--tiles", "1", "--overwrite-file"];
    words.extend(SHOP);
    let output = place.output(&[&words[..], &crate::rig::ALLOW].concat());
    let text = err(&output);
    assert!(text.contains("keep their data in a directory"), "{text}");
}

/// Control groups of a run's servers, in the hierarchies of memory.
fn groups(run: u32) -> Vec<PathBuf> {
    // PREFIX, the number of the PID namespace, that of the process, and a name.
    let own = format!("-{run}-");
    let is_named = |name: &str| name.starts_with("tilemark-servers-") && name.contains(&own);
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"].into_iter();
    let entries = roots.filter_map(|root| std::fs::read_dir(root).ok()).flatten().flatten();
    let is_own =
        |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).is_some_and(is_named);
    entries.map(|entry| entry.path()).filter(is_own).collect()
}

/// Processes in a run's groups; each counts once for each of its groups.
fn of_groups(run: u32) -> Vec<Pid> {
    let text = |group: PathBuf| std::fs::read_to_string(group.join("cgroup.procs"));
    let texts = groups(run).into_iter().filter_map(|group| text(group).ok());
    let pids = texts.flat_map(|own| own.lines().map(str::to_owned).collect::<Vec<_>>());
    pids.filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

/// Number of processes in a run's groups.
fn in_groups(run: u32) -> usize {
    of_groups(run).len()
}

/// Private directories of a run's mail servers.
fn homes(run: u32) -> Vec<PathBuf> {
    homes_of("mail", run)
}

/// Waits for the end of a killed run's servers, cleans up, and looks for remaining objects.
fn assert_cleaned_up(place: &Workspace, run: u32) {
    assert_cleaned_up_but(place, run, &[]);
}

fn assert_cleaned_up_but(place: &Workspace, run: u32, foreign: &[&str]) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while in_groups(run) > 0 {
        assert!(std::time::Instant::now() < until, "a server outlived its run");
        std::thread::yield_now();
    }
    let cleaned = place.output(&["cleanup", "ds"]);
    assert!(cleaned.status.success(), "{}{}", out(&cleaned), err(&cleaned));
    assert_eq!((groups(run), homes(run)), (Vec::new(), Vec::new()));
    assert_eq!(place.names("ds"), foreign);
}

/// Does this to the servers of a tile under load. The run then ends with these words, no step
/// passes, and nothing is left.
fn fails_under_load(tile: [&str; 4], does: impl Fn(u32), words: &[&str]) {
    let Some(place) = place_for(tile) else { return };
    let more = ["--tiles", "1", "--duration", "60s", "--live", "line"];
    let mut run = Running::new(place.run_command(&[&tile[..], &more].concat()));
    let id = run.id();
    run.wait_for("measuring");
    does(id);
    let ended = run.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(words.iter().all(|word| ended.stderr.contains(word)), "{}", ended.stderr);
    let stored = StoredRun::at(place.runs().last().expect("a run")).expect("its directory");
    let run = stored.run().expect("what it had found");
    assert!(run.steps.iter().all(|step| step.verdict != Verdict::Passed), "{:?}", run.steps);
    assert_eq!((groups(id), homes(id)), (Vec::new(), Vec::new()));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

/// Sends a signal to all servers' processes with this name, or to all.
fn signal_servers(run: u32, name: Option<&str>, signal: Signal) {
    let is_named = |pid: &Pid| {
        let own = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
        name.is_none_or(|name| own.is_ok_and(|own| own.starts_with(name)))
    };
    let all: Vec<Pid> = of_groups(run).into_iter().filter(is_named).collect();
    assert!(!all.is_empty(), "no process is {name:?}");
    for pid in all {
        // A process may have ended meanwhile, as one of Exim's for a mail.
        let _ = kill_process(pid, signal);
    }
}

#[test]
fn killed_mail_server_fails_the_run_with_its_name() {
    let kill = |name| move |run| signal_servers(run, Some(name), Signal::KILL);
    let words = |program| ["tile-1-mail-real: ", program];
    fails_under_load(MAIL, kill("dovecot"), &words("dovecot ended under load (signal: 9"));
    fails_under_load(MAIL, kill("exim"), &words("exim"));
}

#[test]
fn killed_site_fails_the_run_with_its_name() {
    let kill = |run| signal_servers(run, Some("tilemark"), Signal::KILL);
    fails_under_load(WEB, kill, &["tile-1-web-real: ", "ended under load (signal: 9"]);
}

#[test]
fn hung_servers_are_named_and_nothing_passes() {
    let stop = |run| signal_servers(run, None, Signal::STOP);
    for (tile, name) in [(SHOP, "shop-real"), (MAIL, "mail-real"), (WEB, "web-real")] {
        let name = format!("tile-1-{name}: ");
        fails_under_load(tile, stop, &[&name, "hangs under load: it answered no call for 1"]);
    }
}

#[test]
fn mail_is_sent_and_read_and_nothing_is_left() {
    let Some(place) = place_for(MAIL) else { return };
    let words = [&MAIL[..], &["--tiles", "2", "--duration", "4s", "--format", "json"]].concat();
    let mut command = place.run_command(&words);
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    let id = child.id();
    let output = child.wait_with_output().expect("it ends");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    let step = run.steps.first().unwrap_or_else(|| panic!("{}", err(&output)));
    for kind in ["send-mail", "read-mail"] {
        let calls = step.calls.iter().find(|calls| calls.kind == kind).expect(kind);
        assert!(calls.errors.is_empty(), "{calls:?}");
    }
    let deliveries: Vec<_> =
        step.warnings.iter().filter(|warning| warning.id == "mail-delivery").collect();
    assert_eq!(deliveries.len(), 2, "one for each tile: {:?}", step.warnings);
    for note in deliveries {
        assert!(!note.text.contains("accepted 0 mails"), "{}", note.text);
        assert!(note.text.contains("0 recipients got an error"), "{}", note.text);
    }
    assert!(
        step.warnings.iter().any(|own| own.id == "real-servers" && own.text.contains("Dovecot"))
    );
    assert_eq!((groups(id), homes(id)), (Vec::new(), Vec::new()));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn killed_run_takes_its_mail_servers_and_is_cleaned_up() {
    let Some(place) = place_for(MAIL) else { return };
    let mut run = place.start(&[&MAIL[..], &["--tiles", "1"]].concat());
    run.wait_for("measuring");
    let id = run.id();
    assert!(in_groups(id) > 2 && homes(id).len() == 1, "{} {:?}", in_groups(id), homes(id));
    run.signal(Signal::KILL);
    run.end();
    assert_cleaned_up(&place, id);
}

#[test]
fn site_is_visited_and_leaves_nothing() {
    let Some(place) = place_for(WEB) else { return };
    let words = [&WEB[..], &["--tiles", "2", "--duration", "4s", "--format", "json"]].concat();
    let output = place.run_command(&words).output().expect("the program starts");
    let run: Run = run_store::run::parse(&out(&output)).expect("one run document");
    let step = run.steps.first().unwrap_or_else(|| panic!("{}", err(&output)));
    for kind in ["event-page", "event-file", "search", "add-event"] {
        let calls = step.calls.iter().find(|calls| calls.kind == kind).expect(kind);
        assert!(calls.errors.is_empty(), "{calls:?}");
    }
    assert!(
        step.warnings
            .iter()
            .any(|own| own.id == "real-servers" && own.text.contains("web site on postgres"))
    );
    let ds = place.path("ds").display().to_string();
    assert_eq!(processes(&ds), 0, "a server still runs");
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
}

#[test]
fn killed_run_takes_its_web_site_and_is_cleaned_up() {
    let Some(place) = place_for(WEB) else { return };
    let mut run = place.start(&[&WEB[..], &["--tiles", "1"]].concat());
    run.wait_for("measuring");
    let id = run.id();
    assert!(in_groups(id) > 8, "{}", in_groups(id));
    run.signal(Signal::KILL);
    run.end();
    assert_cleaned_up(&place, id);
}

#[test]
fn site_does_not_run_as_root() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: this test needs root");
        return;
    }
    let place = Workspace::new();
    let words = ["app", "serve", "web", "--data", ".", "--database", ".", "--socket", "."];
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(3), "{}", err(&output));
    assert!(err(&output).contains("refuses to run as root"), "{}", err(&output));
}
