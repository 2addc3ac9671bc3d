//! Small service on this host's loopback address, with one thread for each connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tilemark_engine::client::{Address, Login, Service};

/// Handler of a request on a connection. Returns true to keep the connection.
type Answer = dyn Fn(&mut TcpStream) -> bool + Send + Sync;

pub struct Server {
    pub service: Arc<Service>,
    /// Connections that asked for something.
    pub connections: Arc<AtomicUsize>,
}

/// A service that answers so. Its threads end with the connections, its listener with the test.
pub fn serve(answer: impl Fn(&mut TcpStream) -> bool + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (answer, connections): (Arc<Answer>, _) = (Arc::new(answer), Arc::default());
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, counted) = (Arc::clone(&answer), Arc::clone(&counted));
            std::thread::spawn(move || talk(stream, &*answer, &counted));
        }
    });
    Server { service: service(port), connections }
}

/// A service that nobody offers any more.
pub fn gone() -> Arc<Service> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    service(listener.local_addr().expect("an address").port())
}

fn service(port: u16) -> Arc<Service> {
    let text = format!("http://127.0.0.1:{port}/page");
    let address = Address::parse(&text, "http").expect("an address");
    Arc::new(
        Service::reach(address, Login::default(), Duration::from_secs(30)).expect("it listens"),
    )
}

fn talk(mut stream: TcpStream, answer: &Answer, counted: &AtomicUsize) {
    let _ = stream.set_nodelay(true);
    let (mut head, mut byte, mut is_first) = (Vec::new(), [0], true);
    while let Ok(1) = stream.read(&mut byte) {
        head.push(byte[0]);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        assert!(head.starts_with(b"GET /page HTTP/1.1\r\nHost: 127.0.0.1:"), "{head:?}");
        head.clear();
        counted.fetch_add(usize::from(std::mem::take(&mut is_first)), Ordering::Relaxed);
        if !answer(&mut stream) {
            return;
        }
    }
}

/// Sends bytes and keeps the connection; the caller may be gone.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}

pub const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
