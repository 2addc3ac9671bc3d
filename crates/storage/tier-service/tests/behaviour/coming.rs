//! Disks that are attached and detached while others are served.

use std::path::PathBuf;

use block_server::{Limits, Listen, ListenAddress};
use tier::Mode;
use tilemark_tier_service::{Coming, Command, Hold};

use crate::client::Client;
use crate::served::{DISK_BYTES, Dice, Host, Served, play};

/// Settings of a second disk in a host's directory.
fn second(host: &Host, back: bool) -> Coming {
    let backing = host.directory.path().join("second.raw");
    if !backing.exists() {
        std::fs::write(&backing, vec![0; DISK_BYTES]).expect("room");
    }
    Coming {
        disk: "vm2".to_owned(),
        backing,
        back,
        sidecar: None,
        copies: 0,
        peers: Vec::new(),
        reserve: false,
        accepted: Vec::new(),
        elsewhere: None,
    }
}

fn attach(served: &Served, coming: &Coming) -> Result<(), String> {
    served
        .ask(Command::Attach(Box::new(coming.clone())))
        .map(|_| ())
        .map_err(|refusal| refusal.text)
}

fn detach(served: &Served, disk: &str) -> Result<(), String> {
    served
        .ask(Command::Detach { disk: disk.to_owned() })
        .map(|_| ())
        .map_err(|refusal| refusal.text)
}

fn sidecar_of(backing: &std::path::Path) -> PathBuf {
    let mut name = backing.as_os_str().to_owned();
    name.push(".tilemark-tier");
    name.into()
}

#[test]
fn disks_come_and_go_beside_one_that_is_worked_with() {
    for mode in [Mode::Back, Mode::Through] {
        let host = Host::new(mode);
        let served = host.serve();
        let (mut first, mut other) = (vec![0; DISK_BYTES], vec![0; DISK_BYTES]);
        let mut dice = Dice(21);
        for round in 0..4 {
            let coming = second(&host, round % 2 == 0);
            let mut client = host.client();
            std::thread::scope(|scope| {
                let working =
                    scope.spawn(|| play(&mut client, &mut first, &mut Dice(round + 5), 300));
                assert!(Client::open(&host.socket(), "vm2").is_err(), "it is not there");
                attach(&served, &coming).expect("it comes");
                let mut two = Client::open(&host.socket(), "vm2").expect("it is served");
                play(&mut two, &mut other, &mut dice, 150);
                detach(&served, "vm2").expect("it goes");
                assert!(two.wait_any_is_over(), "its clients are gone");
                let content = std::fs::read(&coming.backing).expect("the file");
                assert!(content == other, "{mode:?}, round {round}: all of it is out");
                working.join().expect("no panic");
            });
            let report = served.report();
            let names: Vec<&str> = report.disks.iter().map(|disk| disk.name.as_str()).collect();
            assert_eq!((names, report.counters.checksum_errors), (vec!["vm1"], 0));
            // No process holds the detached file, so anyone may write to it.
            other[..4096].fill(u8::try_from(round).expect("small") + 7);
            let file =
                std::fs::File::options().write(true).open(&coming.backing).expect("the file");
            std::os::unix::fs::FileExt::write_all_at(&file, &other[..4096], 0).expect("room");
        }
        served.running.stop().expect("it ends in order");
        let served = host.serve();
        served.ask(Command::Drain { disk: "vm1".to_owned() }).expect("it drains");
        assert!(host.content() == first);
    }
}

#[test]
fn set_without_disks_serves_and_reuses_every_entry() {
    let host = Host::new(Mode::Back);
    let set = crate::served::open(&host.cache(), &[]).expect("it opens");
    let listen = Listen { place: host.socket(), tls: None };
    let running =
        block_server::start_with(set.offer, &[listen], Limits::default()).expect("it starts");
    let served = Served { running, control: set.control, was_clean: true, pages: 0 };
    let most = 16;
    for round in 0..3 {
        let mut count = 0;
        loop {
            let backing = host.directory.path().join(format!("{count}.raw"));
            std::fs::write(&backing, vec![0; 1 << 20]).expect("room");
            let disk = format!("vm{count}");
            let coming = Coming { disk, backing, ..second(&host, true) };
            match attach(&served, &coming) {
                Ok(()) => count += 1,
                Err(error) => {
                    assert!(error.contains("has room for"), "round {round}: {error}");
                    break;
                }
            }
            let mut client = Client::open(&host.socket(), &coming.disk).expect("it is served");
            client.write(0, &[1; 4096]).expect("it is taken");
            assert!(count <= most, "a set has room for some");
        }
        assert!(count > 3, "{count} disks");
        for disk in 0..count {
            detach(&served, &format!("vm{disk}")).expect("it goes");
        }
        assert!(served.report().disks.is_empty());
    }
    served.running.stop().expect("it ends in order");
    let examined = tilemark_tier_service::Set::examine(&host.cache()).expect("it is a set");
    assert!(examined.disks.is_empty(), "nothing of them stays");
}

