//! A web site with a real PostgreSQL. Skipped, with the reason, where it is not installed.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tilemark_applications::{Application, Applications, Kind, Need, ServerSocket};
use units::Bytes;

use crate::place::{place_for, start};

/// Most connections of a site for 8 users.
const CONNECTIONS: usize = 8 + 64;

fn need(name: &str, seed: u64) -> Need {
    Need { name: name.to_owned(), kind: Kind::Web, size: Bytes::new(1), sessions: 8, seed }
}

fn socket_of(web: &Application) -> ServerSocket {
    web.endpoint("http").and_then(|own| own.socket.clone()).expect("a socket")
}

/// Status and body of the answer to bytes.
fn answer(socket: &ServerSocket, request: &[u8]) -> (u16, Vec<u8>) {
    let mut stream = socket.connect().expect("a connection");
    // The site may refuse a long request before its end.
    let _ = stream.write_all(request);
    read_answer(&mut stream)
}

fn read_answer(stream: &mut UnixStream) -> (u16, Vec<u8>) {
    let mut bytes = Vec::new();
    // A connection that the site closes with bytes unread ends with an error behind the answer.
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    let body = bytes.split_off(end);
    let status = String::from_utf8_lossy(&bytes);
    let status = status.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.expect("a status"), body)
}

fn get(socket: &ServerSocket, path: &str) -> (u16, Vec<u8>) {
    answer(
        socket,
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes(),
    )
}

fn text(socket: &ServerSocket, path: &str) -> String {
    let (status, body) = get(socket, path);
    assert_eq!(status, 200, "{path}");
    String::from_utf8(body).expect("text")
}

fn post(socket: &ServerSocket, path: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    answer(socket, &[head.as_bytes(), body].concat())
}

/// Number of the event that an answer to a post names.
fn added(answer: &[u8]) -> u32 {
    let text = String::from_utf8_lossy(answer);
    let number = text.split("/event/").nth(1).and_then(|rest| rest.split('"').next());
    number.and_then(|number| number.parse().ok()).expect("a number")
}

fn wait_for_error(all: &mut Applications) -> String {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        match all.check() {
            Err(error) => return error.to_string(),
            Ok(()) => assert!(Instant::now() < until, "it counts as running"),
        }
        std::thread::yield_now();
    }
}

/// Process of the site with its data in this directory.
fn site_process(directory: &Path) -> Pid {
    let (program, data) = ("serve_web", directory.display().to_string());
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let own = all.filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.split('\0').next().is_some_and(|name| name.ends_with(program)) && line.contains(&data)
    });
    let pids: Vec<i32> = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    assert_eq!(pids.len(), 1, "{pids:?}");
    Pid::from_raw(pids[0]).expect("a process")
}

#[test]
fn site_shows_events_and_finds_what_was_added() {
    let Some(place) = place_for(Kind::Web) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "pages").expect("a user");
    let web = all.running(&need("tile-1", 1)).expect("a site");
    let socket = socket_of(web);
    // 40 persons, 10 tags and 30 events are the fewest.
    let page = text(&socket, "/event/5");
    for part in ["<h1>Event 5 ", "By Person ", "/event/5/picture", "/search?tag=", "<li>Person "] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(text(&socket, "/event/1000000024"), page, "1 + 1000000024 % 30 is 5");
    let file = |name: &str| fs::read(apps.join("tile-1").join(name)).expect("a file");
    for (path, name, bytes) in [
        ("/event/5/picture", "files/events/0/5.picture", 669_000),
        ("/event/30/document", "files/events/0/30.document", 130_000),
    ] {
        let (status, body) = get(&socket, path);
        assert_eq!((status, body.len()), (200, bytes), "{path}");
        assert!(body == file(name), "{path}");
    }
    assert_eq!(get(&socket, "/event/5/organiser").1.len(), 671_000);
    let before = text(&socket, "/search?tag=3");
    let picture: Vec<u8> = (0..65_536_u32).map(|at| (at % 251) as u8).collect();
    let (status, body) = post(&socket, "/event?person=7&tag=3", &picture);
    assert_eq!(status, 201);
    let event = added(&body);
    assert_eq!(event, 31);
    let after = text(&socket, "/search?tag=3");
    let link = format!("<dt><a href=\"/event/{event}\">");
    assert!(!before.contains(&link) && after.contains(&link), "{after}");
    assert!(after.matches("<dt>").count() <= 10, "{after}");
    assert!(text(&socket, "/event/31").contains("By Person 7 "));
    assert!(file("uploads/31.picture") == picture);
    assert!(get(&socket, "/event/31/picture") == (200, picture));
    assert_eq!(get(&socket, "/event/31/document").0, 404);
    assert!(web.cpu_seconds().expect("a running server") > 0.0);
    assert_eq!(web.memory, Bytes::new((64 + 3 * 8 + 64 + 128) << 20));
    all.stop();
    assert!(socket.connect().is_err(), "the site still listens");
}

