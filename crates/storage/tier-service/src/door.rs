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

/// A question is one line, and this long at most.
const QUESTION_BYTES: usize = 16 << 10;
/// What is not done by then is said to go on.
const PATIENCE: Duration = Duration::from_secs(600);
/// Time in which a client asks its whole question, and takes its answer.
const SILENCE: Duration = Duration::from_secs(10);
/// Clients without a whole question. With one more, the oldest of them is sent away, so that who asks is heard
/// whatever others do. Our choice.
const SILENT_MAX: usize = 64;
/// Questions under way, a thread for each; a `drain` may take minutes. One more is refused. Our choice.
const QUESTIONS_MAX: usize = 64;
/// Before a listener that failed (out of files) is asked again.
const AGAIN: Duration = Duration::from_millis(100);

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done(Option<Box<Report>>),
    Error(Refusal),
}

/// A Unix socket, for its owner alone, at which a running set is asked: a line of JSON, and a line back.
#[derive(Debug)]
pub struct Door(PathBuf);

impl Door {
    /// Opens one, in the place of one that a killed server left. A thread answers for as long as the
    /// program runs.
    ///
    /// # Errors
    /// The socket cannot be had, or something else is there.
    pub fn open(path: &Path, control: Control, server: &Arc<Running>) -> Result<Self, SetError> {
        // Only one at which nobody can listen any more is removed.
        let is_dead = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_socket(path) && UnixStream::connect(path).is_err_and(is_dead) {
            std::fs::remove_file(path).map_err(failed("remove", path))?;
        }
        let listener = UnixListener::bind(path).map_err(failed("listen on", path))?;
        let owner = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(path, owner).map_err(failed("guard", path))?;
        listener.set_nonblocking(true).map_err(failed("listen on", path))?;
        // The server ends when its owner says so, and not when a thread lets go of it.
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
        // One that is gone already is no loss.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket())
}

/// A client whose question has not come yet.
struct Asker {
    stream: UnixStream,
    line: Vec<u8>,
    until: Instant,
}

/// What became of a client.
enum Heard {
    Nothing,
    Question,
    End,
}

/// Hears clients, and has each whole question answered by a thread of its own. A silent client has no thread.
fn attend(listener: &UnixListener, control: &Control, server: &Weak<Running>) {
    let mut askers = VecDeque::new();
    // Each thread that answers has a clone.
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
                    let asker = askers.remove(at).expect("it was just heard");
                    begin(asker, &answering, control, server);
                }
                Heard::Nothing | Heard::End => drop(askers.remove(at)),
            }
        }
    }
}

/// Waits until somebody comes or says something, or has been silent for too long.
fn wait(listener: &UnixListener, askers: &VecDeque<Asker>) -> io::Result<()> {
    // The oldest one is in front.
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
    /// Takes what has come, without waiting. Of a question that is too long no more is kept than says so.
    fn hear(&mut self) -> Heard {
        let mut bytes = [0; QUESTION_BYTES];
        match (&self.stream).read(&mut bytes) {
            // Who closes behind an unended line has asked it.
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

/// Has a question answered by a thread of its own.
fn begin(asker: Asker, answering: &Arc<()>, control: &Control, server: &Weak<Running>) {
    let Asker { stream, line, .. } = asker;
    let is_ready =
        stream.set_nonblocking(false).and_then(|()| stream.set_write_timeout(Some(SILENCE)));
    if is_ready.is_err() {
        return;
    }
    if Arc::strong_count(answering) > QUESTIONS_MAX {
        let words = Refusal::new(format!(
            "{QUESTIONS_MAX} questions are answered already, and no more at once"
        ));
        // Whoever went without waiting for the answer did not want it.
        return drop(tell(&stream, &Answer::Error(words)));
    }
    let (busy, control, server) = (Arc::clone(answering), control.clone(), server.clone());
    let answer = move || {
        let _ = serve(&stream, &line, &control, server.upgrade().as_deref());
        drop(busy);
    };
    // A client without an answer sees that its connection is closed.
    let _ = std::thread::Builder::new().name("answer".to_owned()).spawn(answer);
}

fn serve(
    stream: &UnixStream,
    line: &[u8],
    control: &Control,
    server: Option<&Running>,
) -> io::Result<()> {
    // Its mode lets nobody else in either; but who asks here has the server open files, and the mode comes after
    // the socket.
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
        return tell(stream, &Answer::Error("only who serves it may ask, and root".into()));
    }
    if line.len() > QUESTION_BYTES {
        let words = Refusal::new(format!("a question is longer than {QUESTION_BYTES} B"));
        return tell(stream, &Answer::Error(words));
    }
    let answer = match (serde_json::from_slice::<Command>(line), server) {
        (Ok(command), Some(server)) => match control.ask(command, server, PATIENCE) {
            Ok(report) => Answer::Done(report.map(Box::new)),
            Err(error) => Answer::Error(error),
        },
        (Err(error), _) => Answer::Error(Refusal::new(format!("not a question: {error}"))),
        (_, None) => Answer::Error("the server ends".into()),
    };
    tell(stream, &answer)
}

fn tell(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    let mut text = serde_json::to_string(answer)?;
    text.push('\n');
    stream.write_all(text.as_bytes())
}

/// Asks a set that some other program serves, at its door.
///
/// # Errors
/// Nobody is there, or what it answered.
pub fn ask(path: &Path, command: &Command) -> Result<Option<Report>, Refusal> {
    let failed = |error: io::Error| {
        Refusal::with_hint(
            format!("asking at {}: {error}", path.display()),
            "`tilemark tier serve` has to run; it is asked at its --socket",
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
        Err(_) => Err(Refusal::new(format!("{} does not answer as a tier does", path.display()))),
    }
}
