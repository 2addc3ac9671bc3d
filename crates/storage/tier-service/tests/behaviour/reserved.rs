//! Hosts around one device with reservations, by the model of `faults`. Each host has its own file
//! as the content of the device: only the ownership is tested, and all share one sidecar.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use block_server::{ReservationError, Reservations};
use tier::Mode;
use tier::format::Sidecar;
use tilemark_tier_service::{Command, Opening, Proof, Reserve, SetError, TakeOver};

use crate::client::Client;
use crate::served::{Host, Served, open, word};

type Device = Arc<Mutex<faults::Reservations>>;

/// Connection of a host to the device.
#[derive(Debug)]
struct Port {
    device: Device,
    host: u8,
}

impl Port {
    fn ask(
        &self,
        what: impl FnOnce(&mut faults::Reservations, u8) -> Result<(), faults::Conflict>,
    ) -> Result<(), ReservationError> {
        let mut device = self.device.lock().expect("no panic");
        what(&mut device, self.host).map_err(|faults::Conflict| ReservationError::Conflict)
    }
}

impl Reservations for Port {
    fn register(&self, _: BorrowedFd<'_>, old: u64, new: u64) -> Result<(), ReservationError> {
        self.ask(|device, host| device.register(host, old, new))
    }

    fn reserve(&self, _: BorrowedFd<'_>, key: u64) -> Result<(), ReservationError> {
        self.ask(|device, host| device.reserve(host, key))
    }

    fn preempt(&self, _: BorrowedFd<'_>, own: u64, theirs: u64) -> Result<(), ReservationError> {
        self.ask(|device, host| device.preempt(host, own, theirs))
    }
}

/// Hosts with a shared sidecar.
struct Hosts {
    hosts: Vec<Host>,
    device: Device,
}

impl Hosts {
    fn new(mode: Mode) -> Self {
        Self { hosts: vec![Host::new(mode), Host::new(mode)], device: Arc::default() }
    }

    fn reserve(&self, host: usize) -> Reserve {
        let host = u8::try_from(host).expect("few");
        let device = Arc::clone(&self.device);
        Reserve { by: Arc::new(Port { device, host }), key: u64::from(host) + 10 }
    }

    fn sidecar(&self) -> PathBuf {
        self.hosts[0].directory.path().join("sidecar")
    }

    fn opening(&self, host: usize) -> Opening {
        let (sidecar, reserve) = (Some(self.sidecar()), Some(self.reserve(host)));
        Opening { sidecar, reserve, ..self.hosts[host].opening() }
    }

    fn serve(&self, host: usize) -> Result<Served, SetError> {
        self.hosts[host].serve_as(self.opening(host)).map(|(served, _)| served)
    }

    fn take(&self, host: usize) -> TakeOver {
        let (backing, beside) = (self.hosts[host].backing(), Some(self.sidecar()));
        let accepted = [word(&backing, &self.sidecar())];
        let taken = TakeOver::open("vm1", backing, beside, Proof::Reservation, &accepted);
        taken.expect("it is there")
    }

    fn said(&self) -> Sidecar {
        let bytes = std::fs::read(self.sidecar()).expect("the sidecar");
        Sidecar::newest(&bytes[..8192]).expect("it is one")
    }

    /// Holder of the device, and the keys of both hosts.
    fn device(&self) -> (Option<u8>, [u64; 2]) {
        let device = self.device.lock().expect("no panic");
        (device.holder(), [device.key(0), device.key(1)])
    }
}

