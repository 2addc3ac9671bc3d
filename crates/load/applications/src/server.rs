//! Process of a server, from its start to its end.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{ApplicationError, Phase};
use crate::memory::MemoryGroup;
use crate::program::{Doing, appended, words};

/// Longest time for a server to be ready. Our choice: PostgreSQL takes 0.2 s, and recovers a minute
/// of log in some seconds.
const READY_MAX: Duration = Duration::from_secs(30);
/// Longest time for a server to end when asked. Our choice, as systemd would wait much longer.
const STOP_MAX: Duration = Duration::from_secs(10);
/// Pause between two looks at a server.
const PAUSE: Duration = Duration::from_millis(20);

/// Running server. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    name: String,
    program: String,
    child: Mutex<Child>,
    pid: Pid,
    /// Signal that ends it in order.
    stop: Signal,
    log: PathBuf,
    /// Dropped after the process has ended.
    _group: MemoryGroup,
}

/// Command of a server.
#[derive(Debug)]
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) program: &'a str,
    pub(crate) command: Command,
    pub(crate) stop: Signal,
    pub(crate) log: PathBuf,
    pub(crate) group: MemoryGroup,
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
        let Start { name, program, command, stop, log, group } = start;
        let doing = Doing { name: name.to_owned(), phase: Phase::Starting };
        let mut command = group.within(&command);
        let failed = |error| doing.io(format!("starting {program}"), error);
        let output = appended(&log).map_err(failed)?;
        let second = output.try_clone().map_err(failed)?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(second).spawn();
        let child = child.map_err(failed)?;
        let pid = Pid::from_child(&child);
        let (name, program) = (name.to_owned(), program.to_owned());
        let server =
            Self { name, program, child: Mutex::new(child), pid, stop, log, _group: group };
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
    /// It has ended.
    pub(crate) fn check(&self) -> Result<(), ApplicationError> {
        self.check_in(Phase::Serving)
    }

    fn check_in(&self, phase: Phase) -> Result<(), ApplicationError> {
        let doing = Doing { name: self.name.clone(), phase };
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(doing.ended(&self.program, words(status), &self.log)),
            Err(error) => Err(doing.io(format!("looking at {}", self.program), error)),
        }
    }

    /// Sends the signal that ends the server in order.
    pub(crate) fn ask_to_stop(&self) {
        self.signal(self.stop);
    }

    fn signal(&self, signal: Signal) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // The number of a process that was waited for may be another's.
        if matches!(child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid, signal);
        }
    }

    fn has_ended_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(child.try_wait(), Ok(None)) {
                return true;
            }
            drop(child);
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Processor time of the server and its children until now, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        let ticks = ticks_of(self.pid.as_raw_nonzero().get(), 0)?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        Some(ticks as f64 / TICKS_PER_S)
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

/// Ticks per second of `/proc/PID/stat`: `USER_HZ`, 100 on every supported Linux (proc(5)).
const TICKS_PER_S: f64 = 100.0;

/// Deepest children whose time is counted: a server has children, and they seldom have any.
const DEPTH_MAX: u32 = 4;

/// Processor time in clock ticks of a process, its ended children and its running ones.
fn ticks_of(pid: i32, depth: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces; utime to cstime are fields 14 to 17 (proc(5)).
    let fields = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
    let own: u64 = fields.map(|field| field.parse().unwrap_or(0)).sum();
    if depth >= DEPTH_MAX {
        return Some(own);
    }
    let path = format!("/proc/{pid}/task/{pid}/children");
    let children = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    Some(own + children.filter_map(|child| ticks_of(child, depth + 1)).sum::<u64>())
}
