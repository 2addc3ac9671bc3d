//! Processes of a session: their command lines, and commands that end by themselves.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use process_home::{Ending, Home, Launch, Phase, Process, ProcessError, last_lines};
use rustix::process::Signal;

use crate::error::OverError;
use crate::program::Program;

/// Maximum time for a program to become ready.
pub(crate) const READY_MAX: Duration = Duration::from_secs(15);
const TICK: Duration = Duration::from_millis(5);

/// Orderly end of a program that ends cleanly at SIGTERM. Others are killed.
pub(crate) const BY_TERM: &[Ending] = &[Ending::leader(Signal::TERM, 5)];

/// Command line of a process.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub program: &'a Program,
    /// Program and arguments that enter a namespace; empty to stay in the namespace of this
    /// process.
    pub enter: Vec<String>,
    pub arguments: Vec<String>,
    pub endings: &'static [Ending],
    pub variables: Vec<(&'static str, PathBuf)>,
}

/// Starts a process with its output in a log file of the private directory.
///
/// `setpriv` makes the kernel kill the process when the thread that started it ends, so that a
/// killed run leaves no server (prctl(2), `PR_SET_PDEATHSIG`). The alternative is unsafe code
/// between fork and exec.
pub(crate) fn start(home: &Home, setpriv: &Program, line: Line<'_>) -> Result<Process, OverError> {
    let Line { program, enter, arguments, endings, variables } = line;
    let (variable, value) = home.variable();
    let mut command = Command::new(&setpriv.path);
    // An initiator that gets SIGTERM waits for its server, which is gone by then, and I/O open on
    // it keeps the killed run's threads for ever. Its end at once fails that I/O.
    command.args(["--pdeathsig", "KILL", "--"]).args(enter);
    command.arg(&program.path).args(arguments).env(variable, value).envs(variables);
    let name = program.name.to_owned();
    let output = home.path().join(format!("{name}.log"));
    Ok(Process::start(Launch { name, command, output, log: None, endings })?)
}

/// Runs a command to its end, and returns its output. Kills the command if it does not end within
/// [`READY_MAX`].
pub(crate) fn run(
    program: &Program,
    phase: Phase,
    command: &mut Command,
) -> Result<String, ProcessError> {
    let failed = |source| ProcessError::Io {
        attempt: "run",
        object: program.path.display().to_string(),
        source,
    };
    // The output of these commands is far smaller than a pipe, so nothing reads it before the end.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let until = Instant::now() + READY_MAX;
    let name = program.name.to_owned();
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            let (within, log) = (READY_MAX, String::new());
            return Err(ProcessError::NotReady { name, phase, within, log });
        }
        std::thread::sleep(TICK);
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let log = last_lines(&String::from_utf8_lossy(&output.stderr));
    Err(ProcessError::Ended { name, phase, status: output.status.to_string(), log })
}
