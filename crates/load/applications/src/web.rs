//! Web site of a tile: a process of its own (crate `web_site`), a PostgreSQL server and files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::{Ending, Launch, Phase, Process, ProcessError, entering, release_cache};
use rustix::process::Signal;
use units::Bytes;
use web_site::{FILES, SOCKET, Sizes, UPLOADS};

use crate::account::{let_pass, may_pass};
use crate::error::ApplicationError;
use crate::memory::MemoryGroup;
use crate::postgres::{Cluster, Programs, statements};
use crate::program::{Doing, started};
use crate::{Application, Endpoint, Need, Running, ServerSocket, Site};

/// Name of the subdirectory for the site's socket.
const SOCKETS: &str = "site";
/// Connections beside the users': clients may reconnect before the server sees the old connection
/// as closed.
const CONNECTIONS_MORE: u32 = 64;
/// Memory limit of the site's process. Measured: 34 MB at the rate of one tile, 74 MB with 195
/// downloads that nobody read and 195 uploads of 64 KiB. A download holds 64 KiB in memory, an
/// upload its whole size.
const SITE_MEMORY: Bytes = Bytes::new(128 << 20);

/// Maximum wait until the exit of a database is visible, after its site has exited because of it.
/// Our choice.
const END_SEEN_MAX: Duration = Duration::from_secs(1);
/// Orderly end of the site's process.
const ENDINGS: &[Ending] = &[Ending::leader(Signal::TERM, 10)];

/// Running site. Its process is dropped, and killed, before its database.
#[derive(Debug)]
pub(crate) struct Web {
    site: Process,
    database: Process,
}

/// Returns the name and version of the servers, for display.
pub(crate) fn name(postgres: &str) -> String {
    format!("tilemark {}'s web site on {postgres}", env!("CARGO_PKG_VERSION"))
}

/// Creates the data of a site.
pub(crate) fn make(need: &Need, site: &Site) -> Result<(), ApplicationError> {
    let is_runnable = may_pass(&site.account, &site.program);
    if !is_runnable {
        let (user, path) = (site.account.user.clone(), site.program.clone());
        return Err(ApplicationError::NoProgram { user, path });
    }
    let (cluster, sizes) = (cluster(need, site)?, Sizes::of(need.size));
    let statements = statements(web_site::SCRIPT, sizes.words(), need.seed);
    cluster.make(&site.empty_cluster, &statements)?;
    site.go_on()?;
    make_files(need, site, &cluster.directory, sizes)
}

fn cluster<'a>(need: &'a Need, site: &'a Site) -> Result<Cluster<'a>, ApplicationError> {
    Ok(Cluster {
        name: &need.name,
        account: &site.account,
        stop: &site.stop,
        directory: site.directory.join(&need.name),
        sessions: web_site::SESSIONS,
        programs: Programs::find()?,
    })
}

/// Starts the servers of a site whose data exists.
pub(crate) fn start(need: &Need, site: &Site) -> Result<Application, ApplicationError> {
    let (cluster, sizes) = (cluster(need, site)?, Sizes::of(need.size));
    let directory = &cluster.directory;
    let memory = cluster.memory(need.size, SITE_MEMORY);
    let group = MemoryGroup::make(&site.group(need), memory)?;
    let database = cluster.start(&group.entries());
    let database = group.explain(&need.name, Phase::Start, database)?;
    let doing = Doing { name: need.name.clone(), phase: Phase::Start };
    let socket = ServerSocket::of(&directory.join(SOCKETS), SOCKET);
    let socket = socket.map_err(|error| doing.io("opening its directory", error))?;
    let process = start_site(need, site, &cluster, &group.entries(), &socket);
    let process = group.explain(&need.name, Phase::Start, process)?;
    let endpoint = Endpoint {
        protocol: "http",
        address: "http://site".to_owned(),
        socket: Some(socket),
        password: None,
    };
    Ok(Application {
        endpoints: vec![endpoint],
        server: name(&cluster.programs.version),
        memory,
        data: sizes.bytes(),
        running: Running::Web(Web { site: process, database }),
        group,
    })
}

/// Creates the files, and the directories into which the site writes.
fn make_files(
    need: &Need,
    site: &Site,
    directory: &Path,
    sizes: Sizes,
) -> Result<(), ApplicationError> {
    let (name, phase) = (need.name.clone(), Phase::Prepare);
    let doing = Doing { name: name.clone(), phase };
    let files = directory.join(FILES);
    fs::create_dir(&files)
        .and_then(|()| let_pass(&files))
        .map_err(|error| doing.io("making the directory of its files", error))?;
    web_site::make_files(&files, sizes, need.seed).map_err(|source| ApplicationError::Site {
        name: name.clone(),
        phase,
        source: Box::new(source),
    })?;
    release_cache(&files).map_err(|error| doing.io("writing its files out", error))?;
    for name in [UPLOADS, SOCKETS] {
        let path = directory.join(name);
        fs::create_dir(&path)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700)))
            .map_err(|error| doing.io("making a directory of the site", error))?;
        let owned = site.account.own_directory(&path);
        owned.map_err(|error| doing.io("changing a directory's owner", error))?;
    }
    Ok(())
}

fn start_site(
    need: &Need,
    site: &Site,
    cluster: &Cluster<'_>,
    groups: &[PathBuf],
    socket: &ServerSocket,
) -> Result<Process, ApplicationError> {
    let mut command = site.account.command(&site.program, "KILL");
    let directory = &cluster.directory;
    command.args(["app", "serve", "web", "--data"]).arg(directory);
    command.arg("--database").arg(cluster.data()).arg("--socket").arg(directory.join(SOCKETS));
    let connections = need.sessions.saturating_add(CONNECTIONS_MORE);
    command.args(["--connections", &connections.to_string()]);
    let command = entering(groups, &command);
    let (name, output) = ("the web site".to_owned(), directory.join("site.log"));
    let launch = Launch { name, command, output, log: None, endings: ENDINGS };
    started(&need.name, launch, || socket.connect().is_ok())
}

impl Web {
    /// Checks that both processes run.
    pub(crate) fn check(&self) -> Result<(), ProcessError> {
        // The site ends when its database does, so the database is the one to name. A killed process
        // loses its connections a moment before its end can be seen.
        let site = self.site.check(Phase::Load);
        if site.is_err() {
            self.database.has_ended_within(END_SEEN_MAX);
        }
        self.database.check(Phase::Load)?;
        site
    }

    pub(crate) fn ask_to_end(&self) {
        self.site.ask_to_end();
        self.database.ask_to_end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_numbers_of_the_site() {
        let sizes = Sizes { persons: 40_000, tags: 4_820, events: 14_460 };
        let of_seed = |seed| statements(web_site::SCRIPT, sizes.words(), seed);
        let all = of_seed(1 << 63);
        assert_eq!(all.first().map(String::as_str), Some("SELECT setseed(0.50000000000000000)"));
        assert_ne!(of_seed(1 << 62)[0], all[0]);
        let all = all.join("\n");
        for part in [
            "(1, 40000) n",
            "(1, 4820) n",
            "(1, 14460) n",
            "setval('event_id', 14460)",
            "START WITH 14460",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        for word in ["PERSONS", "TAGS", "EVENTS", "SEED", "--"] {
            assert!(!all.contains(word), "{word}: {all}");
        }
    }
}
