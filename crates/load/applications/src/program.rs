//! Programs that create an application's data. They run to completion, and the end of their output
//! is kept for errors.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU8;
use std::time::Duration;

use process_home::{Launch, Phase, Process, ProcessError, careful, last_lines};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::ApplicationError;
use crate::go_on;

/// Maximum time until a server is ready. Our choice: PostgreSQL starts in 0.2 s, and replays one
/// minute of its log in a few seconds.
const READY_MAX: Duration = Duration::from_secs(30);

/// Interval between two looks at a program.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts the server of the application `name`, and waits until it is ready.
///
/// # Errors
/// It cannot be started, ends, or is not ready in time.
pub(crate) fn started(
    name: &str,
    launch: Launch,
    is_ready: impl FnMut() -> bool,
) -> Result<Process, ApplicationError> {
    let server = Process::start(launch).and_then(|server| {
        server.wait_until(Phase::Start, READY_MAX, is_ready)?;
        Ok(server)
    });
    server.map_err(|source| ApplicationError::Process { name: name.to_owned(), source })
}

/// Application and phase, for error messages.
#[derive(Debug, Clone)]
pub(crate) struct Doing {
    pub(crate) name: String,
    pub(crate) phase: Phase,
}

impl Doing {
    pub(crate) fn io(&self, what: impl Into<String>, source: io::Error) -> ApplicationError {
        let Self { name, phase } = self.clone();
        ApplicationError::Io { name, phase, what: what.into(), source }
    }

    pub(crate) fn ended(&self, program: &str, status: String, log: &Path) -> ApplicationError {
        let text = careful::read(log).and_then(io::read_to_string).unwrap_or_default();
        let (name, phase, log) = (program.to_owned(), self.phase, last_lines(&text));
        let source = ProcessError::Ended { name, phase, status, log };
        ApplicationError::Process { name: self.name.clone(), source }
    }

    /// Runs a program to completion and appends its output to `log`. Kills it with its children when
    /// the run is to stop.
    ///
    /// # Errors
    /// It cannot be started, or fails, or the run is to stop.
    pub(crate) fn run(
        &self,
        program: &str,
        command: &mut Command,
        input: Stdio,
        log: &Path,
        stop: &AtomicU8,
    ) -> Result<(), ApplicationError> {
        go_on(stop)?;
        let file = careful::append(log).map_err(|error| self.io("opening its log", error))?;
        let second = file.try_clone().map_err(|error| self.io("opening its log", error))?;
        // Ctrl-C in a terminal goes to a whole process group, and its end would look like a failure.
        command.stdin(input).stdout(file).stderr(second).process_group(0);
        let failed = |error| self.io(format!("starting {program}"), error);
        let mut child = command.spawn().map_err(failed)?;
        let status = loop {
            let looked = child.try_wait().map_err(failed).and_then(|status| match status {
                None => go_on(stop).map(|()| None),
                ended => Ok(ended),
            });
            match looked {
                Ok(Some(status)) => break status,
                Ok(None) => std::thread::sleep(PAUSE),
                // The program is in a group of its own, so nobody else would end it.
                Err(stopped) => {
                    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                    let _ = child.wait();
                    return Err(stopped);
                }
            }
        };
        if status.success() { Ok(()) } else { Err(self.ended(program, status.to_string(), log)) }
    }
}
