//! Datastores that are exports of another NFS server. They are mounted for one command, and their
//! other content is not changed.

use std::sync::Arc;

use bench::plan::{Layer, ResolvedPlan};
use datastore::Target;
use nfs::Export;
use over::{MountedExport, OverError};
use spec::over::Over;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{target, this_program};

/// Makes the export of `--over` the datastore. The first layer with the setting decides.
pub fn name_datastore(layers: &mut [Layer]) -> Result<(), Failure> {
    let over = layers.iter().find_map(|layer| layer.plan.engine.over.as_ref());
    let Some(export) = over.and_then(Over::export).map(str::to_owned) else { return Ok(()) };
    parsed(&export)?;
    let datastore = layers.iter().find_map(|layer| layer.plan.datastore.as_ref());
    match datastore.filter(|own| **own != export) {
        Some(other) => {
            let message = format!("--over {export} names a datastore, but {other} names another");
            let hint = "leave the other datastore out, or export it with a protocol: --over nbd, \
                iscsi, nfs3, nfs4 or nvme-tcp";
            Err(Failure::new(Exit::Usage, message).hint(Some(hint)))
        }
        None => {
            if let Some(first) = layers.first_mut() {
                first.plan.datastore = Some(export);
            }
            Ok(())
        }
    }
}

/// Mounts the plan's datastore if it is an NFS export, and makes the mount point the datastore. The
/// export is unmounted when the last returned value is dropped.
pub fn mounted(
    mut plan: ResolvedPlan,
) -> Result<(ResolvedPlan, Option<Arc<MountedExport>>), Failure> {
    if !Export::is_meant(&plan.datastore) {
        return Ok((plan, None));
    }
    let export = parsed(&plan.datastore)?;
    if !plan.settings.hosts.members.is_empty() {
        let message =
            format!("only this host can reach {export}, but other hosts are to drive load on it");
        let hint = "mount the export on each host, and name the directory: dir:PATH";
        return Err(Failure::new(Exit::Usage, message).hint(Some(hint)));
    }
    let mounted = mount(&export)?;
    plan.datastore = directory(&mounted);
    Ok((plan, Some(Arc::new(mounted))))
}

/// Checks the syntax of a target.
pub fn check(text: &str) -> Result<(), Failure> {
    if Export::is_meant(text) { parsed(text).map(drop) } else { target::parse(text).map(drop) }
}

/// Parses a target, and mounts it if it is an NFS export. The export stays mounted as long as the
/// second value lives.
pub fn target(text: &str) -> Result<(Target, Option<MountedExport>), Failure> {
    if !Export::is_meant(text) {
        return Ok((target::parse(text)?, None));
    }
    let mounted = mount(&parsed(text)?)?;
    Ok((target::parse(&directory(&mounted))?, Some(mounted)))
}

fn directory(export: &MountedExport) -> String {
    format!("dir:{}", export.point().display())
}

fn parsed(text: &str) -> Result<Export, Failure> {
    text.parse().map_err(|error| Failure::from_error(Exit::Usage, &error))
}

fn mount(export: &Export) -> Result<MountedExport, Failure> {
    let mounted =
        MountedExport::new(export, &this_program::path()).map_err(|error: OverError| {
            let hint = error.hint();
            Failure::from_error(Exit::Failure, &error).hint(hint)
        })?;
    // Rules name the directory.
    crate::say!("mounted {export} at {}", mounted.point().display());
    Ok(mounted)
}
