//! Export of an existing server, shown as a directory.
//!
//! The client is a separate process of this program. Otherwise a killed run could hang on its own
//! files: the kernel ends a process only after its open I/O has been answered.

use std::fs::{self, File};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nfs::{Client, Export};
use process_home::{Home, Phase, Process, cpu_time};

use crate::error::OverError;
use crate::process::{BY_TERM, Line, READY_MAX, start};
use crate::program::{Needed, Program};
use crate::session::{KIND, MOUNT_POINT};

/// Name of the client's process in messages, and of its log file.
const NAME: &str = "nfs-client";
const WORD: &str = "nfs:SERVER:/EXPORT";

/// Properties of a mounted export, for results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportFacts {
    /// Name of the export.
    pub export: Export,
    /// Address of the server.
    pub address: IpAddr,
    /// TCP port of the NFS service.
    pub port: u16,
    /// True if the server allows writing to the export.
    pub may_write: bool,
}

impl ExportFacts {
    /// Returns server and path: `filer:/vol/a`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.export.server, self.export.path)
    }

    /// Returns the network between client and server, in words.
    pub fn network(&self) -> String {
        format!("TCP to {}, port {}", self.address, self.port)
    }
}

/// Mounted export. Dropping it ends the client, unmounts, and tells the server.
#[derive(Debug)]
pub struct MountedExport {
    facts: ExportFacts,
    point: PathBuf,
    client: Mutex<Process>,
    trouble: Mutex<Option<Arc<OverError>>>,
    /// Private directory; dropped last.
    _home: Home,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MountedExport {
    /// Description of the path between the load and the server.
    pub const HOP: &'static str = "a FUSE directory of Tilemark's NFS 3 client, without page cache, \
                                   and the client over TCP; no kernel client";

    /// Mounts an export. The client is a process of `program`, which must be this program. Writes
    /// nothing on the server. The calling thread must live as long as the mount, because the client
    /// ends with the thread.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses the export, or FUSE is not allowed.
    pub fn new(export: &Export, program: &Path) -> Result<Self, OverError> {
        // Asked here first: the error of another process would be a text in a log.
        let found = Client::connect(export)?.facts();
        let facts = ExportFacts {
            export: export.clone(),
            address: found.address,
            port: found.port,
            may_write: found.may_write,
        };
        let setpriv = Needed { name: "setpriv", package: "util-linux" }.find(WORD)?;
        // A marker has no room for the name of an export.
        let home = Home::make(&KIND, "export")?;
        let (point, ready) = (home.path().join(MOUNT_POINT), home.path().join("ready.pid"));
        fs::create_dir(&point).map_err(|source| OverError::Io {
            attempt: "make",
            object: point.display().to_string(),
            source,
        })?;
        let name = export.to_string();
        let [at, tell] = [&point, &ready].map(|path| path.display().to_string());
        let own = Program { name: NAME, path: program.to_owned(), version: String::new() };
        let line = Line {
            program: &own,
            enter: Vec::new(),
            arguments: [NAME, "--ready", &tell, "--", &name, &at].map(str::to_owned).to_vec(),
            endings: BY_TERM,
            variables: Vec::new(),
        };
        let client = start(&home, &setpriv, line)?;
        client.wait_until(Phase::Attach, READY_MAX, || File::open(&ready).is_ok())?;
        let (client, trouble) = (Mutex::new(client), Mutex::new(None));
        Ok(Self { facts, point, client, trouble, _home: home })
    }

    /// Returns the properties of the mounted export.
    pub const fn facts(&self) -> &ExportFacts {
        &self.facts
    }

    /// Returns the directory that shows the export.
    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Returns the id of the client's process.
    pub fn pid(&self) -> u32 {
        held(&self.client).pid()
    }

    /// Returns the processor time of the client so far.
    pub fn cpu_time(&self) -> Duration {
        cpu_time(self.pid()).unwrap_or_default()
    }

    /// Returns the error of the client if it has ended, which is the cause of all later failed I/O.
    /// A client ends when its server has gone or does not answer for 30 s.
    pub fn trouble(&self) -> Option<Arc<OverError>> {
        let mut known = held(&self.trouble);
        if known.is_none() {
            let checked = held(&self.client).check(Phase::Load);
            *known = checked.err().map(|error| Arc::new(error.into()));
        }
        known.clone()
    }
}

impl Drop for MountedExport {
    fn drop(&mut self) {
        held(&self.client).end();
        // The server only keeps a list; that it does not hear of it harms nothing.
        let _ = Client::leave(&self.facts.export);
    }
}
