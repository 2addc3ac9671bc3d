//! QEMU process of this program, with its monitor and the serial line of its guest.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use process_home::{Home, Launch, Phase, Process, ProcessError};
use serde_json::{Value, json};

use super::console::Console;
use super::nodes::Nodes;
use super::{Accelerator, Limits, Program};
use crate::guest::{Beat, Work};
use crate::home::VARIABLE;
use crate::qmp::{Event, Qmp};
use crate::{Image, VmError};

/// Memory of a guest in addition to its test pages, in MiB. The kernel does not start with less
/// than 72 (measured), and also unpacks its initial files.
const MEMORY_MIB: u64 = 104;
/// Time after which a guest without contact shuts itself down, in seconds of its own clock. So
/// guests of a killed run do not run forever.
const ALONE_SECONDS: u32 = 180;

/// Settings that all processes share.
#[derive(Debug)]
pub(super) struct Base {
    pub program: Program,
    pub accelerator: Accelerator,
    pub image: Image,
    pub home: Home,
    pub limits: Limits,
}

/// Start mode of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// The process boots a guest.
    Boot,
    /// The process waits for the state of another process.
    Incoming,
    /// The process has no CPU and no guest. Only its block layer is used.
    Blocks,
}

/// QEMU process. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct Machine {
    pub name: String,
    pub qmp: Qmp,
    /// Serial line; `None` for a process without a guest.
    pub console: Option<Console>,
    /// Name of the block node that is currently its disk.
    pub root: String,
    child: Running,
    limits: Limits,
}

impl Base {
    /// Starts a process, and waits until its monitor responds.
    pub fn start(
        &self,
        name: &str,
        work: &Work,
        nodes: Option<&Nodes>,
        begin: Begin,
    ) -> Result<Machine, VmError> {
        let program = || self.program.path.display().to_string();
        let failed = |source| VmError::Program { program: program(), source };
        let files = Files::of(self.home.path(), name);
        let mut command = Command::new(&self.program.path);
        command.args(self.common(name, &files));
        for node in nodes.iter().flat_map(|nodes| &nodes.all) {
            command.arg("-blockdev").arg(node.to_string());
        }
        match begin {
            // By default QEMU would create a KVM virtual machine, which may hang on hosts where
            // guests do.
            Begin::Blocks => {
                command.args(["-machine", "none", "-accel", self.accelerator.option()])
            }
            Begin::Boot => command.args(self.guest(work, nodes, &files)),
            Begin::Incoming => {
                command.args(self.guest(work, nodes, &files)).args(["-incoming", "defer"])
            }
        };
        command.env(VARIABLE, self.home.name());
        let output = files.said.clone();
        // A guest has nothing to save: it is killed.
        let launch = Launch { name: name.to_owned(), command, output, log: None, endings: &[] };
        let child = match Process::start(launch) {
            Ok(process) => Running { process, files },
            Err(ProcessError::Io { source, .. }) => return Err(failed(source)),
            Err(error) => return Err(failed(std::io::Error::other(error))),
        };
        let within = self.limits.answer;
        let qmp = Qmp::connect(&child.files.monitor, name, within, || child.alive());
        let qmp = qmp.or_else(|error| child.alive().and(Err(error)))?;
        let console = match begin {
            Begin::Blocks => None,
            Begin::Boot | Begin::Incoming => {
                let line = UnixStream::connect(&child.files.line);
                Some(line.and_then(Console::over).map_err(failed)?)
            }
        };
        let root = nodes.map(|nodes| nodes.root.clone()).unwrap_or_default();
        let (name, limits) = (name.to_owned(), self.limits);
        Ok(Machine { name, qmp, console, root, child, limits })
    }

    /// Returns the options of all processes: without default devices, and with a sandbox in which
    /// the process cannot start others.
    fn common(&self, name: &str, files: &Files) -> Vec<String> {
        let words = format!(
            "-nodefaults -no-user-config -display none -no-reboot -name {name} -sandbox \
             on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny \
             -chardev {} -mon chardev=qmp,mode=control",
            socket("qmp", &files.monitor)
        );
        words.split_whitespace().map(str::to_owned).collect()
    }

    fn guest(&self, work: &Work, nodes: Option<&Nodes>, files: &Files) -> Vec<String> {
        let pages = (work.still_pages + work.dirty_pages) / 256;
        let memory = (MEMORY_MIB + pages + pages / 8).to_string();
        let processor = if self.accelerator == Accelerator::Kvm { "host" } else { "max" };
        let kernel = self.image.kernel.display().to_string();
        let initrd = self.image.initrd.display().to_string();
        let (line, told) = (socket("con", &files.line), work.command_line(ALONE_SECONDS));
        let disk = nodes.map(|nodes| format!("virtio-blk-pci,id=disk,drive={}", nodes.root));
        let options = [
            ("-accel", self.accelerator.option()),
            ("-machine", "pc"),
            ("-cpu", processor),
            ("-m", &memory),
            ("-kernel", &kernel),
            ("-initrd", &initrd),
            ("-append", &told),
            ("-chardev", "ringbuf,id=log,size=16384"),
            ("-serial", "chardev:log"),
            ("-chardev", &line),
            ("-serial", "chardev:con"),
        ];
        let options = options.into_iter().chain(disk.as_deref().map(|disk| ("-device", disk)));
        options.flat_map(|(option, value)| [option.to_owned(), value.to_owned()]).collect()
    }
}

