//! A shop with a real PostgreSQL. Skipped, with the reason, where it is not installed.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use process_home::Phase;
use rustix::process::{Pid, Signal, getpgid, kill_process};
use tilemark_applications::{
    Application, ApplicationError, Applications, Kind, Need, ServerSocket,
};
use units::Bytes;

use crate::place::{place_for, start};

fn need(name: &str, seed: u64) -> Need {
    Need { name: name.to_owned(), kind: Kind::Shop, size: Bytes::new(4 << 20), sessions: 8, seed }
}

fn socket_of(shop: &Application) -> ServerSocket {
    shop.endpoint("postgres").and_then(|own| own.socket.clone()).expect("a socket")
}

/// Answers of a simple query, as bytes, after a login without a password.
fn query(socket: &ServerSocket, text: &str) -> Vec<u8> {
    let mut stream = socket.connect().expect("a session");
    let parameters = b"\0\x03\0\0user\0shop\0database\0tile\0\0";
    let length = u32::try_from(parameters.len() + 4).expect("short").to_be_bytes();
    stream.write_all(&[&length[..], parameters].concat()).expect("a startup");
    let mut send = |tag: &[u8], body: &[u8]| {
        let length = u32::try_from(body.len() + 4).expect("short").to_be_bytes();
        stream.write_all(&[tag, &length[..], body].concat()).expect("a message");
    };
    send(b"Q", format!("{text}\0").as_bytes());
    send(b"X", b"");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

fn holds(answer: &[u8], part: &str) -> bool {
    answer.windows(part.len()).any(|window| window == part.as_bytes())
}

#[test]
fn stop_ends_the_making_of_data() {
    for kind in [Kind::Shop, Kind::Web, Kind::Mail] {
        let Some(place) = place_for(kind) else { continue };
        let apps = place.path().join("apps");
        let stop = Arc::new(AtomicU8::new(0));
        let all = start(&apps, &format!("stop-{}", kind.name())).expect("a user");
        let mut all = all.with_stop(Arc::clone(&stop));
        // As a user at a terminal: in the middle, when the first files are there.
        let user = std::thread::spawn(move || {
            while std::fs::read_dir(&apps).expect("read").count() == 0 {
                std::thread::yield_now();
            }
            stop.store(1, Ordering::Relaxed);
        });
        // Its data takes seconds to make.
        let size = Bytes::new(256 << 20);
        let need = Need { kind, size, ..need("tile-1", 1) };
        let error = all.running(&need).map(|_| ()).expect_err("it was stopped");
        assert!(matches!(error, ApplicationError::Stopped), "{error}");
        user.join().expect("no panic");
        assert_eq!(all.all().count(), 0);
    }
}

#[test]
fn shop_takes_orders_and_leaves_nothing_running() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let mut all = start(&place.path().join("apps"), "orders").expect("a user");
    let shop = all.running(&need("tile-1", 1)).expect("a shop");
    let socket = socket_of(shop);
    for what in [
        "(select count(*) from login(1234567)) <= 10",
        "(select count(*) from search_category(5)) <= 5",
        "(select count(*) from search_actor(6)) <= 5",
        "(select count(*) from search_title(7)) <= 5",
        "place(5, array[1,2,3,4,5], 2) > 3060",
        "place(5, array[1,2,3,4,5], 1) = 0",
        "register(77) > 5115",
        "place_new(77, array[1,1,3,4,5], 2) > 3060",
        "(select count(*) from orders where ordered = current_date) = 2",
        "(select count(*) from order_line where ordered = current_date) = 9",
    ] {
        let answer = query(&socket, &format!("select 'holds=' || ({what})::text"));
        assert!(holds(&answer, "holds=true"), "{what}: {}", answer.escape_ascii());
    }
    assert!(shop.cpu_seconds().expect("a running server") > 0.0);
    assert_eq!(shop.memory, Bytes::new((64 + 3 * 8 + 64) << 20));
    all.stop();
    assert!(socket.connect().is_err(), "the server still listens");
    assert!(all.all().next().is_none());
}

#[test]
fn full_memory_is_named_with_its_size() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let mut all = start(&place.path().join("apps"), "full").expect("a user");
    all.running(&need("tile-1", 1)).expect("a shop");
    all.check().expect("a server that runs");
    let end = format!("-full-{}-tile-1", std::process::id());
    let groups = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
    let groups = groups.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let mut paths = groups.map(|entry| entry.path());
    let group = paths.find(|path| path.to_string_lossy().ends_with(&end)).expect("a group");
    // `tail` keeps the end of its input in memory.
    let greedy = "echo $$ > cgroup.procs; head -c 1G /dev/zero | tail -c 900M";
    let ended = Command::new("sh").args(["-c", greedy]).current_dir(&group).output();
    assert!(!ended.expect("a shell").status.success());
    let error = all.check().expect_err("full memory");
    let memory = Bytes::new((64 + 3 * 8 + 64) << 20);
    let is_named = matches!(&error, ApplicationError::OutOfMemory { name, memory: own, phase: Phase::Load }
        if name == "tile-1" && *own == memory);
    assert!(is_named, "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn servers_user_writes_nowhere_but_in_its_data() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "links").expect("a user");
    all.running(&need("tile-1", 1)).expect("a shop");
    let user = std::fs::metadata(apps.join("tile-1/data")).expect("its data").uid();
    assert_ne!(user, 0);
    // A link here would lead a log or a script of root elsewhere.
    for place in [&apps, &apps.join("tile-1")] {
        let mut link = Command::new("setpriv");
        link.args([
            "--reuid",
            &user.to_string(),
            "--clear-groups",
            "--",
            "ln",
            "-s",
            "/etc/passwd",
        ]);
        let made = link.arg(place.join("link")).stderr(Stdio::null()).status();
        assert!(!made.expect("setpriv").success(), "{}", place.display());
    }
}

