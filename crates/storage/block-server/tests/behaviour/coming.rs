//! Disks that come and go while their server runs.

use std::path::Path;

use nbd::Operation;
use tempfile::TempDir;
use tilemark_block_server::{Limits, Listen, ListenAddress, Running, StartError, start};

use crate::client::Client;
use crate::disks::{Served, ram, unix};
use crate::gated::Gated;
use crate::machine::Machine;

const WRITE: Operation = Operation::Write { fua: false };

#[test]
fn added_disk_is_served_and_its_name_must_be_new() {
    let served = Served::of(vec![ram("first", 1 << 20)], Limits::default());
    let mut first = Client::open(served.place(), "first").unwrap();
    assert!(Client::open(served.place(), "second").is_err(), "it is not there yet");
    served.running.add(ram("second", 1 << 20)).unwrap();
    let mut second = Client::open(served.place(), "second").unwrap();
    second.write(0, &[2; 4096]).unwrap();
    first.write(0, &[1; 4096]).unwrap();
    assert_eq!((first.read(0, 1), second.read(0, 1)), (Ok(vec![1]), Ok(vec![2])));
    let twice = served.running.add(ram("second", 1 << 20));
    assert!(matches!(twice, Err(StartError::Twice { name }) if name == "second"));
    let unknown = served.running.withdraw("third");
    assert!(matches!(unknown, Err(StartError::Unknown { name }) if name == "third"));
    // Another disk of the same name is another disk, at the place of the one before.
    served.running.withdraw("first").unwrap();
    assert!(first.wait_any_is_over(), "whoever had it is gone");
    served.running.add(ram("first", 1 << 20)).unwrap();
    let mut first = Client::open(served.place(), "first").unwrap();
    assert_eq!((first.read(0, 1), second.read(0, 1)), (Ok(vec![0]), Ok(vec![2])));
}

#[test]
fn withdrawn_disk_answers_its_clients_then_disconnects_them() {
    let (disk, gate) = Gated::with_gate(1 << 20, None);
    let served = Served::of(vec![disk, ram("other", 1 << 20)], Limits::default());
    let mut client = Client::open(served.place(), "vm").unwrap();
    let mut idle = Client::open(served.place(), "vm").unwrap();
    let mut other = Client::open(served.place(), "other").unwrap();
    client.ask(WRITE, 0, 4096, &[1; 4096]).unwrap();
    gate.wait_for(1);
    std::thread::scope(|scope| {
        let withdrawn = scope.spawn(|| served.running.withdraw("vm"));
        assert!(idle.wait_any_is_over(), "it has nothing to wait for");
        assert!(Client::open(served.place(), "vm").is_err(), "nobody gets it any more");
        let again = scope.spawn(|| served.running.withdraw("vm"));
        let twice = served.running.add(ram("vm", 1 << 20));
        assert!(matches!(twice, Err(StartError::Twice { .. })), "it is not gone yet");
        other.write(0, &[1; 4096]).unwrap();
        assert!(!withdrawn.is_finished() && !again.is_finished());
        gate.open(1);
        assert!(client.wait_any().unwrap().1.is_ok());
        assert!(client.wait_any_is_over());
        withdrawn.join().unwrap().unwrap();
        // Whether that came before the end or after it.
        let again = again.join().unwrap();
        assert!(matches!(again, Ok(()) | Err(StartError::Unknown { .. })));
    });
    other.write(0, &[1; 4096]).unwrap();
    let none = served.running.withdraw("vm");
    assert!(matches!(none, Err(StartError::Unknown { .. })), "it is gone");
}

#[test]
fn whoever_waits_for_a_disk_to_go_is_told_when_its_server_ends() {
    let limits = Limits { drain: std::time::Duration::from_millis(50), ..Limits::default() };
    let (disk, gate) = Gated::with_gate(1 << 20, None);
    let served = Served::of(vec![disk], limits);
    let mut client = Client::open(served.place(), "vm").unwrap();
    client.ask(WRITE, 0, 4096, &[1; 4096]).unwrap();
    gate.wait_for(1);
    std::thread::scope(|scope| {
        let withdrawn = scope.spawn(|| served.running.withdraw("vm"));
        assert!(Client::open(served.place(), "other").is_err(), "it is asked");
        // Nothing of it is answered any more, and yet nobody is left waiting.
        served.running.begin_to_stop().unwrap();
        let withdrawn = withdrawn.join().unwrap();
        assert!(matches!(withdrawn, Err(StartError::Ended)));
    });
    drop(gate);
}

#[test]
fn a_client_that_takes_no_answers_does_not_keep_a_disk_for_ever() {
    let limits = Limits { drain: std::time::Duration::from_millis(50), ..Limits::default() };
    let served = Served::of(vec![ram("vm", 32 << 20)], limits);
    let mut deaf = Client::open(served.place(), "vm").unwrap();
    for at in 0..8 {
        deaf.ask(Operation::Read, at * (4 << 20), 4 << 20, &[]).unwrap();
    }
    while served.running.counts().requests == 0 {
        std::thread::yield_now();
    }
    served.running.withdraw("vm").unwrap();
}

fn serve(directory: &Path) -> Running {
    let place = ListenAddress::Vhost { path: directory.join("v"), disk: "vm".to_owned() };
    let listen = [Listen { place, tls: None }, unix(&directory.join("s"))];
    start(vec![ram("vm", 1 << 20)], &listen, Limits::default()).unwrap()
}

#[test]
fn vm_of_a_withdrawn_disk_reconnects_when_the_disk_returns() {
    let directory = TempDir::new().unwrap();
    let running = serve(directory.path());
    let socket = directory.path().join("v");
    let mut machine = Machine::new(false);
    machine.connect(&socket).unwrap();
    assert_eq!(machine.write(0, &[7; 4096]), 0);
    running.withdraw("vm").unwrap();
    assert!(Machine::new(false).connect(&socket).is_err(), "there is no disk to be had");
    running.add(ram("vm", 1 << 20)).unwrap();
    let mut machine = Machine::new(false);
    machine.connect(&socket).unwrap();
    assert_eq!(machine.read(0, 4096), vec![0; 4096]);
    running.stop().unwrap();
}
