//! Server of fixed documents over HTTP/1.1, with TLS if wanted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sha2::{Digest, Sha256};

/// Documents by path; other paths are not found.
pub type Documents = Vec<(&'static str, String)>;

/// Server that runs until the end of the program.
pub struct Server {
    /// Address `127.0.0.1:PORT`.
    pub at: String,
    /// SHA-256 of its certificate, if it has one.
    pub fingerprint: String,
    documents: Arc<Mutex<Documents>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Server over a plain connection, without a password.
    pub fn of(documents: &[(&'static str, &str)]) -> Self {
        Self::start(documents, false, None)
    }

    /// Server with its own certificate that requires this `Authorization`.
    pub fn secret(documents: &[(&'static str, &str)], wants: &'static str) -> Self {
        Self::start(documents, true, Some(wants))
    }

    fn start(documents: &[(&'static str, &str)], tls: bool, wants: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let at = format!("127.0.0.1:{}", listener.local_addr().expect("bound").port());
        let own = |(path, body): &(&'static str, &str)| (*path, (*body).to_owned());
        let documents: Arc<Mutex<Documents>> =
            Arc::new(Mutex::new(documents.iter().map(own).collect()));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let certificate = tls.then(certificate);
        let fingerprint = certificate.as_ref().map_or_else(String::new, |own| own.1.clone());
        let config = certificate.map(|(config, _)| config);
        let (known, log) = (Arc::clone(&documents), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = |path: &str| {
                    let all = known.lock().expect("no panic");
                    all.iter().find(|own| own.0 == path).map(|own| own.1.clone())
                };
                match &config {
                    None => serve(stream, wants, &log, answer),
                    Some(config) => {
                        let tls = ServerConnection::new(Arc::clone(config)).expect("a connection");
                        serve(StreamOwned::new(tls, stream), wants, &log, answer);
                    }
                }
            }
        });
        Self { at, fingerprint, documents, asked }
    }

    /// Sets the document at a path.
    pub fn set(&self, path: &'static str, body: &str) {
        let mut all = self.documents.lock().expect("no panic");
        all.retain(|own| own.0 != path);
        all.push((path, body.to_owned()));
    }

    /// Requested paths.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }
}

fn serve<S: Read + Write>(
    stream: S,
    wants: Option<&str>,
    asked: &Mutex<Vec<String>>,
    answer: impl Fn(&str) -> Option<String>,
) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let path = head[0].split(' ').nth(1).unwrap_or_default().to_owned();
    let is_allowed = wants
        .is_none_or(|wants| head.iter().any(|line| *line == format!("Authorization: {wants}")));
    let (status, body) = match (is_allowed, answer(&path)) {
        (false, _) => ("401 Unauthorized", String::new()),
        (true, Some(body)) => ("200 OK", body),
        (true, None) => ("404 Not Found", "{}".to_owned()),
    };
    asked.lock().expect("no panic").push(path);
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let stream = reader.get_mut();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

fn certificate() -> (Arc<ServerConfig>, String) {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let der = own.cert.der().clone();
    let digest = Sha256::digest(&der).iter().map(|byte| format!("{byte:02x}")).collect();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![der], key)
        .expect("a server");
    (Arc::new(config), digest)
}
