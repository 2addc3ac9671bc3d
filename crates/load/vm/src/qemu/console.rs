//! Serial line to a guest: its heartbeats, and commands to it.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::guest::{Beat, GuestCheck, Line};

/// Interval at which the guest is told that the host is still alive.
const HELLO_EVERY: Duration = Duration::from_secs(10);
/// Maximum length of a guest's line.
const LINE_MAX: usize = 1024;

/// Latest messages of a guest.
#[derive(Debug, Default)]
struct Said {
    beat: Option<Beat>,
    seen: Option<GuestCheck>,
    cannot: Option<String>,
    /// True while the guest is paused after a check.
    is_held: bool,
    is_closed: bool,
}

/// Serial line of a guest. A thread reads it until the virtual machine closes it.
#[derive(Debug)]
pub(super) struct Console {
    stream: UnixStream,
    shared: Arc<(Mutex<Said>, Condvar)>,
    listener: Option<JoinHandle<()>>,
}

impl Console {
    pub fn over(stream: UnixStream) -> std::io::Result<Self> {
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let shared = Arc::new((Mutex::new(Said::default()), Condvar::new()));
        let (theirs, heard) = (Arc::clone(&shared), stream.try_clone()?);
        let listen = move || listen(&heard, &theirs);
        let listener = std::thread::Builder::new().name("vm-console".to_owned()).spawn(listen)?;
        Ok(Self { stream, shared, listener: Some(listener) })
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last error message of the guest.
    pub fn cannot(&self) -> Option<String> {
        self.said().cannot.clone()
    }

    /// Waits briefly for a value; `None` if it did not arrive.
    fn wait<T>(&self, wanted: impl Fn(&Said) -> Option<T>) -> Option<T> {
        let said = self.said();
        let waited = self.shared.1.wait_timeout_while(said, Duration::from_millis(20), |said| {
            !said.is_closed && wanted(said).is_none()
        });
        let (said, _) = waited.unwrap_or_else(PoisonError::into_inner);
        wanted(&said)
    }

    /// Waits briefly for a heartbeat with a number above `after`.
    pub fn beat_after(&self, after: u64) -> Option<Beat> {
        self.wait(|said| said.beat.filter(|beat| beat.number > after))
    }

    /// Returns true if the guest has sent any output.
    pub fn spoke(&self) -> bool {
        self.wait(|said| (said.beat.is_some() || said.cannot.is_some()).then_some(())).is_some()
    }

    /// Tells the guest to check its memory and disk. Afterwards it is paused until [`Self::go`].
    pub fn ask(&self, id: u64) -> std::io::Result<()> {
        self.said().is_held = true;
        (&self.stream).write_all(format!("check {id}\n").as_bytes())
    }

    /// Returns the results of the guest's check, if they arrive soon.
    pub fn seen(&self, id: u64) -> Option<GuestCheck> {
        self.wait(|said| said.seen.filter(|seen| seen.id == id))
    }

    /// Lets the guest resume.
    pub fn go(&self) -> std::io::Result<()> {
        self.said().is_held = false;
        (&self.stream).write_all(b"go\n")
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

fn listen(stream: &UnixStream, shared: &(Mutex<Said>, Condvar)) {
    let (mut line, mut buffer) = (Vec::new(), [0; 4096]);
    let mut spoken = Instant::now();
    loop {
        let count = match (&*stream).read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let mut said = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        for byte in &buffer[..count] {
            if *byte != b'\n' {
                // A line that is too long is damaged: its checksum will be wrong.
                if line.len() < LINE_MAX {
                    line.push(*byte);
                }
                continue;
            }
            take(&mut said, Line::parse(line.trim_ascii_end()));
            line.clear();
        }
        if !said.is_held && spoken.elapsed() >= HELLO_EVERY {
            spoken = Instant::now();
            let _ = (&*stream).write_all(b"hello\n");
        }
        shared.1.notify_all();
    }
    shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
    shared.1.notify_all();
}

fn take(said: &mut Said, line: Option<Line>) {
    match line {
        Some(Line::Beat { number, pages, blocks }) => {
            said.beat = Some(Beat { number, pages, blocks, came: Instant::now() });
        }
        Some(Line::Seen(seen)) => said.seen = Some(seen),
        Some(Line::Cannot(what)) => said.cannot = Some(what),
        Some(Line::Ready) | None => {}
    }
}
