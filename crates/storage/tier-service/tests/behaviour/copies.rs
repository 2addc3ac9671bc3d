//! Copies of logs as a server holds and sends them: files, sessions, certificates.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use block_server::{Catalog, ClientTls, Limits, Listen, ListenAddress, Offer, Running, Tls};
use nbd::Code;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tier::Mode;
use tilemark_tier_service::{Command, Copies, Hold, Opening, Proof, TakeOver};

use crate::client::Client;
use crate::served::{Host, open};

/// Starts a server that holds copies in `held` below a directory.
fn hold(directory: &Path, listen: Listen) -> Running {
    let hold = Hold::open(&directory.join("held")).expect("the directory is free");
    let catalog: Box<dyn Catalog> = Box::new(hold);
    block_server::start_with(
        Offer { catalog: Some(catalog), ..Offer::default() },
        &[listen],
        Limits::default(),
    )
    .expect("it starts")
}

fn names(directory: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(directory.join("held")).expect("it is there").flatten();
    let mut names: Vec<(String, u64)> = entries
        .map(|entry| {
            let bytes = entry.metadata().expect("it is there").len();
            (entry.file_name().into_string().expect("a name"), bytes)
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_holder_makes_and_empties_what_is_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = ListenAddress::Unix(directory.path().join("s"));
    let running = hold(directory.path(), Listen { place: place.clone(), tls: None });
    for name in ["log/../x/1", "log//1", "log/vm1/-1", "log/vm1", "logs/vm1/1", "vm1", "log/.vm1/1"]
    {
        assert!(Client::open(&place, name).is_err(), "{name}");
    }
    assert_eq!(names(directory.path()), [("tilemark-hold".to_owned(), 0)]);
    let mut first = Client::open(&place, "log/vm1/3").expect("it is made");
    first.write(8192, &[1; 4096]).expect("it is taken");
    let size = first.requests.agreed().size;
    let mut second = Client::open(&place, "log/vm1/5").expect("it is made");
    second.write(8192, &[2; 4096]).expect("it is taken");
    let found = names(directory.path());
    let known = [("tilemark-hold", 0), ("vm1.3.log", 8192), ("vm1.5.log", size), ("vm1.fence", 2)];
    assert_eq!(found, known.map(|(name, bytes)| (name.to_owned(), bytes)));
    assert!(
        Hold::open(&directory.path().join("held"))
            .is_err_and(|error| error.to_string().contains("in use")),
        "one server"
    );
    drop((first, second));
    running.stop().expect("it ends");
    // The fence is durable: the next server also knows which generations are over.
    let running = hold(directory.path(), Listen { place: place.clone(), tls: None });
    let mut old = Client::open(&place, "log/vm1/3").expect("it is told so");
    assert!(old.requests.agreed().abilities.has(nbd::Abilities::READ_ONLY));
    assert_eq!(old.read(0, 8192).expect("bytes come"), [0; 8192], "and empty");
    let mut second = Client::open(&place, "log/vm1/5").expect("it is there");
    assert_eq!(second.read(8192, 4096).expect("bytes come"), [2; 4096]);
    drop((old, second));
    running.stop().expect("it ends");
}

#[test]
fn directory_of_copies_refuses_other_files_and_links() {
    let directory = tempfile::tempdir().expect("a directory");
    let logs = directory.path().join("logs");
    std::fs::create_dir(&logs).expect("it is made");
    std::fs::write(logs.join("web.1.log"), [7; 10_000]).expect("it is written");
    let refused = Hold::open(&logs).expect_err("somebody's logs are there");
    assert!(refused.to_string().contains("not copies of logs") && refused.hint().is_some());
    assert_eq!(std::fs::read_dir(&logs).expect("it is there").count(), 1, "nothing is made");
    let foreign = directory.path().join("foreign");
    std::fs::write(&foreign, [7; 10_000]).expect("it is written");
    let place = ListenAddress::Unix(directory.path().join("s"));
    let running = hold(directory.path(), Listen { place: place.clone(), tls: None });
    for name in ["vm1.2.log", "vm1.3.log", "vm2.fence.new"] {
        let link = directory.path().join("held").join(name);
        std::os::unix::fs::symlink(&foreign, link).expect("it is planted");
    }
    assert!(
        Client::open(&place, "log/vm1/3").is_err() && Client::open(&place, "log/vm2/1").is_err()
    );
    let mut later = Client::open(&place, "log/vm1/4").expect("it is made");
    later.write(8192, &[1; 4096]).expect("it is taken");
    drop(later);
    running.stop().expect("it ends");
    assert_eq!(std::fs::read(&foreign).expect("it is there"), [7; 10_000]);
}

#[test]
fn a_disk_without_a_sidecar_is_not_taken_over_and_gets_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = directory.path().join("vm1.raw");
    std::fs::write(&disk, [7; 8192]).expect("it is written");
    let refused = TakeOver::open("vm1", disk, None, Proof::Word, &[])
        .expect_err("nobody owned it")
        .to_string();
    assert!(refused.contains("vm1.raw.tilemark-tier"), "{refused}");
    assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 1);
}

