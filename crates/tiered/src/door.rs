use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use front::Running;
use serde::{Deserialize, Serialize};

use crate::files::failed;
use crate::{Command, Control, Report, SetError};

/// A question is one line, and this long at most.
const QUESTION_BYTES: u64 = 16 << 10;
/// What is not done by then is said to go on.
const PATIENCE: Duration = Duration::from_secs(600);
/// Who comes and asks nothing is sent away.
const SILENCE: Duration = Duration::from_secs(10);

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Done(Option<Box<Report>>),
    Error(String),
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
        // The server ends when its owner says so, and not when a thread lets go of it.
        let server = Arc::downgrade(server);
        let answer = move || {
            for stream in listener.incoming().flatten() {
                let (control, server) = (control.clone(), server.clone());
                std::thread::spawn(move || {
                    // Whoever went without waiting for the answer did not want it.
                    let _ = serve(&stream, &control, server.upgrade().as_deref());
                });
            }
        };
        std::thread::Builder::new()
            .name("door".to_owned())
            .spawn(answer)
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

fn serve(stream: &UnixStream, control: &Control, server: Option<&Running>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(QUESTION_BYTES)).read_line(&mut line)?;
    // Its mode lets nobody else in either; but who asks here has the server open files, and the mode comes after
    // the socket.
    let peer = rustix::net::sockopt::socket_peercred(stream)?;
    if !peer.uid.is_root() && peer.uid != rustix::process::geteuid() {
        return tell(stream, &Answer::Error("only who serves it may ask, and root".to_owned()));
    }
    let answer = match (serde_json::from_str::<Command>(&line), server) {
        (Ok(command), Some(server)) => match control.ask(command, server, PATIENCE) {
            Ok(report) => Answer::Done(report.map(Box::new)),
            Err(error) => Answer::Error(error),
        },
        (Err(error), _) => Answer::Error(format!("not a question: {error}")),
        (_, None) => Answer::Error("the server ends".to_owned()),
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
/// In words: nobody is there, or what it answered.
pub fn ask(path: &Path, command: &Command) -> Result<Option<Report>, String> {
    let failed = |error: io::Error| {
        format!(
            "asking at {}: {error}\nhint: `tilemark tier serve` has to run; it is asked at its --socket",
            path.display()
        )
    };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    let mut text = serde_json::to_string(command).map_err(|error| error.to_string())?;
    text.push('\n');
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(failed)?;
    match serde_json::from_str(&answer) {
        Ok(Answer::Done(report)) => Ok(report.map(|report| *report)),
        Ok(Answer::Error(error)) => Err(error),
        Err(_) => Err(format!("{} does not answer as a tier does", path.display())),
    }
}
