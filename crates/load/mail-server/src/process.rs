//! Process group of a server.

use std::fs;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid,
};

use crate::careful;
use crate::error::failed;
use crate::{MailServerError, Program};

/// Maximum time for an orderly stop, and then for the exit of killed processes.
const END_MAX: Duration = Duration::from_secs(10);
/// Maximum time for Dovecot's leader to stop its children: 2 to 3 s were seen.
const ORDER_MAX: Duration = Duration::from_secs(4);
/// Interval between two checks of processes.
const PAUSE: Duration = Duration::from_millis(20);

/// Server with its children, which form one process group. Dropping it kills them.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) program: Program,
    child: Child,
    leader: Pid,
    is_over: bool,
}

impl Process {
    /// Starts a server with its output in an existing file. `command` sets its user and groups.
    pub(crate) fn start(
        program: Program,
        mut command: Command,
        output: &Path,
    ) -> Result<Self, MailServerError> {
        let file = careful::append(output).map_err(failed("open", output))?;
        let second = file.try_clone().map_err(failed("open", output))?;
        // A daemon that keeps an inherited pipe open would hold up whoever reads it to its end.
        command.stdin(Stdio::null()).stdout(file).stderr(second);
        command.current_dir("/").process_group(0);
        let path = Path::new(command.get_program()).to_owned();
        let child = command.spawn().map_err(failed("run", &path))?;
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = leader.ok_or_else(|| failed("run", &path)(io::ErrorKind::Other.into()))?;
        Ok(Self { program, child, leader, is_over: false })
    }

    /// Returns the exit status of the leader in words; `None` while it runs. The leader is not
    /// reaped, so that its number is not reused for another process group.
    pub(crate) fn ended(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(self.leader), options).ok().flatten()?;
        let code =
            status.exit_status().map(|code| code << 8).or_else(|| status.terminating_signal());
        code.map(|raw| ExitStatus::from_raw(raw).to_string())
    }

    /// Stops the server in order, and kills it after 10 s. Returns when no process is left.
    pub(crate) fn stop(&mut self) {
        if self.is_over {
            return;
        }
        // Dovecot's leader ends the others in order, but waits for a client that is connected and has
        // not logged in. Exim's leader leaves its children, which take mails and deliver: a mail that
        // is under way stays in the queue.
        if self.program == Program::Dovecot {
            let _ = kill_process(self.leader, Signal::TERM);
            self.wait_for_end(ORDER_MAX);
        }
        let _ = kill_process_group(self.leader, Signal::TERM);
        match self.wait_for_end(END_MAX) {
            true => self.reap(),
            false => self.kill(),
        }
    }

    /// Kills the server. Returns when no process is left.
    pub(crate) fn kill(&mut self) {
        if !self.is_over {
            let _ = kill_process_group(self.leader, Signal::KILL);
            self.wait_for_end(END_MAX);
            self.reap();
        }
    }

    fn wait_for_end(&self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            if members(self.leader.as_raw_nonzero().get()).is_empty() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn reap(&mut self) {
        self.is_over = true;
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kernel's line about a process (proc(5)).
struct Stat {
    state: char,
    group: i32,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses fields 3 and 5. The name before them may contain spaces and parentheses.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self { state: fields.first()?.chars().next()?, group: fields.get(2)?.parse().ok()? })
    }

    /// Returns false for a process that has exited and was not reaped.
    fn runs(&self) -> bool {
        !matches!(self.state, 'Z' | 'X')
    }
}

/// Returns the ids of all visible processes of this host.
fn all() -> Vec<i32> {
    let Ok(found) = fs::read_dir("/proc") else { return Vec::new() };
    found.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the ids of the running processes of a group.
fn members(group: i32) -> Vec<i32> {
    let is_member =
        |pid: &i32| Stat::of(*pid).is_some_and(|stat| stat.group == group && stat.runs());
    all().into_iter().filter(is_member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_the_name() {
        let line = "12 (a) b (c) S 1 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let stat = Stat::parse(line).expect("a line");
        assert_eq!((stat.state, stat.group), ('S', 77));
        assert!(Stat::parse("12 (a").is_none() && Stat::parse("12 (a) S 1").is_none());
    }
}