#[test]
fn later_session_or_generation_ends_earlier_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let place = ListenAddress::Unix(directory.path().join("s"));
    let running = hold(directory.path(), Listen { place: place.clone(), tls: None });
    let mut first = Client::open(&place, "log/vm1/1").expect("it is made");
    let mut other = Client::open(&place, "log/vm2/1").expect("it is made");
    first.write(8192, &[1; 4096]).expect("it is taken");
    let mut again = Client::open(&place, "log/vm1/1").expect("it is there");
    assert_eq!(first.write(8192, &[9; 4096]), Err(Code::Shutdown));
    assert_eq!(first.flush(), Err(Code::Shutdown));
    again.write(12288, &[2; 4096]).expect("it is taken");
    let mut taker = Client::open(&place, "log/vm1/2").expect("it is made");
    assert_eq!(again.write(8192, &[9; 4096]), Err(Code::NotPermitted));
    assert_eq!(again.flush(), Err(Code::NotPermitted));
    let mut old = Client::open(&place, "log/vm1/1").expect("it can be read");
    let bytes = old.read(8192, 8192).expect("bytes come");
    assert!(bytes[..4096] == [1; 4096] && bytes[4096..] == [2; 4096], "nothing late is in it");
    assert_eq!(taker.read(8192, 4096).expect("bytes come"), [0; 4096]);
    other.write(8192, &[3; 4096]).expect("another disk's copy is another matter");
    drop((first, again, taker, old, other));
    running.stop().expect("it ends");
}

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// PEM texts for one side: authority, certificate, key.
    fn pems(&self) -> [String; 3] {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("it is signed");
        [self.0.pem(), certificate.pem(), key.serialize_pem()]
    }

    pub fn server(&self) -> Arc<Tls> {
        let [authority, certificate, key] = self.pems();
        let tls = Tls::new(authority.as_bytes(), certificate.as_bytes(), key.as_bytes());
        Arc::new(tls.expect("they fit"))
    }

    pub fn client(&self) -> ClientTls {
        let [authority, certificate, key] = self.pems();
        ClientTls::new(authority.as_bytes(), certificate.as_bytes(), key.as_bytes())
            .expect("they fit")
    }
}

/// Starts a host whose disk needs a copy at this address.
fn copied(
    host: &Host,
    address: &str,
    tls: Option<ClientTls>,
) -> (Running, tilemark_tier_service::Control) {
    let peer = format!("b={address}").parse().expect("an address");
    let copies = Copies { count: 1, peers: vec![peer], tls };
    let set = open(&host.cache(), &[Opening { copies, ..host.opening() }]).expect("it opens");
    let listen = Listen { place: host.socket(), tls: None };
    let running =
        block_server::start_with(set.offer, &[listen], Limits::default()).expect("it starts");
    set.control.serve(&running);
    (running, set.control)
}

