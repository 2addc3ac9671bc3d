//! Session of a protocol: server and initiator, from set-up to tear-down.

use std::time::{Duration, Instant};

use process_home::{Guests, Home, HomeKind, Phase, Process, Swept, cpu_time, is_stopped};

use crate::error::OverError;
use crate::nvme::{self, TARGET};
use crate::protocol::{Checked, Protocol};
use crate::set_up::{Reached, ServedFile, SetUp};

/// Name of the directory at which an existing export is mounted.
pub(crate) const MOUNT_POINT: &str = "export";

/// Kind of the private directories of sessions.
pub(crate) static KIND: HomeKind = HomeKind {
    prefix: "tilemark-over-",
    variable: "TILEMARK_OVER",
    is_own: is_own_file,
    guests: Guests::None,
    release: nvme::release,
};

fn is_own_file(name: &str) -> bool {
    let is_disk = name.strip_prefix("disk-").is_some_and(|nth| nth.parse::<u32>().is_ok());
    is_disk
        || name.ends_with(".log")
        || name.ends_with(".pid")
        || name.ends_with(".lock")
        || name == "ganesha.conf"
        || name == MOUNT_POINT
}

/// Maximum time of a session under load in which I/O is open but none is answered. Our choice: the
/// kernel's SCSI layer waits as long for one command (`/sys/block/*/device/timeout`, 30 s).
pub const SILENCE_MAX: Duration = Duration::from_secs(30);

/// State of a load's I/O since the last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// At least one I/O completed, or none was outstanding.
    Fine,
    /// I/Os were outstanding and none completed, or the load did not report.
    NothingOfOpen,
}

/// Protocol that is set up. Dropping it takes everything down.
#[derive(Debug)]
pub struct Session {
    up: SetUp,
    reached: Reached,
    setup_time: Duration,
    /// Time of the last report with answered I/O or without open I/O.
    last_answer: Instant,
    /// Private directory; dropped last.
    home: Home,
}

impl Session {
    /// Starts server and initiator for files of a run. The calling thread must live as long as the
    /// session, because the processes end with the thread.
    ///
    /// # Errors
    ///
    /// If a path cannot be served, or a program fails or is not ready in time. Then nothing is
    /// left.
    pub fn set_up(
        protocol: &dyn Protocol,
        checked: &Checked,
        run_id: &str,
        files: &[ServedFile],
    ) -> Result<Self, OverError> {
        let began = Instant::now();
        let home = Home::make(&KIND, run_id)?;
        let mut up = SetUp::default();
        if let Err(error) = protocol.set_up(checked, &home, files, &mut up) {
            let _ = up.take_down();
            return Err(error);
        }
        let reached = up.reached.take().expect("every protocol's set-up stores the address");
        let setup_time = began.elapsed();
        Ok(Self { up, reached, setup_time, last_answer: Instant::now(), home })
    }

    /// Returns the access to the served files.
    pub const fn reached(&self) -> &Reached {
        &self.reached
    }

    /// Returns the time from the first program's start until the files could be opened.
    pub const fn setup_time(&self) -> Duration {
        self.setup_time
    }

    /// Returns the private directory of the session.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Returns the names and ids of the processes, for tests that disturb them.
    pub fn pids(&self) -> Vec<(&str, u32)> {
        self.up.processes().map(|process| (process.name(), process.pid())).collect()
    }

    /// Checks that all processes run, and that a kernel's initiator is connected. If not, outstanding
    /// I/O is failed. Otherwise it would wait for ever, because iSCSI and NFS clients never stop
    /// retrying.
    ///
    /// # Errors
    ///
    /// If a process has ended, or the kernel lost its connection.
    pub fn check(&self) -> Result<(), OverError> {
        let checked = self.up.processes().try_for_each(|process| process.check(Phase::Load));
        let kernel = || self.up.kernel.as_ref().map_or(Ok(()), |own| own.check());
        let checked = checked.map_err(OverError::from).and_then(|()| kernel());
        checked.inspect_err(|_| self.fail_open_io())
    }

    /// Records the state of the load's I/O since the last call.
    ///
    /// # Errors
    ///
    /// If I/Os are outstanding, and none completed for 30 s, or for `silence_max` if that is
    /// longer. The initiator is killed.
    pub fn note(&mut self, answered: Answered, silence_max: Duration) -> Result<(), OverError> {
        if answered != Answered::NothingOfOpen {
            self.last_answer = Instant::now();
        }
        let silence = self.last_answer.elapsed();
        if silence < SILENCE_MAX.max(silence_max) {
            return Ok(());
        }
        let stopped = self.up.processes().find(|process| is_stopped(process.pid()));
        let (program, said) = match stopped {
            Some(process) => (process.name(), "it is stopped by a signal".to_owned()),
            None => match self.up.servers.first() {
                Some(server) => (server.name(), server.last_lines()),
                None => (TARGET, String::new()),
            },
        };
        let program = program.to_owned();
        self.fail_open_io();
        Err(OverError::Hangs { program, seconds: silence.as_secs(), said })
    }

    /// Returns the processor time of the servers, and of the initiator, as far as they are
    /// separate processes. Work that the kernel does for them outside their threads is not included.
    pub fn cpu_times(&self) -> [Option<Duration>; 2] {
        let of = |process: &Process| cpu_time(process.pid()).unwrap_or_default();
        let servers = &self.up.servers;
        let servers = (!servers.is_empty()).then(|| servers.iter().map(of).sum());
        [servers, self.up.initiator.as_ref().map(of)]
    }

    fn fail_open_io(&self) {
        if let Some(kernel) = &self.up.kernel {
            return kernel.fail_open_io();
        }
        match &self.up.initiator {
            Some(initiator) => initiator.kill(),
            // The engine's own client fails its I/O when the connection is closed.
            None => self.up.servers.iter().for_each(Process::kill),
        }
    }

    /// Ends initiator and servers, in this order, and removes their files.
    ///
    /// # Errors
    ///
    /// If a process had already ended, or an object of the kernel stays.
    pub fn end(mut self) -> Result<(), OverError> {
        let checked = self.check();
        checked.and(self.up.take_down())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.up.take_down();
    }
}

/// Creates a private directory for a test.
#[cfg(test)]
pub(crate) fn test_home() -> Home {
    Home::make(&KIND, "run-1").expect("a private directory")
}

/// Ends the servers and initiators of killed runs and removes their directories. If `is_real` is
/// false, only lists them.
pub fn sweep(is_real: bool) -> Vec<Swept> {
    process_home::sweep(&KIND, is_real)
}