#[test]
fn device_has_one_host_and_is_released_with_a_complete_disk() {
    let hosts = Hosts::new(Mode::Through);
    let served = hosts.serve(0).expect("nobody holds it");
    assert_eq!((hosts.device(), hosts.said().key), ((Some(0), [10, 0]), 10));
    let refused = hosts.serve(1).map(drop).expect_err("another one holds it");
    assert!(matches!(refused, SetError::ReservedElsewhere { .. }), "{refused}");
    assert_eq!(hosts.device(), (Some(0), [10, 0]), "it is registered no more");
    served.running.stop().expect("it ends in order");
    assert_eq!((hosts.device(), hosts.said().key), ((None, [0, 0]), 0));
    let served = hosts.serve(1).expect("nobody holds it");
    assert_eq!(hosts.device(), (Some(1), [0, 11]));
    served.ask(Command::Detach { disk: "vm1".to_owned() }).expect("it goes");
    assert_eq!((hosts.device(), hosts.said().key), ((None, [0, 0]), 0));
}

#[test]
fn device_stays_reserved_while_dirty_and_after_a_kill() {
    let hosts = Hosts::new(Mode::Back);
    let served = hosts.serve(0).expect("nobody holds it");
    hosts.hosts[0].client().write(0, &[7; 4096]).expect("it is taken");
    served.running.stop().expect("it ends in order");
    assert_eq!(hosts.device(), (Some(0), [10, 0]), "its log is its own");
    // A set that is dropped without closing is as after a kill.
    drop(open(&hosts.hosts[0].cache(), &[hosts.opening(0)]).expect("it is its own still"));
    assert_eq!(hosts.device(), (Some(0), [10, 0]));
    let plain = Opening { reserve: None, ..hosts.opening(0) };
    let refused = open(&hosts.hosts[0].cache(), &[plain]).map(drop).expect_err("it is reserved");
    assert_eq!(refused.hint().as_deref(), Some("--reserve"), "{refused}");
    let served = hosts.serve(0).expect("it goes on with its own key");
    served.ask(Command::Detach { disk: "vm1".to_owned() }).expect("it goes");
    assert_eq!(hosts.device(), (None, [0, 0]));
}

#[test]
fn otherwise_refused_disk_leaves_its_reservation_unchanged() {
    let hosts = Hosts::new(Mode::Through);
    std::fs::write(hosts.sidecar(), "something else").expect("room");
    let refused = hosts.serve(0).map(drop).expect_err("that is no sidecar");
    assert!(matches!(refused, SetError::Sidecar { .. }), "{refused}");
    assert_eq!(hosts.device(), (None, [0, 0]));
    // A key that Tilemark did not register is not changed.
    hosts.device.lock().expect("no panic").register(0, 0, 99).expect("it has none");
    let refused = hosts.serve(0).map(drop).expect_err("something else uses it");
    assert!(matches!(refused, SetError::OtherKey { .. }), "{refused}");
    assert_eq!(hosts.device(), (None, [99, 0]));
}

#[test]
fn running_owner_is_fenced_by_take_over() {
    let hosts = Hosts::new(Mode::Through);
    let served = hosts.hosts[0].serve_as(hosts.opening(0));
    let (served, told) = served.expect("nobody holds it");
    let mut client = hosts.hosts[0].client();
    client.write(0, &[1; 4096]).expect("it is taken");
    // The old owner has the sidecar open and locked, and goes on writing.
    let mut taking = hosts.take(1);
    taking.reserve(&hosts.reserve(1)).expect("its owner is registered");
    assert_eq!(hosts.device(), (Some(1), [0, 11]));
    // A take-over that was interrupted here can be repeated.
    drop(taking);
    let mut taking = hosts.take(1);
    taking.reserve(&hosts.reserve(1)).expect("it is its own by now");
    let taken = taking.carry_out(&[], None).expect("the backing store is all there is");
    drop(taking);
    let said = hosts.said();
    assert_eq!((said.generation, said.key, said.stays), (taken.generation, 11, true));
    // A change of the sidecar counts only if the device confirms the reservation.
    let asked = Command::Mode { disk: "vm1".to_owned(), back: true };
    let waited = served.control.ask(asked, &served.running, Duration::from_millis(1));
    assert!(waited.is_err(), "nobody is in mode back");
    let words = told.recv().expect("it says so");
    assert!(words.contains("another host has taken the reservation"), "{words}");
    assert!(client.write(0, &[2; 4096]).is_err() && client.read(0, 4096).is_err());
    assert_eq!(hosts.said(), said, "what it wrote is nobody's sidecar");
    drop(client);
    served.running.stop().expect("it ends");
    assert_eq!((hosts.device(), hosts.said()), ((Some(1), [0, 11]), said));
    let refused = hosts.serve(0).map(drop).expect_err("another one holds it");
    assert!(matches!(refused, SetError::ReservedElsewhere { .. }), "{refused}");
    let served = hosts.serve(1).expect("it is its own");
    served.ask(Command::Detach { disk: "vm1".to_owned() }).expect("it goes");
    assert_eq!(hosts.device(), (Some(1), [0, 11]), "it alone keeps the first one from writing");
    hosts.take(0).reserve(&hosts.reserve(0)).expect("it may be taken again");
    assert_eq!(hosts.device(), (Some(0), [10, 0]));
}

