use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

/// Interval of checks whether a program still runs.
const LOOK: Duration = Duration::from_millis(20);

/// Program that gets messages on its standard input.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Arguments.
    pub arguments: Vec<String>,
}

/// Prints only the path, because arguments may contain secrets.
impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Program({})", self.path.display())
    }
}

/// Reason why a program did not take a message.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The program cannot be started, or waited for.
    #[error("starting {}: {source}", path.display())]
    Start {
        /// Path of the program.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("{} ended with {status}", path.display())]
    Status {
        /// Path of the program.
        path: PathBuf,
        /// Exit status of the program.
        status: ExitStatus,
    },
    /// The program ran too long, and was killed.
    #[error("{} did not end within {} s", path.display(), patience.as_secs())]
    TooLong {
        /// Path of the program.
        path: PathBuf,
        /// Time limit that was exceeded.
        patience: Duration,
    },
}

impl Program {
    /// Runs the program without a shell, so that no text of a message is read as a command, and
    /// waits until it ends. Kills it, together with programs that it started, after `patience`.
    ///
    /// # Errors
    /// If the program does not start, fails, or does not end in time.
    pub fn tell(&self, message: &[u8], patience: Duration) -> Result<(), ProgramError> {
        let failed = |source| ProgramError::Start { path: self.path.clone(), source };
        let mut child = Command::new(&self.path)
            .args(&self.arguments)
            .stdin(input(message).map_err(failed)?)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let until = Instant::now() + patience;
        loop {
            match child.try_wait().map_err(failed)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(ProgramError::Status { path: self.path.clone(), status });
                }
                None if Instant::now() < until => std::thread::sleep(LOOK),
                None => break,
            }
        }
        // The child was not waited for, so its number is still its own.
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
        let _ = child.wait();
        Err(ProgramError::TooLong { path: self.path.clone(), patience })
    }
}

/// Creates a file in memory with the message. A pipe would block after 64 KiB if the program reads
/// nothing.
fn input(message: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"message", MemfdFlags::CLOEXEC)?);
    file.write_all(message)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program { path: "/bin/sh".into(), arguments: vec!["-c".to_owned(), script.to_owned()] }
    }

    #[test]
    fn program_gets_a_message_longer_than_a_pipe() {
        let message = vec![b'x'; 200_000];
        let counts = shell("test $(wc -c) -eq 200000");
        counts.tell(&message, Duration::from_secs(60)).expect("all of it came");
        shell("exit 0")
            .tell(&message, Duration::from_secs(60))
            .expect("a program may read nothing");
    }

    #[test]
    fn failing_or_hanging_program_is_an_error_without_arguments() {
        let failing = shell("exit 3 # secret").tell(b"{}", Duration::from_secs(60));
        let error = failing.expect_err("it failed").to_string();
        assert!(error.contains("exit status: 3") && !error.contains("secret"), "{error}");
        let hanging = shell("sleep 600 & wait # secret").tell(b"{}", Duration::from_millis(100));
        let error = hanging.expect_err("it hung").to_string();
        assert!(error.contains("did not end within") && !error.contains("secret"), "{error}");
        let gone = Program { path: "/gone/program".into(), arguments: Vec::new() };
        let error = gone.tell(b"{}", Duration::from_secs(1)).expect_err("it is not there");
        assert!(error.to_string().starts_with("starting /gone/program: "), "{error}");
    }
}
