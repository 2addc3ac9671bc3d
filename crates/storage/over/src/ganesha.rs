//! ganesha, the NFS server in user space, for one directory in a private network.

use std::fs;
use std::path::{Path, PathBuf};

use process_home::{Home, Process};

use crate::error::OverError;
use crate::network::{ADDRESS, Network};
use crate::process::{self, BY_TERM, Line};
use crate::program::{Least, Needed, Program};
use crate::protocol::Checked;
use crate::set_up::ServedFile;

/// Settings of the server. Tests and `scripts/guest-protocols` use the same file.
const SETTINGS: &str = include_str!("ganesha.conf");
const GANESHA: &str = "ganesha.nfsd";
/// Oldest version that was tested; older ones may work.
const LEAST: Least = Least { version: "4.0", why: "its settings were not tested" };

/// Finds the server.
pub(crate) fn find(protocol: &'static str) -> Result<Program, OverError> {
    // The package of ganesha without that of its file system starts and exports nothing.
    let package = "nfs-ganesha nfs-ganesha-vfs";
    Needed { name: GANESHA, package }.find(protocol)?.ask_version("-v", &LEAST)
}

/// Starts the server for the directory of these files, with these versions of NFS.
pub(crate) fn start(
    checked: &Checked,
    home: &Home,
    network: &Network,
    (files, versions): (&[ServedFile], &str),
) -> Result<Process, OverError> {
    let config = write_settings(home, directory_of(files)?, versions)?;
    start_in(checked, home, network, (&checked.server, server_arguments(home, &config)))
}

fn write_settings(home: &Home, directory: &Path, versions: &str) -> Result<PathBuf, OverError> {
    let config = home.path().join("ganesha.conf");
    let settings = SETTINGS.replace("@PROTOCOLS@", versions).replace("@ADDRESS@", ADDRESS);
    let settings = settings.replace("@PATH@", &directory.display().to_string());
    fs::write(&config, settings).map_err(|source| OverError::Io {
        attempt: "write",
        object: config.display().to_string(),
        source,
    })?;
    Ok(config)
}

/// Returns the directory of the files, which is exported.
pub(crate) fn directory_of(files: &[ServedFile]) -> Result<&Path, OverError> {
    let refused = |path: &Path, why| {
        let path = path.display().to_string();
        Err(OverError::Path { program: GANESHA, path, why })
    };
    let first = files.first().and_then(|file| file.path.parent()).unwrap_or(Path::new("/"));
    for ServedFile { path, .. } in files {
        let is_plain = path.to_str().is_some_and(|path| !path.contains(['"', '\\', '\n', '#']));
        if !is_plain {
            return refused(path, "a quote, backslash, # or line end is in its path");
        }
        if path.parent() != Some(first) {
            return refused(path, "it is in another directory than the first disk");
        }
        // The server's own directories hide those of the host.
        if ["/run", "/var/lib/nfs"].iter().any(|hidden| path.starts_with(hidden)) {
            return refused(path, "it is in /run or /var/lib/nfs, which the server does not see");
        }
    }
    Ok(first)
}

fn server_arguments(home: &Home, config: &Path) -> Vec<String> {
    let at = |name: &str| home.path().join(name).display().to_string();
    let config = config.display().to_string();
    ["-F", "-f", &config, "-L", &at("ganesha.nfsd.log"), "-p", &at("ganesha.pid")]
        .map(str::to_owned)
        .to_vec()
}

/// Starts a server with the namespace's own `/run`.
pub(crate) fn start_in(
    checked: &Checked,
    home: &Home,
    network: &Network,
    (program, arguments): (&Program, Vec<String>),
) -> Result<Process, OverError> {
    let enter = network.enter_with_run();
    let line = Line { program, enter, arguments, endings: BY_TERM, variables: Vec::new() };
    process::start(home, &checked.setpriv, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_the_settings_cannot_hold_are_refused() {
        let file = |path: &str| ServedFile { disk: "d".into(), path: path.into(), direct: true };
        assert_eq!(directory_of(&[file("/a/b/x")]).ok(), Some(Path::new("/a/b")));
        for wrong in ["/a\"/x", "/a\\/x", "/a\n/x", "/a#/x", "/run/a/x", "/var/lib/nfs/x"] {
            assert!(directory_of(&[file(wrong)]).is_err(), "{wrong}");
        }
        assert!(directory_of(&[file("/a/x"), file("/b/x")]).is_err());
    }
}
