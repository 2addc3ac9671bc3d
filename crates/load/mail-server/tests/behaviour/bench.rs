//! Programs, user and directories of a test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process_home::Account;
use tempfile::TempDir;
use tilemark_mail_server::{MailServer, Ports, Programs, Setup};

/// Longest wait of a test.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Bench {
    pub programs: Programs,
    pub account: Account,
    pub ports: Ports,
    directory: TempDir,
}

/// Everything a server needs; `None`, with the reason printed, where it cannot run.
pub fn bench() -> Option<Bench> {
    let programs = match Programs::find() {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    let account = match Account::current().or_else(|_| Account::named("nobody")) {
        Ok(account) => account,
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    // Short enough for sockets, wherever TMPDIR leads.
    let directory = tempfile::Builder::new().prefix("tmail-").tempdir_in("/tmp").expect("made");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).expect("opened to the servers' user");
    let bench = Bench { programs, account, ports: Ports::free().expect("ports"), directory };
    std::fs::create_dir(bench.data()).expect("made");
    std::fs::set_permissions(bench.data(), std::fs::Permissions::from_mode(0o755)).expect("opened");
    Some(bench)
}

impl Bench {
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub fn runtime(&self) -> PathBuf {
        self.path("run")
    }

    pub fn setup<'a>(&'a self, data: &'a Path, runtime: &'a Path) -> Setup<'a> {
        Setup { data, runtime, account: &self.account, ports: self.ports, groups: &[] }
    }

    /// A server that was started and may not be ready.
    pub fn start(&self) -> MailServer {
        let (data, runtime) = (self.data(), self.runtime());
        let setup = self.setup(&data, &runtime);
        MailServer::start(&self.programs, &setup).expect("started")
    }

    pub fn ready(&self) -> MailServer {
        let mut server = self.start();
        server.ready(PATIENCE).expect("ready");
        server
    }

    /// Processes whose command names a directory of this test.
    pub fn processes(&self) -> Vec<u32> {
        let found = std::fs::read_dir("/proc").expect("/proc");
        let numbers = found.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let own = self.directory.path().to_str().expect("text").to_owned();
        let is_ours = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&own)
        };
        numbers.filter(is_ours).collect()
    }
}

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}
