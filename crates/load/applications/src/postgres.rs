//! Private PostgreSQL cluster with its own directory and socket.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, PoisonError};

use process_home::{
    Account, Ending, Launch, Phase, Process, Tree, careful, entering, release_cache,
};
use rustix::process::Signal;
use units::Bytes;

use crate::ServerSocket;
use crate::account::let_pass;
use crate::error::ApplicationError;
use crate::memory::cache_of;
use crate::program::{Doing, started};

/// Directories, or prefixes of directories, where the distributions' packages install PostgreSQL.
const PLACES: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql-", "/usr/bin"];
/// PostgreSQL versions that know the settings used here. Tested with version 15.
const KNOWN: std::ops::RangeInclusive<u32> = 13..=18;

/// Programs of one version.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    directory: PathBuf,
    /// Version as the server prints it: `postgres (PostgreSQL) 15.14`.
    pub(crate) version: String,
}

impl Programs {
    /// Finds the newest version of the distribution, or else the version in the search path.
    pub(crate) fn find() -> Result<Self, ApplicationError> {
        let mut found: Vec<(u32, PathBuf)> = fs::read_dir(PLACES[0])
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let number = entry.file_name().to_str()?.parse().ok()?;
                Some((number, entry.path().join("bin")))
            })
            .chain(
                KNOWN.map(|number| (number, PathBuf::from(format!("{}{number}/bin", PLACES[1])))),
            )
            .chain([(0, PathBuf::from(PLACES[2]))])
            .filter(|(_, bin)| bin.join("postgres").exists() && bin.join("initdb").exists())
            .collect();
        found.sort_by_key(|(number, _)| *number);
        let Some((_, directory)) = found.pop() else {
            let looked = PLACES.join(", ");
            let (program, package) = ("postgres", "postgresql");
            return Err(ApplicationError::Missing { program, looked, package });
        };
        let program = directory.join("postgres");
        let output = Command::new(&program).arg("--version").env_clear().output();
        let version =
            output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let version = version.unwrap_or_default();
        if !is_known(&version) {
            let (program, known) = (program.display().to_string(), "13 to 18");
            return Err(ApplicationError::Version { program, version, known });
        }
        Ok(Self { directory, version })
    }
}

/// Returns true for the output of a server whose settings are known. A version before its release
/// is `postgres (PostgreSQL) 19beta1`.
fn is_known(version: &str) -> bool {
    let number = version.split_whitespace().find_map(|word| {
        let digits = word.split(|own: char| !own.is_ascii_digit()).next()?;
        digits.parse().ok()
    });
    number.is_some_and(|number: u32| KNOWN.contains(&number))
}

/// Orderly end of a server: without waiting for its sessions, then without a checkpoint.
const ENDINGS: &[Ending] = &[Ending::leader(Signal::INT, 10), Ending::leader(Signal::QUIT, 2)];

/// Cluster of one application.
#[derive(Debug)]
pub(crate) struct Cluster<'a> {
    pub(crate) name: &'a str,
    pub(crate) programs: Programs,
    pub(crate) account: &'a Account,
    /// Number of requests to stop.
    pub(crate) stop: &'a AtomicU8,
    /// Directory of the application. The cluster is in its subdirectory `data`.
    pub(crate) directory: PathBuf,
    /// Maximum number of concurrent sessions.
    pub(crate) sessions: u32,
}

/// Size of the server's shared buffers, in MB. PostgreSQL's documentation has 128 MB for small
/// hosts. Half of that leaves more of the memory limit to the kernel's page cache.
const SHARED_BUFFERS_MB: u64 = 64;
/// Memory of one session, in MB, measured with 108 sessions. The next constant is for the server's
/// other processes.
const SESSION_MB: u64 = 3;
const SERVER_MB: u64 = 64;
/// Maximum number of bytes read from the server's state file, which has eight lines.
const STATE_MAX: u64 = 4096;
/// Role that sessions of a shop log in as.
pub(crate) const SHOP_ROLE: &str = "shop";
/// Roles that sessions log in as, one per kind of application. The first one owns the tables.
const ROLES: [&str; 2] = [SHOP_ROLE, web_site::ROLE];
/// Sessions beside the users': autovacuum, and one for checks.
const SESSIONS_MORE: u32 = 10;

