//! `tier init`: creates a tier in a new file, or on a whole device.

use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

use datastore::{BlockDevice, Datastore, DiskRequest, Options, Target};
use tier::{Geometry, Plan};
use units::Bytes;

use super::super::takeover::refused;
use crate::args::TierInitArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;
use crate::text::count;

/// Size requested from the datastore to open a device. The tier takes the whole device.
const ASKED: Bytes = Bytes::new(1 << 20);

/// Creates the tier.
pub fn init(args: &TierInitArgs) -> Result<Exit, Failure> {
    let is_device =
        std::fs::metadata(&args.file).is_ok_and(|found| found.file_type().is_block_device());
    let geometry = match (is_device, args.size) {
        (true, size) => on_device(args, size)?,
        (false, Some(size)) => tier_service::make(&args.file, plan(args, size)).map_err(refused)?,
        (false, None) => {
            return Err(Failure::new(
                Exit::Usage,
                "a file needs --size; a device is used as a whole",
            ));
        }
    };
    let pages = u64::from(geometry.slots()) * u64::from(geometry.page_bytes);
    let logs = u64::from(geometry.chunks - geometry.page_chunks) * u64::from(geometry.chunk_bytes);
    crate::say!(
        "{} made: {} for pages of {}, {} for logs, up to {}",
        args.file.display(),
        Bytes::new(pages),
        Bytes::new(geometry.page_bytes.into()),
        Bytes::new(logs),
        count(geometry.disks_max() as u64, "disk")
    );
    Ok(Exit::Success)
}

fn plan(args: &TierInitArgs, size: Bytes) -> Plan {
    let bytes = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
    Plan {
        device_bytes: size.get(),
        page_bytes: bytes(args.page),
        chunk_bytes: bytes(args.chunk),
        log_percent: args.log,
    }
}

/// Checks a device by all rules of a datastore, and keeps it claimed until the tier is created. The
/// tier overwrites the datastore's label.
fn on_device(args: &TierInitArgs, size: Option<Bytes>) -> Result<Geometry, Failure> {
    let device = Target::new(&BlockDevice, &args.file);
    let options = Options {
        write: true,
        destroy_data: args.destroy_data.clone(),
        run_id: "tier".to_owned(),
        ..Options::default()
    };
    let mut store =
        Datastore::open(&device, size.unwrap_or(ASKED), &options).map_err(target::failure)?;
    let asked = DiskRequest { name: "tier".to_owned(), size: ASKED };
    let disks = store.provision(&[asked]).map_err(target::failure)?;
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Failure, format!("opening {}: {error}", args.file.display()))
    };
    let mut file = disks[0].file.try_clone().map_err(failed)?;
    let whole = Bytes::new(file.seek(SeekFrom::End(0)).map_err(failed)?);
    let plan = plan(args, size.unwrap_or(whole));
    tier_service::make_on(file.into(), &args.file, plan).map_err(refused)
}
