//! Sessions with the real servers and initiators. A test without its programs says so and returns.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::{Phase, ProcessError};
use tempfile::TempDir;
use tilemark_over::{
    Answered, Checked, OverError, PROTOCOLS, Protocol, Reached, ServedFile, Session, check, find,
};

const DISK_BYTES: u64 = 8 << 20;

/// Programs of a protocol, if they are here.
fn programs(word: &str, mtu: Option<u32>) -> Option<(&'static dyn Protocol, Checked)> {
    let protocol = find(word).expect("a known word");
    match check(protocol, mtu) {
        Ok(checked) => Some((protocol, checked)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Files on a file system that has O_DIRECT, each of another content.
fn files(directory: &TempDir, count: u8) -> Vec<ServedFile> {
    let made = (0..count).map(|nth| {
        let path = directory.path().join(format!("disk {nth}.disk"));
        let mut file = File::create_new(&path).expect("made");
        file.write_all(&vec![nth + 1; 4096]).expect("written");
        file.set_len(DISK_BYTES).expect("sized");
        ServedFile { disk: format!("vm/{nth}"), path, direct: true }
    });
    made.collect()
}

fn directory() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

fn set_up(word: &str, files: &[ServedFile]) -> Option<Session> {
    set_up_linked(word, files, None)
}

fn set_up_linked(word: &str, files: &[ServedFile], mtu: Option<u32>) -> Option<Session> {
    let (protocol, checked) = programs(word, mtu)?;
    Some(Session::set_up(protocol, &checked, "run-1", files).expect("set up"))
}

/// Nothing of a session is left: neither its directory nor a mount in it.
fn assert_nothing_left(home: &Path) {
    assert!(!home.exists(), "{} is left", home.display());
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    assert!(!mounts.contains(&home.display().to_string()), "{mounts}");
}

fn open(path: &PathBuf) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("opened")
}

fn files_are_reached(word: &str) {
    let directory = directory();
    let served = files(&directory, 3);
    let Some(session) = set_up(word, &served) else { return };
    let home = session.home().path().to_owned();
    let Reached::Files(paths) = session.reached().clone() else { panic!("no files") };
    assert_eq!(paths.len(), served.len());
    for ((nth, path), own) in (1..).zip(&paths).zip(&served) {
        let file = open(path);
        assert_eq!(file.metadata().expect("its size").len(), DISK_BYTES);
        let mut block = [0; 4096];
        file.read_exact_at(&mut block, 0).expect("read");
        assert_eq!(block, [nth; 4096], "the disks are in the order of the files");
        file.write_all_at(&[0xa0 + nth; 4096], DISK_BYTES - 4096).expect("written");
        file.sync_all().expect("flushed");
        let mut there = [0; 4096];
        File::open(&own.path)
            .expect("opened")
            .read_exact_at(&mut there, DISK_BYTES - 4096)
            .expect("read");
        assert_eq!(there, [0xa0 + nth; 4096]);
    }
    session.check().expect("all run");
    session.end().expect("ended in order");
    assert_nothing_left(&home);
}

#[test]
fn iscsi_reaches_the_files_and_leaves_nothing() {
    files_are_reached("iscsi");
}

#[test]
fn nfs3_reaches_the_files_and_leaves_nothing() {
    files_are_reached("nfs3");
}

#[test]
fn nbd_answers_on_loopback_and_leaves_nothing() {
    let directory = directory();
    let Some(session) = set_up("nbd", &files(&directory, 2)) else { return };
    let home = session.home().path().to_owned();
    let Reached::Nbd { server, exports, namespace: None } = session.reached().clone() else {
        panic!("no address")
    };
    assert!(server.ip().is_loopback());
    assert_eq!(exports.keys().collect::<Vec<_>>(), ["vm/0", "vm/1"]);
    let mut greeting = [0; 8];
    TcpStream::connect(server).expect("connected").read_exact(&mut greeting).expect("greeted");
    assert_eq!(&greeting, b"NBDMAGIC");
    session.end().expect("ended in order");
    assert!(TcpStream::connect(server).is_err(), "nobody listens any more");
    assert_nothing_left(&home);
}

/// Bytes and packets that came to the far end of a session's link.
fn received(session: &Session) -> (u64, u64) {
    let pids = session.pids();
    let (_, far) = pids.iter().rfind(|(name, _)| *name == "unshare").expect("its keeper");
    let text = fs::read_to_string(format!("/proc/{far}/net/dev")).expect("its interfaces");
    let line = text.lines().find_map(|line| line.trim().strip_prefix("tilemark1:"));
    let mut numbers = line.expect("the link").split_whitespace();
    let mut next = || numbers.next().and_then(|own| own.parse().ok()).expect("a number");
    (next(), next())
}

#[test]
fn packets_on_a_link_have_the_given_size() {
    for word in ["iscsi", "nfs3"] {
        for (mtu, frame) in [(1500, 1514), (9000, 9014)] {
            let directory = directory();
            let files = files(&directory, 1);
            let Some(session) = set_up_linked(word, &files, Some(mtu)) else { continue };
            let home = session.home().path().to_owned();
            let Reached::Files(paths) = session.reached().clone() else { panic!("no files") };
            let (bytes, packets) = received(&session);
            let mut read = Vec::new();
            File::open(&paths[0]).expect("opened").read_to_end(&mut read).expect("read");
            let (bytes, packets) = {
                let now = received(&session);
                (now.0 - bytes, now.1 - packets)
            };
            assert!(bytes > DISK_BYTES, "{word}: {bytes} came over the link");
            // Requests of some 100 KiB end in a smaller packet, so the mean is below the largest.
            let mean = bytes / packets;
            assert!((frame * 7 / 10..=frame).contains(&mean), "{word}: {mean} of {frame}");
            session.end().expect("ended in order");
            assert_nothing_left(&home);
        }
    }
}

#[test]
fn nbd_over_a_link_is_reached_from_its_network_only() {
    let directory = directory();
    let Some(session) = set_up_linked("nbd", &files(&directory, 1), Some(9000)) else { return };
    let home = session.home().path().to_owned();
    let Reached::Nbd { server, namespace, .. } = session.reached().clone() else { panic!("files") };
    let namespace = namespace.expect("a network of its own");
    assert!(namespace.exists() && !server.ip().is_loopback());
    // The kernel's lists of sockets, by network: address and port of the server in hexadecimal.
    let listens = |pid: &str| {
        let sockets = fs::read_to_string(format!("/proc/{pid}/net/tcp")).expect("its sockets");
        sockets.contains(" 0109090A:2A39 00000000:0000 0A ")
    };
    let (_, pid) = session.pids()[0];
    assert!(listens(&pid.to_string()) && !listens("self"));
    session.end().expect("ended in order");
    assert!(!namespace.exists());
    assert_nothing_left(&home);
}

/// Kills the server while I/O is open: the session names it, and the I/O ends.
fn dead_server_is_named(word: &str, server: &str) {
    let directory = directory();
    let Some(session) = set_up(word, &files(&directory, 1)) else { return };
    let home = session.home().path().to_owned();
    let pids = session.pids();
    let (_, pid) = pids.iter().find(|(name, _)| *name == server).expect("its server");
    let pid = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    let error = loop {
        match session.check() {
            Ok(()) => std::thread::yield_now(),
            Err(error) => break error,
        }
    };
    match &error {
        OverError::Process(ProcessError::Ended { name, phase: Phase::Load, .. }) => {
            assert_eq!(name, server);
        }
        other => panic!("{other}"),
    }
    if let Reached::Files(paths) = session.reached().clone() {
        // The kernel closes the mount's connection a moment after the initiator's end.
        while OpenOptions::new().read(true).open(&paths[0]).is_ok() {
            std::thread::yield_now();
        }
    }
    drop(session);
    assert_nothing_left(&home);
}

#[test]
fn dead_nbd_server_is_named_and_nothing_is_left() {
    dead_server_is_named("nbd", "qemu-storage-daemon");
}

#[test]
fn dead_iscsi_server_is_named_and_nothing_is_left() {
    dead_server_is_named("iscsi", "tgtd");
}

#[test]
fn dead_nfs3_server_is_named_and_nothing_is_left() {
    dead_server_is_named("nfs3", "ganesha.nfsd");
}

#[test]
fn answered_io_is_no_hang() {
    let directory = directory();
    let Some(mut session) = set_up("nbd", &files(&directory, 1)) else { return };
    session.note(Answered::NothingOfOpen, Duration::ZERO).expect("it is not long yet");
    session.note(Answered::Fine, Duration::ZERO).expect("answered");
}

#[test]
fn path_that_a_server_cannot_take_leaves_nothing() {
    let directory = directory();
    for (word, name) in [("iscsi", "a,b"), ("nfs3", "a\"b")] {
        let Some((protocol, checked)) = programs(word, None) else { continue };
        let path = directory.path().join(name);
        File::create(&path).and_then(|file| file.set_len(DISK_BYTES)).expect("made");
        let file = ServedFile { disk: "vm/0".to_owned(), path, direct: true };
        let run_id = format!("refused-{word}");
        let error = Session::set_up(protocol, &checked, &run_id, &[file]).expect_err("refused");
        assert!(matches!(error, OverError::Path { .. }), "{error}");
        assert!(error.hint().is_some());
        assert!(tilemark_over::sweep(false).iter().all(|found| found.run_id != run_id));
    }
}

#[test]
fn file_that_is_gone_is_an_error_that_names_program_and_phase() {
    let directory = directory();
    for (word, program) in
        [("nbd", "qemu-storage-daemon"), ("iscsi", "tgtadm"), ("nfs3", "qemu-storage-daemon")]
    {
        let Some((protocol, checked)) = programs(word, None) else { continue };
        let path = directory.path().join("gone");
        let file = ServedFile { disk: "vm/0".to_owned(), path, direct: true };
        let error = Session::set_up(protocol, &checked, "run-1", &[file]).expect_err("it is gone");
        let text = error.to_string();
        assert!(text.contains(program), "{text}");
        assert!(
            ["starting", "exporting", "connecting"].iter().any(|phase| text.contains(phase)),
            "{text}"
        );
    }
}

#[test]
fn guide_has_a_row_for_each_protocol() {
    let guide = include_str!("../../../../../docs/guides/protocols.md");
    for protocol in PROTOCOLS {
        let row = format!("| `{}` |", protocol.facts().word);
        assert!(guide.contains(&row), "docs/guides/protocols.md has no row for {row}");
    }
}

#[test]
fn every_protocol_says_what_is_between() {
    for protocol in PROTOCOLS {
        let facts = protocol.facts();
        assert!(!facts.hop.is_empty() && !facts.network.is_empty() && !facts.initiator.is_empty());
    }
}