/// Splits a script into statements: removes comments, splits at empty lines, and replaces
/// placeholders by numbers. `SEED` is replaced by the seed of PostgreSQL's random numbers.
pub(crate) fn statements(
    script: &str,
    words: [(&str, impl ToString); 3],
    seed: u64,
) -> Vec<String> {
    // PostgreSQL takes a seed from -1 to 1.
    #[expect(clippy::cast_precision_loss, reason = "any number in the range is a seed")]
    let seed = (seed >> 11) as f64 / (1_u64 << 53) as f64;
    let lines = script.lines().filter(|line| !line.starts_with("--"));
    let script = lines.fold(String::new(), |script, line| script + line + "\n");
    let script = words
        .iter()
        .fold(script, |script, (word, number)| script.replace(word, &number.to_string()))
        .replace("SEED", &format!("{seed:.17}"));
    let texts = script.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
    texts.map(str::to_owned).collect()
}

impl Cluster<'_> {
    /// Returns the directory of the cluster and of its socket.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    pub(crate) fn socket(&self) -> Result<ServerSocket, ApplicationError> {
        let opened = ServerSocket::of(&self.data(), ".s.PGSQL.5432");
        opened.map_err(|error| self.doing(Phase::Start).io("opening its directory", error))
    }

    fn doing(&self, phase: Phase) -> Doing {
        Doing { name: self.name.to_owned(), phase }
    }

    /// Returns the memory limit for data of this size: its cache, and the memory of the cluster's
    /// processes and of those `beside` it. Only the cache depends on the size: a small share of the
    /// data has as many sessions as all of it.
    pub(crate) fn memory(&self, size: Bytes, beside: Bytes) -> Bytes {
        let processes = SESSION_MB * u64::from(self.sessions) + SERVER_MB;
        let cache = cache_of(size).max(Bytes::new(SHARED_BUFFERS_MB << 20));
        cache + Bytes::new(processes << 20) + beside
    }

    /// Creates the cluster as a copy of `empty`, and runs the given statements in its database
    /// `tile`. The first call also creates `empty`.
    pub(crate) fn make(
        &self,
        empty: &Mutex<Option<Arc<Tree>>>,
        statements: &[String],
    ) -> Result<(), ApplicationError> {
        let doing = self.doing(Phase::Prepare);
        let process = |source| ApplicationError::Process { name: self.name.to_owned(), source };
        let empty = self.empty(&mut empty.lock().unwrap_or_else(PoisonError::into_inner))?;
        self.make_directory()?;
        let copied = empty.copy(Path::new("."), &self.data(), self.account, &|_, _| ());
        copied.map_err(process)?;
        self.run_single("tile", statements)?;
        release_cache(&self.data()).map_err(|error| doing.io("writing its data out", error))
    }

    /// Returns the empty cluster of the run, which has the database `tile` and the roles of all
    /// applications. Creates it if there is none yet.
    fn empty(&self, known: &mut Option<Arc<Tree>>) -> Result<Arc<Tree>, ApplicationError> {
        if let Some(tree) = known {
            return Ok(Arc::clone(tree));
        }
        let directory = self.directory.with_file_name("empty-cluster");
        let empty = Cluster { directory, programs: self.programs.clone(), ..*self };
        let doing = self.doing(Phase::Prepare);
        empty.make_directory()?;
        fs::create_dir(empty.data())
            .and_then(|()| self.account.own_directory(&empty.data()))
            .map_err(|error| doing.io("making the directory of a cluster", error))?;
        let mut init = self.account.command(self.programs.directory.join("initdb"), "KILL");
        init.arg("-D").arg(empty.data());
        init.args(["-U", ROLES[0], "--auth=trust", "--no-locale", "-E", "UTF8", "--no-sync"]);
        doing.run("initdb", &mut init, Stdio::null(), &empty.log(), self.stop)?;
        let role = format!("CREATE ROLE {} SUPERUSER LOGIN", ROLES[1]);
        empty.run_single("postgres", &[role, "CREATE DATABASE tile".to_owned()])?;
        let tree = Tree::open(&empty.data());
        let name = self.name.to_owned();
        let tree = Arc::new(tree.map_err(|source| ApplicationError::Process { name, source })?);
        Ok(Arc::clone(known.insert(tree)))
    }

    /// Creates the directory of the application. The user owns only the data in it. Logs and
    /// statements are beside the data, where the user cannot put a link in the place of a file that
    /// root writes.
    fn make_directory(&self) -> Result<(), ApplicationError> {
        let made = fs::create_dir(&self.directory).and_then(|()| let_pass(&self.directory));
        made.map_err(|error| self.doing(Phase::Prepare).io("making its directory", error))
    }

    /// Runs statements in single-user mode, without a server. No other session can interfere, and a
    /// checkpoint is made at the end.
    fn run_single(&self, database: &str, statements: &[String]) -> Result<(), ApplicationError> {
        let doing = self.doing(Phase::Prepare);
        // In this mode a statement ends at a semicolon and two ends of line.
        let script: String = statements.iter().map(|one| format!("{one};\n\n")).collect();
        let path = self.directory.join("script.sql");
        let failed = |error| doing.io("writing its statements", error);
        fs::write(&path, script).map_err(failed)?;
        let input = fs::File::open(&path).map_err(failed)?;
        let log = self.directory.join("prepare.log");
        let _ = fs::remove_file(&log);
        careful::append(&log).map_err(failed)?;
        let mut single = self.account.command(self.programs.directory.join("postgres"), "KILL");
        single.args(["--single", "-j", "-O", "-D"]).arg(self.data()).args(self.settings());
        // Loads that are lost with the host are made again, so they need no log.
        single.args(["-c", "fsync=off", "-c", "maintenance_work_mem=128MB", database]);
        doing.run("postgres --single", &mut single, Stdio::from(input), &log, self.stop)?;
        // This mode goes on after an error, and ends well.
        let text = fs::read_to_string(&log).map_err(failed)?;
        if text.contains("ERROR:") || text.contains("FATAL:") {
            let line = text.lines().find(|line| line.contains("ERROR:") || line.contains("FATAL:"));
            let how = format!("failed: {}", untrusted::shown(line.unwrap_or_default()));
            return Err(doing.ended("postgres --single", how, &log));
        }
        fs::remove_file(&path).map_err(failed)
    }

    /// Returns the settings that differ from the defaults, as arguments. The write-ahead log is as
    /// durable as for real users.
    fn settings(&self) -> Vec<String> {
        let settings = [
            ("listen_addresses", String::new()),
            ("unix_socket_directories", ".".to_owned()),
            ("unix_socket_permissions", "0700".to_owned()),
            ("max_connections", (self.sessions + SESSIONS_MORE).to_string()),
            ("shared_buffers", format!("{SHARED_BUFFERS_MB}MB")),
            ("max_wal_size", "1GB".to_owned()),
            ("checkpoint_timeout", "60s".to_owned()),
            ("jit", "off".to_owned()),
            ("max_parallel_workers_per_gather", "0".to_owned()),
            ("fsync", "on".to_owned()),
            ("synchronous_commit", "on".to_owned()),
            ("full_page_writes", "on".to_owned()),
            ("wal_level", "minimal".to_owned()),
            ("max_wal_senders", "0".to_owned()),
            ("logging_collector", "off".to_owned()),
            // After a crash of a session the server would end all others, recover and go on, and
            // the step would count as measured.
            ("restart_after_crash", "off".to_owned()),
        ];
        settings.iter().map(|(name, value)| format!("--{name}={value}")).collect()
    }

    /// Starts the server in control groups.
    pub(crate) fn start(&self, groups: &[PathBuf]) -> Result<Process, ApplicationError> {
        let mut command = self.account.command(self.programs.directory.join("postgres"), "QUIT");
        command.arg("-D").arg(self.data()).args(self.settings());
        let command = entering(groups, &command);
        let (name, output) = ("postgres".to_owned(), self.log());
        let launch = Launch { name, command, output, log: None, endings: ENDINGS };
        let state = self.data().join("postmaster.pid");
        // The eighth line says what the server does; `ready` since version 10.
        let is_ready = || {
            let read = careful::read(&state).and_then(|file| {
                let mut lines = String::new();
                file.take(STATE_MAX).read_to_string(&mut lines).map(|_| lines)
            });
            let lines = read.unwrap_or_default();
            lines.lines().nth(7).is_some_and(|line| line.trim() == "ready")
        };
        started(self.name, launch, is_ready)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_versions_with_known_settings_are_used() {
        let of = |number: &str| is_known(&format!("postgres (PostgreSQL) {number}"));
        assert!(of("13.0") && of("15.18 (Debian 15.18-0+deb12u1)") && of("18beta2"));
        for number in ["12.22", "9.6.24", "19.1", "19beta1", "", "x"] {
            assert!(!of(number), "{number}");
        }
    }
}
