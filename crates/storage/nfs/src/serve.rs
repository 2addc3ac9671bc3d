use std::path::Path;
use std::sync::Arc;

use fuser::{Config, MountOption};

use crate::client::Client;
use crate::error::NfsError;
use crate::export::Export;
use crate::fs::ExportFs;

/// Number of threads that take requests from the kernel. Our choice: they handle requests on names
/// one by one, and only pass data on.
const THREADS: usize = 4;

/// Shows an export at a mount point and calls `ready`. Returns an error when the connection is
/// lost. The mount ends with the process; the caller of the process must detach a remaining mount
/// point.
///
/// # Errors
///
/// If the export cannot be mounted, or the connection was lost.
pub fn serve(export: &Export, point: &Path, ready: impl FnOnce()) -> NfsError {
    match shown(export, point, ready) {
        Ok(lost) | Err(lost) => lost,
    }
}

fn shown(export: &Export, point: &Path, ready: impl FnOnce()) -> Result<NfsError, NfsError> {
    let client = Arc::new(Client::connect(export)?);
    let failed = |source| NfsError::Show { path: point.display().to_string(), source };
    let fs = ExportFs::new(Arc::clone(&client)).map_err(failed)?;
    let _session = fuser::spawn_mount(fs, point, &config(export, &client)).map_err(failed)?;
    ready();
    Ok(client.wait())
}

fn config(export: &Export, client: &Client) -> Config {
    let access = if client.facts().may_write { MountOption::RW } else { MountOption::RO };
    let mut config = Config::default();
    // A comma would begin another option.
    let name = format!("{}:{}", export.server, export.path).replace(',', "_");
    config.mount_options = vec![
        MountOption::FSName(name),
        MountOption::Subtype("tilemark-nfs".to_owned()),
        MountOption::NoAtime,
        MountOption::NoDev,
        MountOption::NoSuid,
        access,
    ];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    config
}