#[test]
fn site_refuses_nonsense_and_a_crowd() {
    let Some(place) = place_for(Kind::Web) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "nonsense").expect("a user");
    let socket = socket_of(all.running(&need("tile-1", 1)).expect("a site"));
    for (path, status) in [
        ("/", 404),
        ("/event/../../data/postmaster.pid/picture", 404),
        ("/event/%2e%2e/picture", 400),
        ("/event/1%00/picture", 400),
        ("/search?tag=1'--", 400),
        ("/event", 405),
    ] {
        assert_eq!(get(&socket, path).0, status, "{path}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(20_000));
    assert!(matches!(answer(&socket, long.as_bytes()).0, 414 | 431));
    assert_eq!(answer(&socket, b"\x16\x03\x01 hello\r\n\r\n").0, 400);
    let path = "/event?person=1&tag=1";
    assert_eq!(post(&socket, path, b"").0, 400);
    assert_eq!(post(&socket, path, &vec![1; (1 << 20) + 1]).0, 413);
    assert_eq!(post(&socket, "/event?person=1&tag=x", b"picture").0, 400);
    let mut cut = socket.connect().expect("a connection");
    let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf");
    cut.write_all(head.as_bytes()).expect("half a picture");
    drop(cut);
    // Only the whole picture became an event.
    let (status, body) = post(&socket, path, b"picture");
    assert_eq!((status, added(&body)), (201, 31));
    let names = fs::read_dir(apps.join("tile-1/uploads")).expect("a list").count();
    assert_eq!(names, 1);
    // Earlier connections may not have ended yet, so the crowd may begin a little before.
    let mut crowd: Vec<UnixStream> =
        (0..CONNECTIONS).map(|_| socket.connect().expect("a connection")).collect();
    assert_eq!(read_answer(&mut socket.connect().expect("a connection")).0, 503);
    crowd.clear();
    let until = Instant::now() + Duration::from_secs(20);
    while get(&socket, "/event/1").0 == 503 {
        assert!(Instant::now() < until, "the crowd is still there");
    }
}

#[test]
fn tiles_have_pages_and_files_of_their_own() {
    let Some(place) = place_for(Kind::Web) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "seeds").expect("a user");
    let [one, other] = [("one", 1), ("other", u64::MAX)].map(|(name, seed)| {
        let socket = socket_of(all.running(&need(name, seed)).expect("a site"));
        (text(&socket, "/event/1"), get(&socket, "/event/1/picture").1)
    });
    assert_ne!(one.0, other.0);
    assert!(one.1 != other.1);
    // Neither other users nor the site itself may change the created files.
    let [files, sockets] = ["one/files", "one/site"].map(|name| apps.join(name));
    let user = fs::metadata(&sockets).expect("its directory").uid();
    assert_ne!(user, 0);
    for (user, words, path) in [
        (user, &["test", "-w"][..], files.join("events/0/1.picture")),
        (user, &["touch"], files.join("new")),
        (user, &["touch"], apps.join("one/new")),
        (user + 1, &["test", "-x"], sockets),
    ] {
        let mut tried = Command::new("setpriv");
        tried.args(["--reuid", &user.to_string(), "--clear-groups", "--"]).args(words);
        let status = tried.arg(&path).stderr(Stdio::null()).status().expect("setpriv");
        assert!(!status.success(), "{user} {words:?} {}", path.display());
    }
}

#[test]
fn ended_site_is_an_error_with_its_name() {
    let Some(place) = place_for(Kind::Web) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "killed").expect("a user");
    all.running(&need("tile-1", 1)).expect("a site");
    all.check().expect("it runs");
    let process = site_process(&apps.join("tile-1"));
    kill_process(process, Signal::KILL).expect("it is ours");
    let error = wait_for_error(&mut all);
    assert!(error.starts_with("tile-1: the web site ended under load (signal: 9"), "{error}");
    assert!(all.running(&need("tile-1", 1)).is_err(), "it was started again in silence");
}

#[test]
fn ended_database_is_named_and_ends_the_site() {
    let Some(place) = place_for(Kind::Web) else { return };
    let apps = place.path().join("apps");
    let mut all = start(&apps, "lost").expect("a user");
    let socket = socket_of(all.running(&need("tile-1", 1)).expect("a site"));
    let state = fs::read_to_string(apps.join("tile-1/data/postmaster.pid")).expect("its state");
    let pid = state.lines().next().and_then(|line| line.parse().ok()).expect("a number");
    kill_process(Pid::from_raw(pid).expect("a process"), Signal::KILL).expect("it is ours");
    let error = wait_for_error(&mut all);
    assert!(error.starts_with("tile-1: postgres ended under load (signal: 9"), "{error}");
    let until = Instant::now() + Duration::from_secs(20);
    while socket.connect().is_ok() {
        assert!(Instant::now() < until, "the site goes on without its database");
        std::thread::yield_now();
    }
    // The site writes why it ends after it stopped listening.
    let ended = "a session of the site's database ended";
    loop {
        let log = fs::read_to_string(apps.join("tile-1/site.log")).expect("its log");
        if log.contains(ended) {
            break;
        }
        assert!(Instant::now() < until, "{log}");
        std::thread::yield_now();
    }
}
