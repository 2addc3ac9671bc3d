//! `virsh` as a child process. libvirt's own program can reach every version of libvirt on every
//! host, also over ssh and TLS. No library has to be linked.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::VmError;

/// Name of libvirt's program.
pub const VIRSH: &str = "virsh";
/// Maximum number of output bytes that are kept.
const SAID_MAX: usize = 4 << 20;
/// Maximum wait for the rest of the output of a command that has ended. A process that it started,
/// such as the shared connection of ssh, may hold the pipe open for hours.
const REST: Duration = Duration::from_secs(1);
/// Poll interval of a short command.
const LOOK: Duration = Duration::from_millis(5);

/// Connection to libvirt, given by its URI.
#[derive(Debug, Clone)]
pub struct Virsh {
    /// Name or path of the program, usually [`VIRSH`].
    pub program: String,
    /// URI of the connection, as `virsh --connect` takes it. It may name a program to run.
    pub uri: String,
    /// Name in errors.
    pub machine: String,
    /// Maximum time of a short command.
    pub answer: Duration,
}

/// Long command in progress.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    command: String,
    machine: String,
    said: [Option<Output>; 2],
}

/// Output of a command, which a thread reads.
#[derive(Debug)]
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Virsh {
    /// Runs a short command and returns its output.
    ///
    /// # Errors
    ///
    /// If `virsh` cannot be started, fails, or does not end in time.
    pub fn ask(&self, arguments: &[&str]) -> Result<String, VmError> {
        self.wait(self.start(arguments)?)
    }

    /// Runs a short command, and returns its output until it ended, failed or took too long, and
    /// true if it took too long.
    ///
    /// # Errors
    ///
    /// If `virsh` cannot be started.
    pub fn ask_partly(&self, arguments: &[&str]) -> Result<(String, bool), VmError> {
        let mut running = self.start(arguments)?;
        let until = Instant::now() + self.answer;
        let mut is_late = false;
        while matches!(running.child.try_wait(), Ok(None)) && !is_late {
            std::thread::sleep(LOOK);
            is_late = Instant::now() >= until;
        }
        running.kill();
        let told = running.said[0].take();
        Ok((told.map(Output::text).unwrap_or_default(), is_late))
    }

    fn wait(&self, mut running: Running) -> Result<String, VmError> {
        let until = Instant::now() + self.answer;
        loop {
            if let Some(said) = running.look()? {
                return Ok(said);
            }
            if Instant::now() >= until {
                let (machine, command) = (self.machine.clone(), running.command.clone());
                running.kill();
                return Err(VmError::Silent { machine, command, within: self.answer });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Defines a domain. The description goes to `virsh` through a pipe, because it may contain
    /// secrets.
    pub(super) fn define(&self, xml: &str) -> Result<String, VmError> {
        self.wait(self.start_with(&["define", "--file", "/dev/stdin"], Some(xml))?)
    }

    /// Starts a long command.
    pub(super) fn start(&self, arguments: &[&str]) -> Result<Running, VmError> {
        self.start_with(arguments, None)
    }

    fn start_with(&self, arguments: &[&str], input: Option<&str>) -> Result<Running, VmError> {
        let failed = |source| VmError::Program { program: self.program.clone(), source };
        let mut command = Command::new(&self.program);
        // Its messages are parsed, so the language is fixed; and it must never ask for a password
        // on a terminal.
        command.args(["--quiet", "--connect", &self.uri]).args(arguments);
        command.env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.spawn().map_err(failed)?;
        if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
            pipe.write_all(text.as_bytes()).map_err(failed)?;
        }
        let said = [child.stdout.take().map(Output::read), child.stderr.take().map(Output::read)];
        let (command, machine) = (arguments.join(" "), self.machine.clone());
        Ok(Running { child, command, machine, said })
    }
}

impl Output {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let into = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let mut part = [0; 1 << 14];
            while let Ok(length @ 1..) = from.read(&mut part) {
                let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                // The rest is read and dropped, so that the command never blocks on a full pipe.
                let room = SAID_MAX.saturating_sub(into.len());
                into.extend_from_slice(&part[..length.min(room)]);
            }
        });
        Self { bytes, thread }
    }

    /// Returns the output of a command that has ended.
    fn text(self) -> String {
        let until = Instant::now() + REST;
        while !self.thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Running {
    /// Returns the output of the command if it has succeeded; `None` while it runs. Fails if the
    /// command failed.
    pub fn look(&mut self) -> Result<Option<String>, VmError> {
        let failed = |source| VmError::Program { program: VIRSH.to_owned(), source };
        let Some(status) = self.child.try_wait().map_err(failed)? else { return Ok(None) };
        let [told, wrong] = self.said.each_mut().map(Option::take);
        let text = |own: Option<Output>| own.map(Output::text).unwrap_or_default();
        if status.success() {
            // A shared connection of ssh keeps the other output open, which nobody needs here.
            return Ok(Some(text(told)));
        }
        let wrong = text(wrong);
        let lines = wrong.lines().map(|line| line.trim_start_matches("error: ").trim());
        let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let said = if words.is_empty() { status.to_string() } else { words.join("; ") };
        let (machine, command) = (self.machine.clone(), self.command.clone());
        Err(VmError::Refused { machine, command, said })
    }

    /// Kills the command. A job that it started in libvirt may continue.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn output_ends_with_the_command_and_not_with_its_children() {
        let place = tempfile::tempdir().expect("a directory");
        let program = place.path().join("virsh");
        // The child keeps both pipes open, as the shared connection of ssh does.
        let script = format!(
            "#!/bin/sh\nsleep 1000 & echo $! >{}\necho told\n",
            place.path().join("child").display()
        );
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it may run");
        let virsh = Virsh {
            program: program.display().to_string(),
            uri: "test:///default".to_owned(),
            machine: "test".to_owned(),
            answer: Duration::from_secs(60),
        };
        let end = || {
            let id = fs::read_to_string(place.path().join("child")).expect("it began");
            let _ = Command::new("kill").arg(id.trim()).status();
        };
        let partly = virsh.ask_partly(&["list"]).expect("it ran");
        end();
        assert_eq!(partly, ("told\n".to_owned(), false));
        let whole = virsh.ask(&["list"]).expect("it ran");
        end();
        assert_eq!(whole, "told\n");
    }
}
