use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use block_server::Running;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::files::failed;
use crate::{Command, Control, Refusal, Report, SetError};

/// Maximum length of a question, in bytes; a question is one line.
const QUESTION_BYTES: usize = 16 << 10;
/// Maximum wait for an answer. After it, the client is told that the command continues.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time within which a client must send its question, and must read its answer.
const SILENCE: Duration = Duration::from_secs(10);
/// Maximum number of clients that have not sent a complete question. One more disconnects the
/// oldest, so silent clients cannot lock others out. Our choice.
const SILENT_MAX: usize = 64;
/// Maximum number of questions that are answered at the same time, each by its own thread; a
/// `drain` may take minutes. One more is refused. Our choice.
const QUESTIONS_MAX: usize = 64;
/// Pause before `accept` is retried after an error, for example without a free file descriptor.
const AGAIN: Duration = Duration::from_millis(100);

/// Answer to a question, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done(Option<Box<Report>>),
    Error(Refusal),
}

/// Control socket of a running set: a Unix socket that only its owner can use. Question and answer
/// are one line of JSON each.
#[derive(Debug)]
pub struct Door(PathBuf);

impl Door {
    /// Opens the socket, and replaces a socket that a killed server left. A thread answers
    /// questions until the program ends.
    ///
    /// # Errors
    /// If the socket cannot be created, or the path is in use.
    pub fn open(path: &Path, control: Control, server: &Arc<Running>) -> Result<Self, SetError> {
        // A refused connection proves that no process listens at the old socket.
        let is_dead = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket(path) && UnixStream::connect(path).is_err_and(is_dead) {
            std::fs::remove_file(path).map_err(failed("remove", path))?;
        }
        let listener = UnixListener::bind(path).map_err(failed("listen on", path))?;
        let owner = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner).map_err(failed("guard", path))?;
        listener.set_nonblocking(true).map_err(failed("listen on", path))?;
        // A weak reference: the owner of the server decides when it ends, and not this thread.
        let server = Arc::downgrade(server);
        std::thread::Builder::new()
            .name("door".to_owned())
            .spawn(move || attend(&listener, &control, &server))
            .map_err(failed("answer at", path))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // A socket that is already gone is no error.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket())
}

/// Client that has not sent a complete question.
struct Asker {
    stream: UnixStream,
    line: Vec<u8>,
    until: Instant,
}

/// State of a client after a read.
enum Heard {
    Nothing,
    Question,
    End,
}

/// Accepts clients and reads their questions in this one thread. A thread is started only for a
/// complete question, so silent clients need none.
fn attend(listener: &UnixListener, control: &Control, server: &Weak<Running>) {
    let mut askers = VecDeque::new();
    // The number of clones is the number of threads that answer.
    let answering = Arc::new(());
    loop {
        if wait(listener, &askers).and_then(|()| accept(listener, &mut askers)).is_err() {
            std::thread::sleep(AGAIN);
        }
        let now = Instant::now();
        let mut at = 0;
        while let Some(asker) = askers.get_mut(at) {
            match asker.hear() {
                Heard::Nothing if asker.until > now => at += 1,
                Heard::Question => {
                    let asker = askers.remove(at).expect("the connection was just polled");
                    begin(asker, &answering, control, server);
                }
                Heard::Nothing | Heard::End => drop(askers.remove(at)),
            }
        }
    }
}

