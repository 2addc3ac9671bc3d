//! Mail server of a tile: Exim receives mail, Dovecot delivers and serves it (crate `mail_server`).
//!
//! Mailboxes are filled by deliveries once per run, and copied for each tile with a text of its
//! own. The size decides how many mails are in each of `u1` to `u992`. If the size allows fewer
//! than 10 mails for each, fewer mailboxes are filled, and the others start empty.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http_client::Secret;
use mail_server::{
    MailServer, MailServerError, PATTERN_MAILBOXES, Pattern, Ports, Programs, Setup,
};
use process_home::{Account, Guests, Home, HomeKind, Phase};
use units::Bytes;

use crate::delivery::Deliveries;
use crate::error::ApplicationError;
use crate::memory::{MemoryGroup, cache_of};
use crate::program::Doing;
use crate::{Application, Endpoint, Need, Running, Site};

/// Private directories for the settings and sockets of mail servers, one per run.
pub(crate) static HOME: HomeKind = HomeKind {
    prefix: "tilemark-mail-",
    variable: "TILEMARK_MAIL",
    is_own: |name| name.parse::<u32>().is_ok(),
    guests: Guests::Pass,
    release: |_| Ok(()),
};

/// Maximum number of mailboxes of a tile, and minimum. The workload `mail-real` calls the maximum.
const MAILBOXES_MAX: u64 = 992;
const MAILBOXES_MIN: u64 = PATTERN_MAILBOXES as u64;
/// Size of one mail in a mailbox, in bytes, with headers and its share of the index. Measured: 4.8
/// kB, both with 39 and with 300 mails in each of 64 mailboxes.
const BYTES_PER_MAIL: u64 = 4800;
/// Minimum and maximum number of mails in a mailbox. A session of `mail-real` reads seven and moves
/// or deletes up to five.
const MAILS_MIN: u64 = 10;
const MAILS_MAX: u64 = 100_000;
/// Memory of a tile's processes. Each mail in progress has one Exim process for its session and
/// others for its deliveries, so a stall of host or storage also needs memory. A single tile passed
/// with 32 MiB. With 80 MiB the kernel killed Exim in a step of seven tiles whose servers used 1.8
/// of two processors. 256 MiB are our choice.
const PROCESSES: Bytes = Bytes::new(256 << 20);
/// Maximum time until the servers are ready. Our choice: 0.3 s were measured.
const READY_MAX: Duration = Duration::from_secs(30);

/// Mail servers of a run.
#[derive(Debug)]
pub(crate) struct Mails {
    programs: Programs,
    home: Home,
    /// Number of directories below `home` that were used.
    used: u32,
    /// Filled mailboxes to copy from, keyed by their number of mails.
    patterns: BTreeMap<u32, Pattern>,
}

/// Mail server of one tile.
#[derive(Debug)]
pub(crate) struct Mail {
    name: String,
    server: MailServer,
}

/// Checks that the programs are installed. Returns their names and versions.
pub(crate) fn check() -> Result<String, ApplicationError> {
    let found =
        Programs::find().map_err(|error| ApplicationError::MailPrograms(Box::new(error)))?;
    Ok(version(&found))
}

fn version(programs: &Programs) -> String {
    format!("Exim {} and Dovecot {}", programs.exim_version, programs.dovecot_version)
}

impl Mails {
    /// Prepares for the mail servers of the run with this id.
    pub(crate) fn of_run(run: &str) -> Result<Self, ApplicationError> {
        let programs = Programs::find();
        let programs = programs.map_err(|error| ApplicationError::MailPrograms(Box::new(error)))?;
        let home = Home::make(&HOME, run)?;
        Ok(Self { programs, home, used: 0, patterns: BTreeMap::new() })
    }

    /// Creates the mailboxes of a tile and starts its servers.
    pub(crate) fn start(
        &mut self,
        need: &Need,
        site: &Site,
    ) -> Result<Application, ApplicationError> {
        let doing = |phase| move |source| failed(&need.name, phase, source);
        let go_on = || site.go_on().is_ok();
        let Filled { mailboxes, mails } = Filled::of(need.size);
        if !self.patterns.contains_key(&mails) {
            let data = directory(site, &format!("mailboxes-of-{mails}"), need)?;
            let runtime = self.next_runtime();
            let setup =
                setup(&data, &runtime, &site.account, &[]).map_err(doing(Phase::Prepare))?;
            let made = Pattern::make(&self.programs, &setup, (need.seed, mails), &go_on);
            self.patterns.insert(mails, made.map_err(doing(Phase::Prepare))?);
        }
        let data = directory(site, &need.name, need)?;
        let copied = self.patterns[&mails].copy(&data, &site.account, mailboxes, need.seed, &go_on);
        copied.map_err(doing(Phase::Prepare))?;
        let memory = memory_of(need.size);
        let group = MemoryGroup::make(&site.group(need), memory)?;
        let (runtime, groups) = (self.next_runtime(), group.entries());
        let started = setup(&data, &runtime, &site.account, &groups).and_then(|setup| {
            let mut server = MailServer::start(&self.programs, &setup)?;
            server.ready(READY_MAX)?;
            Ok(server)
        });
        let started = started.map_err(doing(Phase::Start));
        let server = group.explain(&need.name, Phase::Start, started)?;
        let running = Running::Mail(Mail { name: need.name.clone(), server });
        let endpoints = endpoints(&running);
        let (server, data) = (version(&self.programs), need.size);
        Ok(Application { endpoints, server, memory, data, running, group })
    }

