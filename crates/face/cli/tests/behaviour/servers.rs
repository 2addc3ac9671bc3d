//! Runs that make real servers for their tiles. Skipped, with the reason, where PostgreSQL, Exim,
//! Dovecot or the right to limit memory is absent.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use run_store::run::Run;
use rustix::process::{Pid, Signal, kill_process};

use crate::rig::{Workspace, err, homes_of, out};

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

/// Number of processes in a run's groups.
fn in_groups(run: u32) -> usize {
    let text = |group: PathBuf| std::fs::read_to_string(group.join("cgroup.procs"));
    groups(run)
        .into_iter()
        .filter_map(|group| text(group).ok())
        .map(|own| own.lines().count())
        .sum()
}

/// Private directories of a run's mail servers.
fn homes(run: u32) -> Vec<PathBuf> {
    homes_of("mail", run)
}

/// Waits for the end of a killed run's servers, cleans up, and looks for remaining objects.
fn assert_cleaned_up(place: &Workspace, run: u32) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while in_groups(run) > 0 {
        assert!(std::time::Instant::now() < until, "a server outlived its run");
        std::thread::yield_now();
    }
    let cleaned = place.output(&["cleanup", "ds"]);
    assert!(cleaned.status.success(), "{}{}", out(&cleaned), err(&cleaned));
    assert_eq!((groups(run), homes(run)), (Vec::new(), Vec::new()));
    assert!(place.names("ds").is_empty(), "left: {:?}", place.names("ds"));
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