fn socket(id: &str, path: &Path) -> String {
    format!("socket,id={id},path={},server=on,wait=off", path.display())
}

/// Files of a process in the private directory.
#[derive(Debug)]
struct Files {
    monitor: PathBuf,
    line: PathBuf,
    said: PathBuf,
}

impl Files {
    fn of(home: &Path, name: &str) -> Self {
        let at = |what: &str| home.join(format!("{name}.{what}"));
        Self { monitor: at("qmp"), line: at("con"), said: at("said") }
    }
}

/// Running process with its files. Dropping it kills the process and removes the files.
#[derive(Debug)]
struct Running {
    process: Process,
    files: Files,
}

impl Running {
    /// Checks that the process runs. The error has its exit status.
    fn alive(&self) -> Result<(), VmError> {
        match self.process.check(Phase::Load) {
            Err(ProcessError::Ended { name, status, log, .. }) => {
                Err(VmError::Ended { machine: name, status, said: log })
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.process.end();
        for file in [&self.files.monitor, &self.files.line, &self.files.said] {
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Machine {
    /// Returns the process identifier, for tests that inject faults.
    pub fn pid(&self) -> u32 {
        self.child.process.pid()
    }

    /// Checks that the process runs. The error has its exit status.
    pub fn alive(&self) -> Result<(), VmError> {
        self.child.alive()
    }

    /// Sends a command and returns the response. If the process has exited, the error says so.
    pub fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, VmError> {
        let answer = self.qmp.ask(command, &arguments);
        self.or_ended(answer)
    }

    fn or_ended<T>(&mut self, answer: Result<T, VmError>) -> Result<T, VmError> {
        if matches!(answer, Err(VmError::Ended { .. })) {
            // The socket closes a moment before the process can be waited for.
            let until = Instant::now() + Duration::from_secs(2);
            while Instant::now() < until {
                self.alive()?;
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        answer
    }

    /// Waits for an event. Calls `go_on` repeatedly meanwhile; an error from it ends the wait.
    pub fn event(
        &mut self,
        what: &'static str,
        within: Duration,
        go_on: &dyn Fn() -> Result<(), VmError>,
        wanted: &mut dyn FnMut(&Event) -> bool,
    ) -> Result<Event, VmError> {
        let until = Instant::now() + within;
        loop {
            let soon = Instant::now() + Duration::from_millis(100);
            let found = self.qmp.event(soon.min(until), wanted);
            if let Some(event) = self.or_ended(found)? {
                return Ok(event);
            }
            go_on()?;
            if Instant::now() >= until {
                return Err(VmError::TooLong { machine: self.name.clone(), what, within });
            }
        }
    }

    /// Returns the serial line of the guest.
    pub fn console(&self) -> Result<&Console, VmError> {
        self.console.as_ref().ok_or_else(|| VmError::Unsupported("it has no guest".to_owned()))
    }

    /// Waits for a heartbeat with a number above the given one.
    pub fn beat_after(
        &mut self,
        after: u64,
        within: Duration,
        go_on: &dyn Fn() -> Result<(), VmError>,
    ) -> Result<Beat, VmError> {
        let until = Instant::now() + within;
        loop {
            if let Some(beat) = self.console()?.beat_after(after) {
                return Ok(beat);
            }
            self.alive()?;
            go_on()?;
            if Instant::now() >= until {
                return Err(self.no_sign("beat", within));
            }
        }
    }

    /// Returns the error for a guest without heartbeats, with its last message or its kernel's last
    /// message.
    pub fn no_sign(&mut self, what: &'static str, within: Duration) -> VmError {
        let log = self.qmp.ask("ringbuf-read", &json!({ "device": "log", "size": 16384 }));
        let log = log.ok().and_then(|log| log.as_str().map(str::to_owned)).unwrap_or_default();
        let last = |line: &&str| !line.trim().is_empty();
        let kernel = log.lines().rev().find(last).unwrap_or_default().trim().to_owned();
        let complaint = self.console.as_ref().and_then(Console::cannot);
        let said = complaint.unwrap_or(kernel);
        VmError::NoBeat { machine: self.name.clone(), what, within, said }
    }

    /// Waits for the end of a block job. Fails if the job failed or was cancelled.
    pub fn job_ended(
        &mut self,
        job: &str,
        (what, within): (&'static str, Duration),
        go_on: &dyn Fn() -> Result<(), VmError>,
    ) -> Result<Event, VmError> {
        let mut is_end = |event: &Event| {
            matches!(event.name.as_str(), "BLOCK_JOB_COMPLETED" | "BLOCK_JOB_CANCELLED")
                && event.data.get("device").and_then(Value::as_str) == Some(job)
        };
        let event = self.event(what, within, go_on, &mut is_end)?;
        match event.data.get("error").and_then(Value::as_str) {
            Some(said) => Err(self.not_done(what, said)),
            None if event.name == "BLOCK_JOB_CANCELLED" => Err(self.not_done(what, "cancelled")),
            None => Ok(event),
        }
    }

    pub fn not_done(&self, what: &'static str, said: &str) -> VmError {
        VmError::NotDone { machine: self.name.clone(), what, said: said.to_owned() }
    }

    /// Ends the process through its monitor, and kills it if that fails.
    pub fn quit(mut self) {
        let _ = self.qmp.ask("quit", &json!({}));
        self.child.process.has_ended_within(self.limits.answer.min(Duration::from_secs(5)));
    }
}
