//! TLS with certificates on both sides.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use tempfile::TempDir;
use tilemark_block_server::{Limits, Listen, ListenAddress, Running, StartError, Tls, start};

use crate::client::Client;
use crate::disks::{directory, ram};
use crate::tools::{has, run};

struct Authority(CertifiedIssuer<'static, KeyPair>);

/// Certificate and key, as PEM.
type Pair = (String, String);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn sign(&self, name: &str) -> Pair {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn serve(authority: &Authority) -> Running {
    let (certificate, key) = authority.sign("localhost");
    let tls = Tls::new(authority.pem().as_bytes(), certificate.as_bytes(), key.as_bytes()).unwrap();
    let place = ListenAddress::Tcp("127.0.0.1:0".parse().unwrap());
    let listen = [Listen { place, tls: Some(Arc::new(tls)) }];
    start(vec![ram("vm", 8 << 20)], &listen, Limits::default()).unwrap()
}

/// A stream under TLS behind the demand for it.
fn encrypted(
    running: &Running,
    trusted: &Authority,
    own: Option<&Pair>,
) -> std::io::Result<Client> {
    let ListenAddress::Tcp(address) = running.places()[0] else { panic!("it is TCP") };
    let mut stream = std::net::TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut greeting = [0; 18];
    std::io::Read::read_exact(&mut stream, &mut greeting)?;
    let ask = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 5, 0, 0, 0, 0]].concat();
    std::io::Write::write_all(&mut stream, &ask)?;
    let mut reply = [0; 20];
    std::io::Read::read_exact(&mut stream, &mut reply)?;
    assert_eq!(reply[8..], [0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0], "granted");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.pem().as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = match own {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
            config.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
    let stream = StreamOwned::new(session, stream);
    // The handshake of NBD goes on where it was; this client's begins with a greeting.
    Client::over(Box::new(Greeted { stream, greeting: greeting.to_vec() }), "vm", true)
}

/// A stream in front of which the greeting stands again, and whose first four bytes out, the client's
/// flags, were sent before.
struct Greeted<S> {
    stream: S,
    greeting: Vec<u8>,
}

impl<S: std::io::Read> std::io::Read for Greeted<S> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if self.greeting.is_empty() {
            return self.stream.read(bytes);
        }
        let taken = bytes.len().min(self.greeting.len());
        bytes[..taken].copy_from_slice(&self.greeting[..taken]);
        self.greeting.drain(..taken);
        Ok(taken)
    }
}

impl<S: std::io::Write> std::io::Write for Greeted<S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match bytes.strip_prefix(&[0, 0, 0, 3]) {
            Some(rest) if rest.starts_with(b"IHAVEOPT") => {
                self.stream.write_all(rest)?;
                Ok(bytes.len())
            }
            _ => self.stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

#[test]
fn a_client_with_a_certificate_of_the_authority_is_served() {
    let authority = Authority::new();
    let running = serve(&authority);
    let mut client = encrypted(&running, &authority, Some(&authority.sign("client"))).unwrap();
    for length in [1, 512, 5000, 100_000, 3 << 20] {
        let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        client.write(4096, &bytes).unwrap();
        assert!(client.read(4096, u32::try_from(length).unwrap()).unwrap() == bytes, "{length} B");
    }
    client.flush().unwrap();
    drop(client);
    running.stop().unwrap();
}

#[test]
fn a_client_without_one_or_with_one_of_somebody_else_is_not() {
    let authority = Authority::new();
    let running = serve(&authority);
    let stranger = Authority::new().sign("client");
    for own in [None, Some(&stranger)] {
        assert!(encrypted(&running, &authority, own).is_err());
    }
    assert!(Client::open(&running.places()[0], "vm").is_err(), "nor one in the clear");
    let own = authority.sign("client");
    let elsewhere = Authority::new();
    assert!(encrypted(&running, &elsewhere, Some(&own)).is_err(), "nor is a wrong server believed");
    assert!(encrypted(&running, &authority, Some(&own)).is_ok(), "others are not disturbed");
    assert_eq!(running.counts().requests, 0);
}

#[test]
fn certificates_that_do_not_fit_are_refused_at_the_start() {
    let authority = Authority::new();
    let ((certificate, _), (_, key)) = (authority.sign("a"), authority.sign("b"));
    let authority = authority.pem();
    for (authority, certificate, key) in [
        (&authority[..], &certificate[..], &key[..]),
        (&authority, "nothing", &key),
        (&authority, &certificate, "nothing"),
        ("nothing", &certificate, &key),
    ] {
        let error = Tls::new(authority.as_bytes(), certificate.as_bytes(), key.as_bytes());
        assert!(matches!(error, Err(StartError::Tls(_))), "{error:?}");
    }
}

/// The files that libnbd and QEMU look for.
fn certificates(authority: &Authority) -> TempDir {
    let directory = directory();
    let (certificate, key) = authority.sign("client");
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("ca-cert.pem", &authority.pem());
    write("client-cert.pem", &certificate);
    write("client-key.pem", &key);
    directory
}

fn uri(running: &Running, certificates: &Path) -> String {
    let ListenAddress::Tcp(address) = running.places()[0] else { panic!("it is TCP") };
    let port = address.port();
    format!("nbds://localhost:{port}/vm?tls-certificates={}", certificates.display())
}

#[test]
fn libnbd_comes_in_with_a_certificate_and_copies() {
    if !has("nbdinfo") || !has("nbdcopy") {
        return;
    }
    let authority = Authority::new();
    let running = serve(&authority);
    let certificates = certificates(&authority);
    let uri = uri(&running, certificates.path());
    let said = run("nbdinfo", &[&uri]);
    assert!(said.contains("newstyle-fixed with TLS"), "{said}");
    let (from, to) = (certificates.path().join("from"), certificates.path().join("to"));
    let bytes: Vec<u8> = (0..8 << 20).map(|at: u32| (at % 253).to_le_bytes()[0]).collect();
    std::fs::write(&from, &bytes).unwrap();
    run("nbdcopy", &["--flush", from.to_str().unwrap(), &uri]);
    run("nbdcopy", &[&uri, to.to_str().unwrap()]);
    assert!(std::fs::read(&to).unwrap() == bytes);
}

#[test]
fn qemu_comes_in_with_a_certificate() {
    if !has("qemu-img") {
        return;
    }
    let authority = Authority::new();
    let running = serve(&authority);
    let certificates = certificates(&authority);
    let ListenAddress::Tcp(address) = running.places()[0] else { panic!("it is TCP") };
    let object =
        format!("tls-creds-x509,id=t,endpoint=client,dir={}", certificates.path().display());
    let image = format!(
        "driver=nbd,server.type=inet,server.host=127.0.0.1,server.port={},export=vm,tls-creds=t,\
         tls-hostname=localhost",
        address.port()
    );
    let output = Command::new("qemu-img")
        .args(["info", "--object", &object, "--image-opts", &image])
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("virtual size: 8 MiB"), "{said}");
}
