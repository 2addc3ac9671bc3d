//! Processes of a session: start, supervision and end.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use process_home::Home;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::{OverError, Phase};
use crate::program::Program;

/// Maximum time for a program to become ready.
pub(crate) const READY_MAX: Duration = Duration::from_secs(15);
/// Maximum time for a program to end after its signal. Then it is killed.
const END_MAX: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(5);
/// Maximum number of characters of a log that an error quotes.
const SAID_MAX: usize = 400;

/// Signal that ends a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndBy {
    /// SIGTERM, at which the program ends cleanly.
    Term,
    /// SIGKILL, because the program ignores SIGTERM or needs no clean end.
    Kill,
}

impl EndBy {
    const fn signal(self) -> Signal {
        match self {
            Self::Term => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }
}

/// Parameters for the start of a process.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    pub program: &'a Program,
    /// Program and arguments that enter a namespace; empty to stay in the namespace of this
    /// process.
    pub enter: Vec<String>,
    pub arguments: Vec<String>,
    pub end_by: EndBy,
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// Running process. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Process {
    pub name: &'static str,
    child: Child,
    log: PathBuf,
    end_by: EndBy,
}

impl Process {
    /// Starts a process with its output in a log file of the private directory.
    ///
    /// `setpriv` makes the kernel kill the process when the thread that started it ends, so that a
    /// killed run leaves no server (prctl(2), `PR_SET_PDEATHSIG`). The alternative is unsafe code
    /// between fork and exec.
    pub fn start(home: &Home, setpriv: &Program, launch: Launch<'_>) -> Result<Self, OverError> {
        let Launch { program, enter, arguments, end_by, variables } = launch;
        let log = home.path().join(format!("{}.log", program.name));
        let failed = |attempt, path: &Path| {
            let object = path.display().to_string();
            move |source| OverError::Io { attempt, object, source }
        };
        let out = File::options().create(true).append(true).open(&log);
        let out = out.map_err(failed("open", &log))?;
        let error = out.try_clone().map_err(failed("open", &log))?;
        let (variable, value) = home.variable();
        let mut command = Command::new(&setpriv.path);
        // An initiator that gets SIGTERM waits for its server, which is gone by then, and I/O open
        // on it keeps the killed run's threads for ever. Its end at once fails that I/O.
        command.args(["--pdeathsig", "KILL", "--"]).args(enter);
        command.arg(&program.path).args(arguments).env(variable, value).envs(variables);
        // Ctrl-C in a terminal goes to a whole process group, and the load must end before its
        // server does.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(out).stderr(error).current_dir("/");
        let child = command.spawn().map_err(failed("start", &program.path))?;
        Ok(Self { name: program.name, child, log, end_by })
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the last lines of the log, shortened.
    pub fn said(&self) -> String {
        last_lines(&fs::read_to_string(&self.log).unwrap_or_default())
    }

    /// Checks that the process runs. If it does not, the error has its exit status.
    pub fn check(&mut self, phase: Phase) -> Result<(), OverError> {
        let Ok(Some(status)) = self.child.try_wait() else { return Ok(()) };
        let (program, status) = (self.name, status.to_string());
        Err(OverError::Ended { program, phase, status, said: self.said() })
    }

    /// Waits until the process is ready.
    pub fn wait_until(
        &mut self,
        phase: Phase,
        within: Duration,
        mut is_ready: impl FnMut() -> bool,
    ) -> Result<(), OverError> {
        let until = Instant::now() + within;
        loop {
            // A program that has ended is not ready, whatever it left.
            self.check(phase)?;
            if is_ready() {
                return self.check(phase);
            }
            if Instant::now() >= until {
                let (program, seconds) = (self.name, within.as_secs());
                return Err(OverError::NotReady { program, phase, seconds, said: self.said() });
            }
            std::thread::sleep(TICK);
        }
    }

    /// Kills the process without waiting for it.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Ends the process by its signal. Kills it if it does not end within [`END_MAX`].
    pub fn end(&mut self) {
        self.signal(self.end_by.signal());
        if self.wait(END_MAX).is_none() {
            self.kill();
            self.wait(END_MAX);
        }
    }

    fn signal(&mut self, signal: Signal) {
        // Until it is waited for, the number is that of this process.
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), pid_of(&self.child)) {
            let _ = kill_process(pid, signal);
        }
    }

    fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if Instant::now() >= until => return None,
                _ => std::thread::sleep(TICK),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Runs a command to its end, and returns its output. Kills the command if it does not end within
/// [`READY_MAX`].
pub(crate) fn run(
    program: &Program,
    phase: Phase,
    command: &mut Command,
) -> Result<String, OverError> {
    let failed = |source| OverError::Io {
        attempt: "run",
        object: program.path.display().to_string(),
        source,
    };
    // The output of these commands is far smaller than a pipe, so nothing reads it before the end.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + READY_MAX;
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            let (program, seconds) = (program.name, READY_MAX.as_secs());
            return Err(OverError::NotReady { program, phase, seconds, said: String::new() });
        }
        std::thread::sleep(TICK);
    }
    let output = child.wait_with_output().map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let (program, status) = (program.name, output.status.to_string());
    Err(OverError::Command { program, phase, status, said: last_lines(&text(&output.stderr)) })
}

/// Returns the last lines of a text, up to [`SAID_MAX`] characters.
fn last_lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut kept: Vec<&str> = Vec::new();
    let mut length = 0;
    for line in lines.rev().take(3) {
        length += line.chars().count();
        if length > SAID_MAX && !kept.is_empty() {
            break;
        }
        kept.push(line);
    }
    kept.reverse();
    kept.join(" | ").chars().take(SAID_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_quoted_by_its_last_lines() {
        assert_eq!(last_lines("a\nb\n\nc\n d \n"), "b | c | d");
        assert_eq!(last_lines(""), "");
        let long = "x".repeat(1000);
        assert_eq!(last_lines(&format!("first\n{long}\n")).chars().count(), SAID_MAX);
    }
}