#[test]
fn peer_over_tls_holds_copies_and_returns_them() {
    let (ours, directory) = (Authority::new(), tempfile::tempdir().expect("a directory"));
    let place = ListenAddress::Tcp("127.0.0.1:0".parse().expect("an address"));
    let holder = hold(directory.path(), Listen { place, tls: Some(ours.server()) });
    let ListenAddress::Tcp(address) = holder.places()[0] else { panic!("it is TCP") };
    let address = format!("nbds://localhost:{}", address.port());
    let host = Host::new(Mode::Back);
    let (running, control) = copied(&host, &address, Some(ours.client()));
    let back = Command::Mode { disk: "vm1".to_owned(), back: true };
    control.ask(back, &running, Duration::from_secs(60)).expect("there is a copy in the end");
    let mut client = host.client();
    // More than TLS takes at once, so the request is sent in parts.
    for at in 0..8 {
        client.write(at * (512 << 10), &vec![7; 512 << 10]).expect("it is taken");
    }
    client.flush().expect("a flush is answered");
    drop(client);
    // A copy of the shared files: on this host, the owner's locks would refuse the take-over.
    let elsewhere = tempfile::tempdir().expect("a directory");
    let directory = elsewhere.path();
    let taken = {
        std::fs::copy(host.backing(), directory.join("disk.raw")).expect("room");
        let beside = "disk.raw.tilemark-tier";
        std::fs::copy(host.directory.path().join(beside), directory.join(beside)).expect("room");
        let moved = directory.join("disk.raw");
        let open =
            |accepted: &[String]| TakeOver::open("vm1", moved.clone(), None, Proof::Word, accepted);
        let refused = open(&[]).expect("nobody has it").carry_out(&[], None);
        let refused = refused.expect_err("it is a copy");
        assert!(
            refused.to_string().contains("backing store differs from the recorded one"),
            "{refused}"
        );
        let hint = refused.hint().expect("it can be accepted");
        let accepted = hint.split("--accept-identity ").nth(1).expect("a hint").to_owned();
        let mut disk = open(&[accepted]).expect("nobody has it");
        assert!(disk.has_log());
        let error = disk.carry_out(&[], None).expect_err("it wants certificates").to_string();
        assert!(
            error.contains("of the copies that the sidecar names (1), 0 can be read")
                && error.contains("TLS needs certificates"),
            "{error}"
        );
        let theirs = Authority::new();
        disk.carry_out(&[], Some(&theirs.client())).expect_err("another authority is none");
        let taken = disk.carry_out(&[], Some(&ours.client())).expect("there is a copy");
        let content = std::fs::read(directory.join("disk.raw")).expect("the file");
        assert!(content[..4 << 20].iter().all(|byte| *byte == 7), "all that was answered is there");
        taken
    };
    assert!(taken.copy.is_some(), "{taken:?}");
    // The old owner still runs, and learns from the holder that it is fenced.
    let mut client = host.client();
    assert!(client.write(0, &[8; 4096]).is_err(), "it answers nothing any more");
    drop(client);
    running.stop().expect("it ends");
    holder.stop().expect("it ends");
}

#[test]
fn beyond_this_machine_nothing_is_said_in_the_clear() {
    for wrong in ["b", "b=", "=nbd://localhost", "b/c=nbd://localhost", "b=http://localhost"] {
        assert!(wrong.parse::<tilemark_tier_service::PeerAddress>().is_err(), "{wrong}");
    }
    let long = format!("b=nbd://{}", "x".repeat(64)).parse::<tilemark_tier_service::PeerAddress>();
    assert!(long.expect_err("it does not fit").text.contains("longer than 64 B"));
    let place = ListenAddress::Tcp("0.0.0.0:0".parse().expect("an address"));
    let listen = Listen { place, tls: None };
    let refused = block_server::start_with(Offer::default(), &[listen], Limits::default());
    assert!(refused.expect_err("must be encrypted").to_string().contains("without TLS"));
}