/// Waits until a client connects or sends bytes, or until the time of the oldest client is over.
fn wait(listener: &UnixListener, askers: &VecDeque<Asker>) -> io::Result<()> {
    // Clients are in the order of their deadlines.
    let left = askers.front().map(|asker| asker.until.saturating_duration_since(Instant::now()));
    let left = left.and_then(|left| Timespec::try_from(left).ok());
    let mut watched = vec![PollFd::new(listener, PollFlags::IN)];
    watched.extend(askers.iter().map(|asker| PollFd::new(&asker.stream, PollFlags::IN)));
    match poll(&mut watched, left.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn accept(listener: &UnixListener, askers: &mut VecDeque<Asker>) -> io::Result<()> {
    let stream = match listener.accept() {
        Ok((stream, _)) => stream,
        Err(error) if is_later(&error) => return Ok(()),
        Err(error) => return Err(error),
    };
    stream.set_nonblocking(true)?;
    if askers.len() == SILENT_MAX {
        askers.pop_front();
    }
    askers.push_back(Asker { stream, line: Vec::new(), until: Instant::now() + SILENCE });
    Ok(())
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Asker {
    /// Reads without blocking. If a question is too long, keeps only as many bytes as are needed to
    /// refuse it.
    fn hear(&mut self) -> Heard {
        let mut bytes = [0; QUESTION_BYTES];
        match (&self.stream).read(&mut bytes) {
            // A client that closes its side after an unfinished line has asked that line.
            Ok(0) if self.line.is_empty() => Heard::End,
            Ok(0) => Heard::Question,
            Ok(read) => {
                let end = bytes[..read].iter().position(|byte| *byte == b'\n');
                self.line.extend_from_slice(&bytes[..end.unwrap_or(read)]);
                self.line.truncate(QUESTION_BYTES + 1);
                if end.is_some() { Heard::Question } else { Heard::Nothing }
            }
            Err(error) if is_later(&error) => Heard::Nothing,
            Err(_) => Heard::End,
        }
    }
}

/// Answers a question in a new thread.
fn begin(asker: Asker, answering: &Arc<()>, control: &Control, server: &Weak<Running>) {
    let Asker { stream, line, .. } = asker;
    let is_ready =
        stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(SILENCE)));
    if is_ready.is_err() {
        return;
    }
    if Arc::strong_count(answering) > QUESTIONS_MAX {
        let words = Refusal::new(format!(
            "{QUESTIONS_MAX} requests are already being answered, the maximum at once"
        ));
        // A client that is gone needs no answer.
        return drop(tell(&stream, &Answer::Error(words)));
    }
    let (busy, control, server) = (Arc::clone(answering), control.clone(), server.clone());
    let answer = move || {
        let _ = serve(&stream, &line, &control, server.upgrade().as_deref());
        drop(busy);
    };
    // If no thread can be started, the client sees the connection closed.
    let _ = std::thread::Builder::new().name("answer".to_owned()).spawn(answer);
}

fn serve(
    stream: &UnixStream,
    line: &[u8],
    control: &Control,
    server: Option<&Running>,
) -> io::Result<()> {
    // The file mode of the socket also refuses other users, but it is set after the socket exists.
    // The server opens files for whoever asks here, so the user is checked as well.
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
        return tell(
            stream,
            &Answer::Error("only the user who serves the tier and root may send requests".into()),
        );
    }
    if line.len() > QUESTION_BYTES {
        let words = Refusal::new(format!("a request is longer than {QUESTION_BYTES} B"));
        return tell(stream, &Answer::Error(words));
    }
    let answer = match (serde_json::from_slice::<Command>(line), server) {
        (Ok(command), Some(server)) => match control.ask(command, server, PATIENCE) {
            Ok(report) => Answer::Done(report.map(Box::new)),
            Err(error) => Answer::Error(error),
        },
        (Err(error), _) => Answer::Error(Refusal::new(format!("not a valid request: {error}"))),
        (_, None) => Answer::Error("the server ends".into()),
    };
    tell(stream, &answer)
}

fn tell(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    let mut text = serde_json::to_string(answer)?;
    text.push('\n');
    stream.write_all(text.as_bytes())
}

/// Sends a command to the control socket of a running set, and waits for the answer.
///
/// # Errors
/// If no server listens at the path, or the server refuses the command.
pub fn ask(path: &Path, command: &Command) -> Result<Option<Report>, Refusal> {
    let failed = |error: io::Error| {
        Refusal::with_hint(
            format!("sending a request to {}: {error}", path.display()),
            "`tilemark tier serve` must be running; requests go to its --socket",
        )
    };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    let mut text = serde_json::to_string(command).map_err(Refusal::new)?;
    text.push('\n');
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    match serde_json::from_str(&answer) {
        Ok(Answer::Done(report)) => Ok(report.map(|report| *report)),
        Ok(Answer::Error(error)) => Err(error),
        Err(_) => Err(Refusal::new(format!("{} does not answer like a tier", path.display()))),
    }
}
