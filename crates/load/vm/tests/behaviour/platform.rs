//! A server of an API over HTTPS on loopback, for platforms that are not available here. The
//! function that makes the answers keeps the state.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// A request as it was received.
#[derive(Debug, Clone)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub authorization: String,
    pub body: String,
}

/// Status line and body of an answer.
pub type Told = (String, String);

/// Makes an answer of a status line and a body.
pub fn told(status: &str, body: impl Into<String>) -> Told {
    (status.to_owned(), body.into())
}

/// A server until the end of the program.
pub struct Server {
    /// Address, `https://127.0.0.1:PORT`.
    pub at: String,
    /// Directory of certificate, token and ledgers.
    pub directory: TempDir,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub fn of(token: &str, answer: impl Fn(&Asked) -> Told + Send + 'static) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let own =
            rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
        std::fs::write(directory.path().join("ca.pem"), own.cert.pem()).expect("written");
        std::fs::write(directory.path().join("token"), format!("{token}\n")).expect("written");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .expect("a server");
        let (config, asked) = (Arc::new(config), Arc::<Mutex<Vec<Asked>>>::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let at = format!("https://127.0.0.1:{}", listener.local_addr().expect("bound").port());
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let tls = ServerConnection::new(Arc::clone(&config)).expect("a connection");
                let mut stream = BufReader::new(StreamOwned::new(tls, stream));
                let Some(question) = read(&mut stream) else { continue };
                log.lock().expect("no panic").push(question.clone());
                let (status, body) = answer(&question);
                let text =
                    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                let stream = stream.get_mut();
                let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
            }
        });
        Self { at, directory, asked }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Number of requests with this method and path.
    pub fn count(&self, method: &str, part: &str) -> usize {
        let all = self.asked();
        all.iter().filter(|own| own.method == method && own.path.contains(part)).count()
    }
}

fn read(stream: &mut impl BufRead) -> Option<Asked> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let header = |name: &str| {
        let own = lines.iter().find_map(|line| line.strip_prefix(name));
        own.unwrap_or_default().to_owned()
    };
    let length = header("Content-Length: ").parse().unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let mut first = lines[0].split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let body = String::from_utf8(body).ok()?;
    Some(Asked { method, path, authorization: header("Authorization: "), body })
}
