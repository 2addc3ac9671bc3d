//! Servers that a run starts: output, readiness, health and end.

use std::fmt;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::careful;
use crate::processes::{fields_after_name, numbers_of_all};

/// Maximum time until a killed process is gone. Its open I/O must end first.
const KILL_MAX: Duration = Duration::from_secs(10);
/// Interval between two looks at a process.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum size of a log's end that is searched for lines, in bytes.
const TAIL_MAX: u64 = 4096;
/// Maximum number of characters that an error quotes from the last lines of one log.
const QUOTE_MAX: usize = 400;
/// Words in a line that gives the cause of an end. A database writes several lines after it.
const CAUSES: [&str; 3] = ["No space left on device", "PANIC:", "Panic:"];

/// Free space of a log's file system below which it is full, in bytes: a few lines.
const ROOM_MIN: u64 = 64 << 10;
/// Addition to the last lines of logs whose file system is full.
const FULL: &str = "No space left on device of its logs";

/// Phase of a run in which a server failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A private network namespace is made.
    Network,
    /// Data of the server is made.
    Prepare,
    /// The server starts.
    Start,
    /// Disks are exported by the server.
    Export,
    /// The initiator connects to the server.
    Attach,
    /// The load runs.
    Load,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "while making a private network",
            Self::Prepare => "while preparing its data",
            Self::Start => "while starting",
            Self::Export => "while exporting the disks",
            Self::Attach => "while connecting the initiator",
            Self::Load => "under load",
        })
    }
}

/// Error of a server, or of a program that ends by itself.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The system returned an error.
    #[error("cannot {attempt} {object}: {source}")]
    Io {
        /// Operation that was attempted, as a verb.
        attempt: &'static str,
        /// File or program on which it was attempted.
        object: String,
        /// Error of the system.
        #[source]
        source: io::Error,
    },
    /// A server ended by itself, or a program failed.
    #[error("{name} ended {phase} ({status}){}", last_output(.log))]
    Ended {
        /// Name of the program.
        name: String,
        /// Phase in which it ended.
        phase: Phase,
        /// Exit status or signal, in words.
        status: String,
        /// Last lines of its logs.
        log: String,
    },
    /// A program was not ready in time.
    #[error("{name} was not ready within {within:?} {phase}{}", last_output(.log))]
    NotReady {
        /// Name of the program.
        name: String,
        /// Phase in which it was awaited.
        phase: Phase,
        /// Length of the wait.
        within: Duration,
        /// Last lines of its logs.
        log: String,
    },
}

impl ProcessError {
    /// Returns the last lines of the program's logs; empty if the error has none.
    pub fn log(&self) -> &str {
        match self {
            Self::Io { .. } => "",
            Self::Ended { log, .. } | Self::NotReady { log, .. } => log,
        }
    }
}

/// Returns true if a file's file system has no room for a few lines.
fn is_full(path: &Path) -> bool {
    let found = rustix::fs::statvfs(path);
    found.is_ok_and(|own| own.f_bavail.saturating_mul(own.f_frsize) < ROOM_MIN)
}

fn last_output(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("; its last output: {log}") }
}

/// Signal that asks a server to end, and the time it gets.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// Signal to send.
    pub signal: Signal,
    /// Processes that get the signal.
    pub receiver: Receiver,
    /// Maximum time until all processes of the server have ended.
    pub within: Duration,
}

impl Ending {
    /// Sends the signal to the process that was started, which ends its children itself.
    pub const fn leader(signal: Signal, seconds: u64) -> Self {
        Self { signal, receiver: Receiver::Leader, within: Duration::from_secs(seconds) }
    }

    /// Sends the signal to the process that was started and to its children.
    pub const fn group(signal: Signal, seconds: u64) -> Self {
        Self { signal, receiver: Receiver::Group, within: Duration::from_secs(seconds) }
    }
}

/// Receiver of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// The process that was started.
    Leader,
    /// The process that was started, and its children.
    Group,
}

/// Server to start.
#[derive(Debug)]
pub struct Launch {
    /// Name of the program, for errors.
    pub name: String,
    /// Program with its arguments, user and variables.
    pub command: Command,
    /// File to which the output of the process is appended.
    pub output: PathBuf,
    /// Log that the server writes itself, if any.
    pub log: Option<PathBuf>,
    /// Attempts to end the server in order. After the last one it is killed.
    pub endings: &'static [Ending],
}