#[test]
fn new_sidecar_replaces_only_files_of_interrupted_take_overs() {
    let hosts = Hosts::new(Mode::Through);
    drop(open(&hosts.hosts[0].cache(), &[hosts.opening(0)]).expect("nobody holds it"));
    let (before, new) = (hosts.said(), hosts.sidecar().with_extension("new"));
    let refuses = || {
        let refused = hosts.take(1).reserve(&hosts.reserve(1)).expect_err("it is somebody's");
        assert_eq!((hosts.device(), hosts.said()), ((Some(0), [10, 0]), before.clone()));
        refused.to_string()
    };
    std::fs::write(&new, "a note").expect("room");
    assert!(refuses().contains("is not a sidecar of a tier; it is left as it is"));
    assert_eq!(std::fs::read_to_string(&new).expect("it is there"), "a note");
    let kept = new.with_extension("kept");
    std::fs::rename(&new, &kept).expect("room");
    std::os::unix::fs::symlink(&kept, &new).expect("room");
    refuses();
    assert!(new.is_symlink());
    std::fs::remove_file(&new).expect("it is there");
    // Interrupted before the new file had content, or before it was renamed.
    std::fs::write(&new, "").expect("room");
    hosts.take(1).reserve(&hosts.reserve(1)).expect("its owner is registered");
    std::fs::copy(hosts.sidecar(), &new).expect("room");
    hosts.take(0).reserve(&hosts.reserve(0)).expect("its owner is registered");
    assert!(!new.exists());
}

#[test]
fn a_reservation_that_an_owner_never_had_is_no_proof() {
    let hosts = Hosts::new(Mode::Through);
    let plain = Opening { reserve: None, ..hosts.opening(0) };
    let (served, _) = hosts.hosts[0].serve_as(plain).expect("it needs none");
    let refused = hosts.take(1).reserve(&hosts.reserve(1)).expect_err("it proves nothing");
    assert!(refused.to_string().contains("holds no reservation"), "{refused}");
    assert_eq!(hosts.device(), (None, [0, 0]));
    let mut client = Client::open(&hosts.hosts[0].socket(), "vm1").expect("it is served");
    client.write(0, &[1; 4096]).expect("it is its own still");
    served.running.stop().expect("it ends in order");
}

#[test]
fn device_of_a_third_host_is_not_taken_over() {
    let hosts = Hosts::new(Mode::Through);
    drop(open(&hosts.hosts[0].cache(), &[hosts.opening(0)]).expect("nobody holds it"));
    {
        let mut device = hosts.device.lock().expect("no panic");
        device.register(2, 0, 12).expect("anybody may");
        device.preempt(2, 12, 10).expect("it is registered");
    }
    let before = hosts.said();
    let refused = hosts.take(1).reserve(&hosts.reserve(1)).expect_err("it is held");
    assert!(refused.to_string().contains("that its sidecar does not name"), "{refused}");
    assert_eq!((hosts.device(), hosts.said()), ((Some(2), [0, 0]), before));
}
