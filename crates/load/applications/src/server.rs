//! Process of a server, from start to exit.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{ApplicationError, Phase};
use crate::program::{Doing, appended, words};

/// Maximum time until a server is ready. Our choice: PostgreSQL starts in 0.2 s, and replays one
/// minute of its log in a few seconds.
const READY_MAX: Duration = Duration::from_secs(30);
/// Maximum time for an orderly stop of a server. Our choice; systemd would wait much longer.
const STOP_MAX: Duration = Duration::from_secs(10);
/// Interval between two checks of a server's state.
const PAUSE: Duration = Duration::from_millis(20);

/// Running server. Dropping it kills the server.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    program: String,
    child: Child,
    pid: Pid,
    /// Signal for an orderly stop.
    stop: Signal,
    log: PathBuf,
}

/// Command of a server.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a str,
    pub(crate) command: Command,
    pub(crate) stop: Signal,
    pub(crate) log: PathBuf,
}

impl Server {
    /// Starts a server and waits until `is_ready`.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready in time.
    pub(crate) fn start(
        start: Start<'_>,
        is_ready: &dyn Fn() -> bool,
    ) -> Result<Self, ApplicationError> {
        let Start { name, program, mut command, stop, log } = start;
        let doing = Doing { name: name.to_owned(), phase: Phase::Starting };
        let failed = |error| doing.io(format!("starting {program}"), error);
        let output = appended(&log).map_err(failed)?;
        let second = output.try_clone().map_err(failed)?;
        // Ctrl-C in a terminal goes to a whole process group, and the load must end before its
        // server does.
        command.process_group(0);
        let child = command.stdin(Stdio::null()).stdout(output).stderr(second).spawn();
        let child = child.map_err(failed)?;
        let pid = Pid::from_child(&child);
        let (name, program) = (name.to_owned(), program.to_owned());
        let mut server = Self { name, program, child, pid, stop, log };
        let until = Instant::now() + READY_MAX;
        while !is_ready() {
            server.check_in(Phase::Starting)?;
            if Instant::now() > until {
                let how = format!("was not ready after {} s", READY_MAX.as_secs());
                return Err(doing.ended(&server.program, how, &server.log));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(server)
    }

    /// Checks that the server still runs.
    ///
    /// # Errors
    /// The server has exited.
    pub(crate) fn check(&mut self) -> Result<(), ApplicationError> {
        self.check_in(Phase::Serving)
    }

    fn check_in(&mut self, phase: Phase) -> Result<(), ApplicationError> {
        let doing = Doing { name: self.name.clone(), phase };
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(doing.ended(&self.program, words(status), &self.log)),
            Err(error) => Err(doing.io(format!("looking at {}", self.program), error)),
        }
    }

    /// Sends the signal for an orderly stop.
    pub(crate) fn ask_to_stop(&mut self) {
        self.signal(self.stop);
    }

    fn signal(&mut self, signal: Signal) {
        // The number of a process that was waited for may be another's.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Waits up to `time` for the server to exit. Returns true if it has exited.
    pub(crate) fn has_ended_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ask_to_stop();
        if !self.has_ended_within(STOP_MAX) {
            self.signal(Signal::QUIT);
            if !self.has_ended_within(Duration::from_secs(2)) {
                self.signal(Signal::KILL);
                self.has_ended_within(Duration::from_secs(2));
            }
        }
    }
}
