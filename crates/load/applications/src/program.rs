//! Programs that create an application's data. They run to completion, and the end of their output
//! is kept for errors.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::error::{ApplicationError, Phase};

/// Maximum size of the log's end that is quoted in an error, in bytes. Our choice: some lines.
const TAIL_MAX: u64 = 400;

/// Application and phase, for error messages.
#[derive(Debug, Clone)]
pub(crate) struct Doing {
    pub(crate) name: String,
    pub(crate) phase: Phase,
}

impl Doing {
    pub(crate) fn io(&self, what: impl Into<String>, source: std::io::Error) -> ApplicationError {
        let Self { name, phase } = self.clone();
        ApplicationError::Io { name, phase, what: what.into(), source }
    }

    pub(crate) fn ended(&self, program: &str, how: String, log: &Path) -> ApplicationError {
        let Self { name, phase } = self.clone();
        let log = tail(log).unwrap_or_else(|error| format!("(no log: {error})"));
        ApplicationError::Ended { name, phase, program: program.to_owned(), how, log }
    }

    /// Runs a program to completion and appends its output to `log`.
    ///
    /// # Errors
    /// It cannot be started, or fails.
    pub(crate) fn run(
        &self,
        program: &str,
        command: &mut Command,
        input: Stdio,
        log: &Path,
    ) -> Result<(), ApplicationError> {
        let file = appended(log).map_err(|error| self.io("opening its log", error))?;
        let second = file.try_clone().map_err(|error| self.io("opening its log", error))?;
        let status = command.stdin(input).stdout(file).stderr(second).status();
        let status = status.map_err(|error| self.io(format!("starting {program}"), error))?;
        if status.success() { Ok(()) } else { Err(self.ended(program, words(status), log)) }
    }
}

/// Opens an application's log for appending the server's output.
pub(crate) fn appended(log: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(log)
}

/// Describes an exit code or signal in words.
pub(crate) fn words(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with {code}"),
        // The kernel also sends this signal to a process that exceeds its memory group.
        (_, Some(9)) => {
            "was killed (signal 9, which is also the end of a server out of memory)".to_owned()
        }
        (_, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    }
}

/// Returns the end of a log as a single line.
fn tail(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Ok(untrusted::shown(&lines.join(" / ")).into_owned())
}
