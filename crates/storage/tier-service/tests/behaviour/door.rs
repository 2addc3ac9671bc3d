//! The control socket: malformed questions harm nobody.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use block_server::Running;
use tier::Mode;
use tilemark_tier_service::{Command, Control, Door, Left, ask};

use crate::served::{Host, Served};

struct Attended {
    host: Host,
    running: Arc<Running>,
    control: Control,
    path: PathBuf,
    _door: Door,
}

fn attended() -> Attended {
    let host = Host::new(Mode::Back);
    let Served { running, control, .. } = host.serve();
    let (running, path) = (Arc::new(running), host.directory.path().join("c"));
    let door = Door::open(&path, control.clone(), &running).expect("it opens");
    Attended { host, running, control, path, _door: door }
}

impl Attended {
    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.path).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        stream
    }

    fn ask(&self, question: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(question.as_bytes()).expect("it is taken");
        stream.write_all(b"\n").expect("it is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("threads").count()
}

#[test]
fn orders_beyond_bounds_are_refused_and_disks_are_served_on() {
    let attended = attended();
    for question in [
        r#"{"share":{"disk":"vm1","percent":255}}"#,
        r#"{"admission":{"disk":"vm1","access":0}}"#,
        r#"{"populate":{"disk":"vm1","on":true,"for_s":18446744073709551615}}"#,
        r#"{"drain":{"disk":"../vm1"}}"#,
        "nonsense",
        "",
        &"[".repeat(20_000),
    ] {
        let answer = attended.ask(question);
        assert!(answer.starts_with("{\"error\":"), "{question}: {answer}");
    }
    assert!(attended.ask(&" ".repeat(17_000)).contains("longer than 16384 B"));
    let longest = r#"{"populate":{"disk":"vm1","on":true,"for_s":31622400}}"#;
    assert_eq!(attended.ask(longest), "{\"done\":null}\n");
    attended.host.client().write(0, &[7; 4096]).expect("bytes are taken");
}

#[test]
fn silent_clients_take_no_threads_and_keep_nobody_out() {
    let attended = attended();
    ask(&attended.path, &Command::Status).expect("it answers");
    let before = threads();
    let silent: Vec<UnixStream> = (0..300).map(|_| attended.connect()).collect();
    let mut half = attended.connect();
    half.write_all(b"\"sta").expect("it is taken");
    ask(&attended.path, &Command::Status).expect("it answers meanwhile");
    assert!(threads() <= before + 1, "{} threads, and {before} before", threads());
    half.write_all(b"tus\"\n").expect("it is taken");
    let mut answer = String::new();
    half.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("{\"done\":{"), "{answer}");
    drop(silent);
}

#[test]
fn question_without_line_end_is_answered_at_shutdown_of_client() {
    let attended = attended();
    let mut stream = attended.connect();
    stream.write_all(b"\"pulse\"").expect("it is taken");
    stream.shutdown(std::net::Shutdown::Write).expect("it is done");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("\"disks\""), "{answer}");
}

#[test]
fn how_a_set_was_left_is_known_when_its_server_has_ended() {
    let Attended { host, running, control, .. } = attended();
    host.client().write(0, &[7; 4096]).expect("bytes are taken");
    assert_eq!(control.left(), None, "it runs");
    Arc::try_unwrap(running).expect("nobody asks").stop().expect("it ends");
    let waiting = vec![("vm1".to_owned(), 4096)];
    assert_eq!(control.left(), Some(Left { in_order: true, waiting }));
}