    /// Returns a new directory for the settings of one server. Its path is short, whatever the
    /// application's name is.
    fn next_runtime(&mut self) -> PathBuf {
        self.used += 1;
        self.home.path().join(self.used.to_string())
    }
}

/// Creates a directory below the applications' directory for the servers' user.
fn directory(site: &Site, name: &str, need: &Need) -> Result<PathBuf, ApplicationError> {
    let doing = Doing { name: need.name.clone(), phase: Phase::Prepare };
    let path = site.directory.join(name);
    fs::create_dir(&path).map_err(|error| doing.io("making its directory", error))?;
    let owned = site.account.own_directory(&path);
    owned.map_err(|error| doing.io("changing its directory's owner", error))?;
    Ok(path)
}

fn setup<'a>(
    data: &'a std::path::Path,
    runtime: &'a std::path::Path,
    account: &'a Account,
    groups: &'a [PathBuf],
) -> Result<Setup<'a>, MailServerError> {
    Ok(Setup { data, runtime, account, ports: Ports::free()?, groups })
}

fn endpoints(running: &Running) -> Vec<Endpoint> {
    let Running::Mail(Mail { server, .. }) = running else { return Vec::new() };
    let Ports { smtp, imap, .. } = server.ports();
    let endpoint = |protocol, port, password| Endpoint {
        protocol,
        address: format!("{protocol}://127.0.0.1:{port}"),
        socket: None,
        password,
    };
    let password = Arc::new(Secret::new(server.password().to_owned()));
    vec![endpoint("smtp", smtp, None), endpoint("imap", imap, Some(password))]
}

/// Number of initially filled mailboxes, and of mails in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Filled {
    mailboxes: u32,
    mails: u32,
}

impl Filled {
    /// Computes the number of mailboxes and mails for data of this size.
    fn of(size: Bytes) -> Self {
        let all = size.get() / BYTES_PER_MAIL;
        let mailboxes = (all / MAILS_MIN).clamp(MAILBOXES_MIN, MAILBOXES_MAX);
        let mails = (all / mailboxes).clamp(MAILS_MIN, MAILS_MAX);
        let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        Self { mailboxes: number(mailboxes), mails: number(mails) }
    }
}

/// Returns the memory limit for data of this size: its cache, and the memory of the processes.
fn memory_of(size: Bytes) -> Bytes {
    cache_of(size) + PROCESSES
}

impl Mail {
    /// Checks that both servers run and that none of their processes crashed.
    pub(crate) fn check(&mut self) -> Result<(), ApplicationError> {
        let health = self.server.health();
        health.map_err(|source| self.failed(source))
    }

    /// Returns the deliveries since the last call, and the current queue length.
    pub(crate) fn deliveries(&mut self) -> Result<Deliveries, ApplicationError> {
        let mut all = Deliveries::default();
        loop {
            // A look reads a part of a long log.
            let more = self.server.delivered().map_err(|source| self.failed(source))?;
            let is_last = more == mail_server::Delivered::default();
            all.accepted += more.accepted;
            all.failed += more.failed;
            all.deferred += more.deferred;
            all.delays.extend(more.delays);
            if is_last {
                break;
            }
        }
        all.queued = self.server.queue_length().map_err(|source| self.failed(source))?;
        Ok(all)
    }

    fn failed(&self, source: MailServerError) -> ApplicationError {
        failed(&self.name, Phase::Load, source)
    }
}

fn failed(name: &str, phase: Phase, source: MailServerError) -> ApplicationError {
    let name = name.to_owned();
    match source {
        // It has the phase already.
        MailServerError::Process(source) => ApplicationError::Process { name, source },
        MailServerError::Stopped => ApplicationError::Stopped,
        source => ApplicationError::Server { name, phase, source: Box::new(source) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_decides_mailboxes_mails_and_memory() {
        let of = |mails: u64| {
            let Filled { mailboxes, mails } = Filled::of(Bytes::new(mails * BYTES_PER_MAIL));
            (mailboxes, mails)
        };
        assert_eq!((of(0), of(200), of(9920)), ((8, 10), (20, 10), (992, 10)));
        assert_eq!((of(992 * 37), of(992 << 30)), ((992, 37), (992, 100_000)));
        assert_eq!(memory_of(Bytes::ZERO), PROCESSES);
        assert_eq!(memory_of(Bytes::new(80 << 30)), Bytes::new(8 << 30) + PROCESSES);
    }
}
