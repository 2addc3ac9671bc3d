//! Processes of a run that was killed.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::careful;
use crate::error::failed;
use crate::process::{Identity, Process, all, members};
use crate::{MailServerError, Program};

/// File in the runtime directory: a line `PROGRAM PID START` for each server.
pub(crate) const PROCESSES: &str = "processes";
/// Most bytes of that file: two lines have 60.
const TEXT_MAX: u64 = 4096;
/// Longest time for the end of killed processes.
const END_MAX: Duration = Duration::from_secs(10);

/// Process of a run that ended without ending it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Server program.
    pub program: Program,
    /// Number of the process.
    pub pid: i32,
}

/// Writes down a server that was just started.
pub(crate) fn note(runtime: &Path, process: &Process) -> Result<(), MailServerError> {
    let path = runtime.join(PROCESSES);
    let Identity { pid, start } = process.identity();
    let written = careful::append(&path).and_then(|mut file| {
        writeln!(file, "{} {pid} {start}", process.program)?;
        file.sync_all()
    });
    written.map_err(failed("write", &path))
}

/// Running processes of the servers that a run started with this runtime directory. Empty if there
/// is no such directory.
///
/// # Errors
/// If the directory cannot be read.
pub fn leftovers(runtime: &Path) -> Result<Vec<Leftover>, MailServerError> {
    let owner = match fs::symlink_metadata(runtime) {
        Ok(status) if status.is_dir() => status.uid(),
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("look at", runtime)(error)),
    };
    let path = runtime.join(PROCESSES);
    let mut text = String::new();
    match careful::read(&path).and_then(|file| file.take(TEXT_MAX).read_to_string(&mut text)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("read", &path)(error));
        }
        _ => {}
    }
    let mut found: Vec<Leftover> = Vec::new();
    for (program, identity) in text.lines().filter_map(parse) {
        if identity.runs() {
            let group = members(identity.pid).into_iter();
            found.extend(group.map(|pid| Leftover { program, pid }));
        }
    }
    // Children whose server is gone, or one that was killed on before it was written down.
    for pid in all() {
        if let Some(program) = program_below(pid, runtime) {
            found.push(Leftover { program, pid });
        }
    }
    // The servers' user can write the file: a line of theirs must lead to no process of another.
    found.retain(|own| owner_of(own.pid) == Some(owner));
    found.sort_by_key(|own| own.pid);
    found.dedup_by_key(|own| own.pid);
    Ok(found)
}

/// Ends the servers of a run that has ended, and removes their runtime directory. The caller knows
/// that the run has ended. Returns the processes that were ended.
///
/// # Errors
/// As [`leftovers`], or if the directory cannot be removed.
pub fn end_leftovers(runtime: &Path) -> Result<Vec<Leftover>, MailServerError> {
    let found = leftovers(runtime)?;
    let until = Instant::now() + END_MAX;
    loop {
        let left = leftovers(runtime)?;
        if left.is_empty() || Instant::now() >= until {
            break;
        }
        for own in &left {
            end(runtime, own)?;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if runtime.join(PROCESSES).exists() {
        fs::remove_dir_all(runtime).map_err(failed("remove", runtime))?;
    }
    Ok(found)
}

/// Kills a process. It is opened first and looked for again, because its number may be another's by
/// now.
fn end(runtime: &Path, own: &Leftover) -> Result<(), MailServerError> {
    let pid = Pid::from_raw(own.pid);
    let Some(held) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return Ok(());
    };
    if leftovers(runtime)?.contains(own) {
        let _ = pidfd_send_signal(&held, Signal::KILL);
    }
    Ok(())
}

fn parse(line: &str) -> Option<(Program, Identity)> {
    let mut words = line.split(' ');
    let program = match words.next()? {
        "exim" => Program::Exim,
        "dovecot" => Program::Dovecot,
        _ => return None,
    };
    let pid = words.next()?.parse().ok().filter(|pid| *pid > 1)?;
    Some((program, Identity { pid, start: words.next()?.parse().ok()? }))
}

/// Program of a process that was started with settings in a directory.
fn program_below(pid: i32, runtime: &Path) -> Option<Program> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0);
    let is_of = |name: &str| {
        let path = runtime.join(name);
        line.split(|byte| *byte == 0).any(|word| word == path.as_os_str().as_encoded_bytes())
    };
    let _ = words.next();
    if is_of(EXIM_SETTINGS) {
        Some(Program::Exim)
    } else if is_of(DOVECOT_SETTINGS) {
        Some(Program::Dovecot)
    } else {
        None
    }
}

/// Names of the settings in the runtime directory.
pub(crate) const EXIM_SETTINGS: &str = "exim.conf";
pub(crate) const DOVECOT_SETTINGS: &str = "dovecot.conf";

fn owner_of(pid: i32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|status| status.uid())
}