/// Running server with its children, which form one process group. Dropping it ends the server.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    leader: Pid,
    /// Files whose ends an error quotes.
    logs: Vec<PathBuf>,
    endings: &'static [Ending],
    is_over: bool,
}

impl Process {
    /// Starts a server.
    ///
    /// # Errors
    /// If its log cannot be opened, or the program cannot be run.
    pub fn start(launch: Launch) -> Result<Self, ProcessError> {
        let Launch { name, mut command, output, log, endings } = launch;
        let file = careful::append(&output).map_err(failed("open", &output))?;
        let second = file.try_clone().map_err(failed("open", &output))?;
        // A daemon that keeps an inherited pipe open would hold up whoever reads it to its end.
        command.stdin(Stdio::null()).stdout(file).stderr(second).current_dir("/");
        // Ctrl-C in a terminal goes to a whole process group, and the load must end before its
        // server does.
        command.process_group(0);
        let child = command.spawn().map_err(failed("start", Path::new(command.get_program())))?;
        let leader = Pid::from_child(&child);
        let logs = [Some(output), log].into_iter().flatten().collect();
        Ok(Self { name, child, leader, logs, endings, is_over: false })
    }

    /// Returns the name of the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the last lines of the logs. If their file system is full it says so, because a server
    /// that cannot write its log cannot write the reason either.
    pub fn last_lines(&self) -> String {
        let ends = self.logs.iter().filter_map(|log| end_of(log).ok());
        let ends = ends.map(|end| last_lines(&end)).filter(|end| !end.is_empty());
        let full = self.logs.iter().any(|log| is_full(log)).then(|| FULL.to_owned());
        ends.chain(full).collect::<Vec<_>>().join(" | ")
    }

    /// Checks that the server runs.
    ///
    /// # Errors
    /// If the process that was started has ended.
    pub fn check(&self, phase: Phase) -> Result<(), ProcessError> {
        let Some(status) = self.status() else { return Ok(()) };
        let (name, status, log) = (self.name.clone(), status.to_string(), self.last_lines());
        Err(ProcessError::Ended { name, phase, status, log })
    }

