//! Where clients come in.

use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;
use tilemark_block_server::{Limits, Listen, ListenAddress, StartError, start};

use crate::client::Client;
use crate::disks::{ram, unix};

fn refusal(listen: &[Listen]) -> StartError {
    start(vec![ram("vm", 4096)], listen, Limits::default()).expect_err("it must be refused")
}

fn tcp(address: &str) -> Listen {
    Listen { place: ListenAddress::Tcp(address.parse().unwrap()), tls: None }
}

#[test]
fn one_server_listens_on_sockets_of_all_kinds() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    let listen = [unix(&path), tcp("127.0.0.1:0"), tcp("[::1]:0")];
    // A host may have no IPv6.
    let is_six = std::net::TcpListener::bind("[::1]:0").is_ok();
    let listen = if is_six { &listen[..] } else { &listen[..2] };
    let running = start(vec![ram("a", 4096), ram("b", 8192)], listen, Limits::default()).unwrap();
    for (number, place) in running.places().iter().enumerate() {
        let byte = u8::try_from(number).unwrap() + 1;
        let mut client = Client::open(place, "a").unwrap();
        client.write(0, &[byte; 512]).unwrap();
        assert_eq!(Client::open(place, "a").unwrap().read(0, 512).unwrap(), [byte; 512]);
        assert_eq!(Client::open(place, "b").unwrap().requests.agreed().size, 8192);
        assert!(Client::open(place, "c").is_err());
    }
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner alone");
}

#[test]
fn the_network_hears_nothing_in_the_clear() {
    for address in ["0.0.0.0:0", "192.0.2.1:10809", "[::]:0"] {
        let error = refusal(&[tcp(address)]);
        assert!(matches!(error, StartError::Clear { .. }), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("listen on 127.0.0.1")));
    }
}

#[test]
fn socket_of_a_killed_server_is_taken_over_but_not_one_in_use() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists(), "left behind");
    let running = start(vec![ram("vm", 4096)], &[unix(&path)], Limits::default()).unwrap();
    let error = refusal(&[unix(&path)]);
    assert!(matches!(error, StartError::Taken { .. }), "{error}");
    assert!(Client::open(&running.places()[0], "vm").is_ok(), "the first one is still there");
}

/// The ring of a killed server keeps its socket open a little longer than the process lives; it
/// accepts, and says nothing.
#[test]
fn a_socket_that_still_accepts_and_says_nothing_is_waited_for() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    let ghost = std::os::unix::net::UnixListener::bind(&path).unwrap();
    std::thread::scope(|scope| {
        let started =
            scope.spawn(|| start(vec![ram("vm", 4096)], &[unix(&path)], Limits::default()));
        // Its first look has been taken in.
        drop(ghost.accept().unwrap());
        drop(ghost);
        let running = started.join().unwrap().expect("the ghost is gone");
        assert!(Client::open(&running.places()[0], "vm").is_ok());
    });
}

#[test]
fn a_port_that_is_being_let_go_is_waited_for() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    let ghost = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = ghost.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        let listen = [unix(&path), tcp(&address)];
        let started = scope.spawn(move || start(vec![ram("vm", 4096)], &listen, Limits::default()));
        // It comes first.
        while !path.exists() && !started.is_finished() {
            std::thread::yield_now();
        }
        drop(ghost);
        let running = started.join().unwrap().expect("the port is free");
        assert!(Client::open(&running.places()[1], "vm").is_ok());
    });
}

#[test]
fn what_is_no_socket_stays() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("s");
    std::fs::write(&path, "mine").unwrap();
    assert!(matches!(refusal(&[unix(&path)]), StartError::NoSocket { .. }));
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn two_disks_of_one_name_are_refused() {
    let directory = TempDir::new().unwrap();
    let disks = vec![ram("vm", 4096), ram("vm", 8192)];
    let listen = [unix(&directory.path().join("s"))];
    let error = start(disks, &listen, Limits::default()).expect_err("which would be meant?");
    assert!(matches!(error, StartError::Twice { .. }), "{error}");
}