#[test]
fn refused_attach_gives_a_reason_and_leaves_nothing_behind() {
    let host = Host::new(Mode::Back);
    let served = host.serve();
    let good = second(&host, true);
    let refusal = |coming: &Coming| attach(&served, coming).expect_err("refused");
    let twice = Coming { disk: "vm1".to_owned(), ..good.clone() };
    assert!(refusal(&twice).contains("vm1 is not attached: a disk of this name is already served"));
    let named = Coming { disk: "../vm2".to_owned(), ..good.clone() };
    assert!(refusal(&named).contains("is not a valid disk name"));
    let missing = Coming { backing: host.directory.path().join("no"), ..good.clone() };
    assert!(refusal(&missing).contains("vm2 is not attached: "));
    let ours = Coming { backing: host.backing(), ..good.clone() };
    assert!(refusal(&ours).contains("in use"));
    let copies = Coming { copies: 1, ..good.clone() };
    assert!(refusal(&copies).contains("copies of the log: 1, peers for them: 0"));
    assert!(!sidecar_of(&good.backing).exists(), "the sidecar that was made for it is gone");
    let peers = Coming { peers: vec!["b".to_owned()], ..good.clone() };
    assert!(refusal(&peers).contains("a peer is NAME=ADDRESS"));
    std::fs::write(host.directory.path().join("letter"), [7; 12288]).expect("room");
    let sidecar = Some(host.directory.path().join("letter"));
    assert!(refusal(&Coming { sidecar, ..good.clone() }).contains("is not a sidecar of a tier"));
    // The newest writes are in the log of another set, which serves the disk.
    let other = Host::new(Mode::Back);
    let elsewhere = other.serve();
    other.client().write(0, &[1; 4096]).expect("it is taken");
    let theirs = Coming { backing: other.backing(), ..good.clone() };
    assert!(refusal(&theirs).contains("in use"));
    let copied = host.directory.path().join("copied.raw");
    std::fs::copy(other.backing(), &copied).expect("room");
    std::fs::copy(sidecar_of(&other.backing()), sidecar_of(&copied)).expect("room");
    let dirty = Coming { disk: "vm1".to_owned(), backing: copied, ..good.clone() };
    let empty = Host::new(Mode::Back);
    let set = crate::served::open(&empty.cache(), &[]).expect("it opens");
    let listen = Listen { place: empty.socket(), tls: None };
    let running =
        block_server::start_with(set.offer, &[listen], Limits::default()).expect("it starts");
    let third = Served { running, control: set.control, was_clean: true, pages: 0 };
    let error = attach(&third, &dirty).expect_err("it is another set's");
    assert!(error.contains("newest writes are in the log of another cache"), "{error}");
    let unknown = detach(&served, "vm2").expect_err("it is not there");
    assert_eq!(unknown, "no disk \"vm2\"; the disks are vm1");
    let none = detach(&third, "vm1").expect_err("it is not there");
    assert_eq!(none, "no disk \"vm1\"; no disk is served");
    // The refused disk is accepted once the cause is gone.
    attach(&served, &good).expect("it comes");
    assert_eq!(served.report().disks.len(), 2);
    elsewhere.running.stop().expect("it ends in order");
}

#[test]
fn attached_disk_keeps_its_log_and_is_not_taken_for_changed() {
    let host = Host::new(Mode::Back);
    let coming = second(&host, true);
    let served = host.serve();
    attach(&served, &coming).expect("it comes");
    let mut client = Client::open(&host.socket(), "vm2").expect("it is served");
    client.write(0, &[9; 512 << 10]).expect("it is taken");
    drop(client);
    // The waiting writes stay in the log.
    served.running.stop().expect("it ends in order");
    let served = host.serve();
    assert!(Client::open(&host.socket(), "vm2").is_err(), "nobody told this one to serve it");
    attach(&served, &coming).expect("it comes");
    let mut client = Client::open(&host.socket(), "vm2").expect("it is served");
    assert!(client.read(0, 512 << 10).expect("bytes come") == [9; 512 << 10]);
    detach(&served, "vm2").expect("it goes");
    let content = std::fs::read(&coming.backing).expect("the file");
    assert!(content[..512 << 10].iter().all(|byte| *byte == 9));
}

#[test]
fn attached_disk_has_copies_until_it_is_detached() {
    let host = Host::new(Mode::Through);
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("b");
    let catalog = Box::new(Hold::open(&directory.path().join("held")).expect("a directory"));
    let listen = Listen { place: ListenAddress::Unix(socket.clone()), tls: None };
    let offer = block_server::Offer { catalog: Some(catalog), ..block_server::Offer::default() };
    let holder = block_server::start_with(offer, &[listen], Limits::default()).expect("it starts");
    let served = host.serve();
    served.control.serve(&served.running);
    let peers = vec![format!("b=nbd+unix:///?socket={}", socket.display())];
    let coming = Coming { copies: 1, peers, ..second(&host, true) };
    for round in 0..2 {
        attach(&served, &coming).expect("it comes");
        let back = Command::Mode { disk: "vm2".to_owned(), back: true };
        served.ask(back).expect("there is a copy in the end");
        let mut client = Client::open(&host.socket(), "vm2").expect("it is served");
        client.write(0, &[3 + round; 64 << 10]).expect("it is taken");
        let report = served.report();
        let disk = report.disks.iter().find(|disk| disk.name == "vm2").expect("it is there");
        assert_eq!((disk.holding, disk.peers.len(), disk.mode.as_str()), (1, 1, "back"));
        detach(&served, "vm2").expect("it goes");
        let content = std::fs::read(&coming.backing).expect("the file");
        assert!(content[..64 << 10].iter().all(|byte| *byte == 3 + round));
    }
    served.running.stop().expect("it ends in order");
    holder.stop().expect("it ends");
}