    /// Waits until the server is ready.
    ///
    /// # Errors
    /// If the server ends, or is not ready in time.
    pub fn wait_until(
        &self,
        phase: Phase,
        within: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), ProcessError> {
        let until = Instant::now() + within;
        loop {
            // A program that has ended is not ready, whatever it left.
            self.check(phase)?;
            if is_ready() {
                return self.check(phase);
            }
            if Instant::now() >= until {
                let (name, log) = (self.name.clone(), self.last_lines());
                return Err(ProcessError::NotReady { name, phase, within, log });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Sends the first signal of an orderly end without waiting for it.
    pub fn ask_to_end(&self) {
        if let Some(first) = self.endings.first() {
            self.send(first.signal, first.receiver);
        }
    }

    /// Kills the server without waiting for its end.
    pub fn kill(&self) {
        self.send(Signal::KILL, Receiver::Group);
    }

    /// Ends the server in order, or kills it. Returns when none of its processes is left.
    pub fn end(&mut self) {
        if self.is_over {
            return;
        }
        let has_ended = self.endings.iter().any(|ending| {
            self.send(ending.signal, ending.receiver);
            self.has_ended_within(ending.within)
        });
        if !has_ended {
            self.kill();
            self.has_ended_within(KILL_MAX);
        }
        self.is_over = true;
        let _ = self.child.try_wait();
    }

    /// Waits for the end of all processes of the server. Returns true if they have ended in time.
    pub fn has_ended_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            // All processes of the host are searched only when the leader has gone.
            if self.status().is_some() && !has_members(self.leader) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Returns the exit status of the leader; `None` while it runs. The leader is not reaped before
    /// its group has ended, so that the group's number is not reused.
    fn status(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.leader), options).ok().flatten()?;
        let code =
            status.exit_status().map(|code| code << 8).or_else(|| status.terminating_signal());
        code.map(ExitStatus::from_raw)
    }

    fn send(&self, signal: Signal, receiver: Receiver) {
        // The number of a process that was reaped may be another's.
        if !self.is_over {
            let _ = match receiver {
                Receiver::Leader => kill_process(self.leader, signal),
                Receiver::Group => kill_process_group(self.leader, signal),
            };
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn failed(
    attempt: &'static str,
    object: &Path,
) -> impl Fn(io::Error) -> ProcessError + use<> {
    let object = object.display().to_string();
    move |source| ProcessError::Io { attempt, object: object.clone(), source }
}

/// Returns true if a process of the group runs. Processes that were not reaped do not count.
fn has_members(group: Pid) -> bool {
    let group = group.as_raw_nonzero().to_string();
    numbers_of_all().into_iter().any(|pid| {
        // Fields 3 and 5 of the kernel's line (proc(5)).
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut fields = fields_after_name(&stat);
        let runs = !matches!(fields.next(), None | Some("Z" | "X"));
        runs && fields.nth(1) == Some(group.as_str())
    })
}

/// Returns the end of a log. A link that the server's user put in its place is not followed.
fn end_of(log: &Path) -> io::Result<String> {
    let mut file = careful::read(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_MAX)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the last three lines of a text as one line, safe to show on a terminal. If an earlier
/// line gives the cause of an end, the last such line comes first.
pub fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 0;
    for line in lines.clone().rev().take(3) {
        length += line.chars().count();
        if length > QUOTE_MAX && !kept.is_empty() {
            break;
        }
        kept.push(line);
    }
    let cause = lines.rev().find(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    kept.extend(cause.filter(|cause| !kept.contains(cause)));
    let cut = |line: &&str| line.chars().take(QUOTE_MAX).collect::<String>();
    let kept: Vec<String> = kept.iter().rev().map(cut).collect();
    untrusted::shown(&kept.join(" | ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Server of a test, which is this shell script.
    fn started(script: &str, log: &Path, endings: &'static [Ending]) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let (name, output) = ("shell".to_owned(), log.to_owned());
        Process::start(Launch { name, command, output, log: None, endings }).expect("started")
    }

    fn has_line(log: &Path, line: &str) -> bool {
        fs::read_to_string(log).is_ok_and(|text| text.lines().any(|own| own == line))
    }

    #[test]
    fn a_log_is_quoted_by_its_last_lines() {
        assert_eq!(last_lines("a\nb\n\nc\n d \n"), "b | c | d");
        assert_eq!(last_lines("\u{1b}[2J"), "\\u{1b}[2J");
        assert_eq!(last_lines(""), "");
        let log = "PANIC: old\nPANIC: No space left on device\n1\n2\n3\n";
        assert_eq!(last_lines(log), "PANIC: No space left on device | 1 | 2 | 3");
        assert_eq!(last_lines("1\nPANIC: x\n2\n"), "1 | PANIC: x | 2");
        let long = "x".repeat(1000);
        assert_eq!(last_lines(&format!("first\n{long}\n")).chars().count(), QUOTE_MAX);
    }

    #[test]
    fn ended_server_is_named_with_phase_status_and_output() {
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let server = started("echo ready; read never; echo why >&2; exit 7", &log, &[]);
        let error = server.wait_until(Phase::Start, KILL_MAX, || false).expect_err("it ends");
        let text = "shell ended while starting (exit status: 7); its last output: ready | why";
        assert_eq!(error.to_string(), text);
        assert!(server.check(Phase::Load).is_err(), "an error stays");
    }

    #[test]
    fn killed_server_is_named_and_a_slow_one_is_not_ready() {
        let directory = tempfile::tempdir().expect("a directory");
        let server = started("sleep 1000", &directory.path().join("log"), &[]);
        let error = server.wait_until(Phase::Attach, Duration::ZERO, || false);
        assert!(matches!(error, Err(ProcessError::NotReady { phase: Phase::Attach, .. })));
        server.check(Phase::Load).expect("it runs");
        server.kill();
        assert!(server.has_ended_within(KILL_MAX));
        let error = server.check(Phase::Load).expect_err("it was killed").to_string();
        assert_eq!(error, "shell ended under load (signal: 9 (SIGKILL))");
    }

    #[test]
    fn end_waits_for_children_and_kills_those_that_stay() {
        const ENDINGS: &[Ending] = &[Ending {
            signal: Signal::TERM,
            receiver: Receiver::Leader,
            within: Duration::from_millis(100),
        }];
        let directory = tempfile::tempdir().expect("a directory");
        let log = directory.path().join("log");
        let script = "(trap '' TERM; echo child; sleep 1000) & trap 'echo term; exit' TERM; wait";
        let mut server = started(script, &log, ENDINGS);
        server.wait_until(Phase::Start, KILL_MAX, || has_line(&log, "child")).expect("ready");
        let group = server.leader;
        assert!(has_members(group));
        server.end();
        assert!(has_line(&log, "term") && !has_members(group));
        // A second end, and signals after it, reach no process.
        server.end();
        server.kill();
    }
}
