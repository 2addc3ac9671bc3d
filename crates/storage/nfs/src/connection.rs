//! TCP connection to a service. Calls are sent at once; a thread reads the answers and passes them
//! on.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_reuseaddr, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::call::{self, Procedure, RECORD_MAX};
use crate::error::{Lost, Trouble};
use crate::xdr::{Reader, Writer};

/// Maximum time to connect.
const CONNECT_MAX: Duration = Duration::from_secs(10);
const SEND_MAX: Duration = Duration::from_secs(30);
/// Interval at which silence is checked. A connection with open calls is lost after [`TICKS_MAX`]
/// silent intervals, 30 s in all. Our choice: the kernel's SCSI layer waits as long for a command.
const TICK: Duration = Duration::from_secs(10);
const TICKS_MAX: u32 = 3;
/// Ports that only root may use. Servers may require one (`secure` of exports(5)).
const RESERVED: std::ops::RangeInclusive<u16> = 665..=1023;

/// Callback for an answer. It is called once, on the thread that reads answers.
type Done = Box<dyn FnOnce(Result<Reader<'_>, Trouble>) + Send>;

#[derive(Default)]
struct State {
    last: u32,
    open: BTreeMap<u32, Done>,
    /// Reason why the connection is lost; `None` while it is not.
    lost: Option<Lost>,
}

/// Connection to a service. Dropping it closes the connection.
pub(crate) struct Connection {
    state: Arc<Mutex<State>>,
    credentials: Vec<u8>,
    sender: Mutex<TcpStream>,
    reader: Option<JoinHandle<()>>,
    ended: Mutex<Receiver<Lost>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connection {
    /// Connects to an address. If the process runs as root, it uses a port that only root may use.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let stream = connected(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(SEND_MAX))?;
        let receiver = stream.try_clone()?;
        let state = Arc::new(Mutex::new(State::default()));
        let own = Arc::clone(&state);
        let (tell, ended) = mpsc::channel();
        let reader =
            std::thread::Builder::new().name("nfs-answers".to_owned()).spawn(move || {
                let why = Answers { stream: receiver, state: &own, quiet: 0 }.hand_out();
                let (why, open) = {
                    let mut state = held(&own);
                    let why = state.lost.get_or_insert(why).clone();
                    (why, std::mem::take(&mut state.open))
                };
                open.into_values().for_each(|done| done(Err(Trouble::Lost)));
                let _ = tell.send(why);
            })?;
        let (sender, ended) = (Mutex::new(stream), Mutex::new(ended));
        let credentials = call::credentials();
        Ok(Self { state, credentials, sender, reader: Some(reader), ended })
    }

    /// Sends a call without waiting for the answer. `done` must not wait for another answer.
    pub fn call(
        &self,
        procedure: Procedure,
        body: Writer,
        done: impl FnOnce(Result<Reader<'_>, Trouble>) + Send + 'static,
    ) {
        let id = {
            let mut state = held(&self.state);
            if state.lost.is_some() {
                drop(state);
                return done(Err(Trouble::Lost));
            }
            state.last = state.last.wrapping_add(1);
            let id = state.last;
            state.open.insert(id, Box::new(done));
            id
        };
        let record = call::record(id, procedure, &self.credentials, &body.into_bytes());
        let mut sender = held(&self.sender);
        if let Err(error) = sender.write_all(&record) {
            held(&self.state).lost.get_or_insert(lost("sending", &error));
            // The thread that reads sees the end, and fails all that is open.
            let _ = sender.shutdown(Shutdown::Both);
        }
    }

    /// Sends a call and waits for the answer. Must not be used in the `done` of another call.
    pub fn ask<T: Send + 'static>(
        &self,
        procedure: Procedure,
        body: Writer,
        read: impl FnOnce(Reader<'_>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (tell, told) = mpsc::channel();
        self.call(procedure, body, move |answer| {
            let _ = tell.send(answer.and_then(read));
        });
        told.recv().unwrap_or(Err(Trouble::Lost))
    }

    /// Waits until the connection is lost, and returns the reason.
    pub fn wait(&self) -> Lost {
        held(&self.ended).recv().unwrap_or(Lost::Closed)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = held(&self.sender).shutdown(Shutdown::Both);
        if let Some(reader) = self.reader.take()
            && reader.thread().id() != std::thread::current().id()
        {
            let _ = reader.join();
        }
    }
}

/// Reader of a connection's answers.
struct Answers<'a> {
    stream: TcpStream,
    state: &'a Mutex<State>,
    /// Number of intervals without a byte while an answer was expected.
    quiet: u32,
}

impl Answers<'_> {
    /// Passes every answer to the callback of its call. Returns the reason when no more answers can
    /// come.
    fn hand_out(mut self) -> Lost {
        let mut record = Vec::new();
        loop {
            if let Err(why) = self.read(&mut record) {
                return why;
            }
            let Ok(id) = call::answered(&record) else {
                return Lost::NoAnswer;
            };
            let done = held(self.state).open.remove(&id);
            // An answer to nothing is passed over.
            if let Some(done) = done {
                done(call::result(&record));
            }
        }
    }

    fn read(&mut self, record: &mut Vec<u8>) -> Result<(), Lost> {
        record.clear();
        loop {
            let mut mark = [0; 4];
            self.fill(&mut mark, record.is_empty())?;
            let (length, is_last) = call::fragment(mark);
            let before = record.len();
            if length > RECORD_MAX - before {
                return Err(Lost::TooLong { most: RECORD_MAX });
            }
            record.resize(before + length, 0);
            self.fill(&mut record[before..], false)?;
            if is_last {
                return Ok(());
            }
        }
    }

    fn fill(&mut self, mut buffer: &mut [u8], is_between: bool) -> Result<(), Lost> {
        let whole = buffer.len();
        while !buffer.is_empty() {
            match self.stream.read(buffer) {
                Ok(0) => return Err(Lost::Closed),
                Ok(count) => {
                    buffer = &mut buffer[count..];
                    self.quiet = 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let is_idle = is_between && buffer.len() == whole;
                    let is_waiting = !is_idle || !held(self.state).open.is_empty();
                    self.quiet = if is_waiting { self.quiet + 1 } else { 0 };
                    if self.quiet >= TICKS_MAX {
                        let seconds = TICK.as_secs() * u64::from(TICKS_MAX);
                        return Err(Lost::Silent { seconds });
                    }
                }
                Err(error) => return Err(lost("reading", &error)),
            }
        }
        Ok(())
    }
}