#[test]
fn another_seed_makes_other_data() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let mut all = start(&place.path().join("apps"), "seeds").expect("a user");
    let mut sums = Vec::new();
    for (name, seed) in [("one", 1), ("same", 1), ("other", u64::MAX)] {
        let socket = socket_of(all.running(&need(name, seed)).expect("a shop"));
        let text = "select 'sum=' || md5(string_agg(password, '' order by id)) from customer";
        let answer = query(&socket, text);
        let at = answer.windows(4).position(|part| part == b"sum=").expect("a sum");
        sums.push(answer[at..at + 36].to_vec());
    }
    assert_eq!(sums[0], sums[1]);
    assert_ne!(sums[0], sums[2]);
}

/// Process of the only server in a directory.
fn server_in(apps: &Path) -> Pid {
    let state = apps.join("tile-1/data/postmaster.pid");
    let state = std::fs::read_to_string(state).expect("its state");
    let pid: i32 = state.lines().next().and_then(|line| line.parse().ok()).expect("a number");
    Pid::from_raw(pid).expect("a process")
}

/// Error of the servers, once they have one.
fn failure(all: &mut Applications) -> String {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match all.check() {
            Err(error) => return error.to_string(),
            Ok(()) => assert!(Instant::now() < until, "it counts as running"),
        }
        std::thread::yield_now();
    }
}

#[test]
fn crash_of_a_session_ends_the_server_and_is_named() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "crashed").expect("a user");
    all.running(&need("tile-1", 1)).expect("a shop");
    let server = server_in(&apps).as_raw_nonzero();
    let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
    let children = children.expect("its processes");
    let child: i32 = children.split(' ').next().and_then(|pid| pid.parse().ok()).expect("one");
    kill_process(Pid::from_raw(child).expect("a process"), Signal::KILL).expect("it is ours");
    let text = failure(&mut all);
    assert!(text.starts_with("tile-1: postgres ended under load (exit status: 1)"), "{text}");
    assert!(text.contains("restart_after_crash"), "{text}");
}

#[test]
fn server_that_was_killed_is_an_error_with_its_name() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "killed").expect("a user");
    all.running(&need("tile-1", 1)).expect("a shop");
    all.check().expect("it runs");
    let pid = server_in(&apps);
    // Ctrl-C goes to the group of the run.
    assert_eq!(getpgid(Some(pid)).expect("its group"), pid);
    kill_process(pid, Signal::KILL).expect("it is ours");
    let text = failure(&mut all);
    assert!(text.starts_with("tile-1: postgres ended under load (signal: 9"), "{text}");
    assert!(all.running(&need("tile-1", 1)).is_err(), "it was started again in silence");
}

#[test]
fn failed_preparation_names_its_program_and_words() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "failed").expect("a user");
    // A directory that exists is not ours to fill.
    std::fs::create_dir(apps.join("tile-1")).expect("a directory");
    let error = all.running(&need("tile-1", 1)).expect_err("it exists");
    let ApplicationError::Io { phase: Phase::Prepare, .. } = error else { panic!("{error}") };
}

#[test]
fn directory_that_cannot_be_entered_is_refused() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(place.path(), mode).expect("a mode");
    let error = start(&place.path().join("apps"), "none").expect_err("closed");
    let ApplicationError::NoEntry { .. } = &error else { panic!("{error}") };
    assert!(error.hint().expect("a hint").contains("chmod o+x"));
}

#[test]
fn data_of_several_is_made_at_once_and_each_has_its_own() {
    let Some(place) = place_for(Kind::Shop) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "several").expect("a user");
    let needs = [need("tile-1", 1), need("tile-2", 2), need("tile-1", 1)];
    all.make(&needs.iter().collect::<Vec<_>>()).expect("made");
    assert!(["tile-1", "tile-2"].iter().all(|name| apps.join(name).join("data").is_dir()));
    let password = "select 'first=' || password from customer where id = 1";
    let [one, two] = [&needs[0], &needs[1]].map(|need| {
        let socket = socket_of(all.running(need).expect("it starts with what was made"));
        query(&socket, password)
    });
    assert!(holds(&one, "first=") && holds(&two, "first=") && one != two, "seeds differ");
    // A tile's directory that already exists is an error.
    std::fs::create_dir(apps.join("tile-3")).expect("made");
    let error = all.make(&[&need("tile-3", 3), &need("tile-4", 4)]).expect_err("it is there");
    assert!(error.to_string().contains("tile-3"), "{error}");
}