fn lost(attempt: &'static str, error: &io::Error) -> Lost {
    Lost::Io { attempt, text: error.to_string() }
}

fn connected(address: SocketAddr) -> io::Result<TcpStream> {
    if !rustix::process::geteuid().is_root() {
        return TcpStream::connect_timeout(&address, CONNECT_MAX);
    }
    // Another place to begin for each process, so that they do not all try the same ports.
    let count = RESERVED.end() - RESERVED.start() + 1;
    let begin = u16::try_from(std::process::id() % u32::from(count)).unwrap_or(0);
    let ports = (0..count).map(|nth| RESERVED.start() + (begin + nth) % count);
    for port in ports {
        match connected_from(address, port) {
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => {}
            Err(Errno::INPROGRESS | Errno::AGAIN) => return Err(Errno::TIMEDOUT.into()),
            other => return other.map_err(Into::into),
        }
    }
    TcpStream::connect_timeout(&address, CONNECT_MAX)
}

fn connected_from(address: SocketAddr, port: u16) -> rustix::io::Result<TcpStream> {
    let (family, own): (_, SocketAddr) = match address {
        SocketAddr::V4(_) => (AddressFamily::INET, ([0; 4], port).into()),
        SocketAddr::V6(_) => (AddressFamily::INET6, ([0_u16; 8], port).into()),
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&socket, true)?;
    // The limit of sending is that of connecting, too (socket(7)).
    set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_MAX))?;
    bind(&socket, &own)?;
    connect(&socket, &address)?;
    Ok(TcpStream::from(socket))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::client::nfs;

    /// Calls a server that behaves like `server`. Returns the result of the call, and the reason
    /// why the connection is lost.
    fn with_server(
        server: impl FnOnce(TcpStream) + Send + 'static,
    ) -> (Result<u32, Trouble>, Lost) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let thread = std::thread::spawn(move || server(listener.accept().expect("a client").0));
        let connection = Connection::new(address).expect("connected");
        let answer = connection.ask(nfs(0), Writer::default(), |mut read| read.u32());
        thread.join().expect("the server ends");
        (answer, connection.wait())
    }

    /// Reads one call. Its first four bytes are its length, and the next four its number.
    fn call(stream: &mut TcpStream) -> [u8; 4] {
        let mut mark = [0; 4];
        stream.read_exact(&mut mark).expect("a call");
        let mut call = vec![0; call::fragment(mark).0];
        stream.read_exact(&mut call).expect("the rest");
        call[..4].try_into().expect("four bytes")
    }

    #[test]
    fn an_answer_in_two_fragments_is_one() {
        let (answer, lost) = with_server(|mut stream| {
            let id = call(&mut stream);
            let words = [1_u32, 0, 0, 0, 0, 77].map(u32::to_be_bytes).concat();
            let record = [&id[..], &words].concat();
            let (one, two) = record.split_at(10);
            for (part, last) in [(one, 0), (two, 1 << 31)] {
                let length = u32::try_from(part.len()).expect("short") | last;
                stream.write_all(&length.to_be_bytes()).expect("sent");
                stream.write_all(part).expect("sent");
            }
        });
        assert_eq!((answer, lost), (Ok(77), Lost::Closed));
    }

    #[test]
    fn a_server_that_sends_nonsense_or_goes_away_ends_every_call() {
        let too_long = Lost::TooLong { most: RECORD_MAX };
        for (sent, expected) in [
            (&[][..], Lost::Closed),
            (&[0x80, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0], Lost::NoAnswer),
            (&[0x80, 0, 0, 2, 1, 1], Lost::NoAnswer),
            (&[0xff, 0xff, 0xff, 0xff], too_long),
            (&[0x80, 0, 0, 99, 1], Lost::Closed),
        ] {
            let (answer, lost) = with_server(|mut stream| {
                call(&mut stream);
                stream.write_all(sent).expect("sent");
            });
            assert_eq!((answer, &lost), (Err(Trouble::Lost), &expected), "{sent:?}");
        }
    }
}
