//! Measures the time to set up a storage protocol below a run's disks (`run --over`).

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use over::{Protocol, ServedFile, Session};

use super::pairs::scratch;
use super::{Figure, median};

/// Number of set-ups of each protocol; the figure is their median.
const REPEATS: usize = 5;
/// Total number of disks: eight tiles `storage` with eight disks each.
const DISKS: usize = 64;
const DISK_BYTES: u64 = 64 << 20;

/// `protocols.setup_s.*`: time from the first program's start until all disks can be opened. A
/// protocol whose programs are absent has no figure.
pub(super) fn set_up(_: &str) -> Result<Vec<Figure>> {
    let directory = scratch()?;
    let files: Vec<ServedFile> =
        (0..DISKS).map(|nth| file(&directory, nth)).collect::<Result<_>>()?;
    let mut figures = Vec::new();
    for protocol in over::PROTOCOLS {
        let word = protocol.facts().word;
        match seconds(*protocol, &files) {
            Ok(seconds) => {
                figures.push(Figure::new(format!("protocols.setup_s.{word}"), seconds, "s"))
            }
            Err(error) => eprintln!("protocols.setup_s.{word} was not measured: {error:#}"),
        }
    }
    std::fs::remove_dir_all(&directory)?;
    Ok(figures)
}

fn file(directory: &Path, nth: usize) -> Result<ServedFile> {
    let path = directory.join(format!("disk-{nth}"));
    let made = File::create(&path).and_then(|file| file.set_len(DISK_BYTES));
    made.with_context(|| format!("making {}", path.display()))?;
    Ok(ServedFile { disk: format!("disk-{nth}"), path, direct: true })
}

fn seconds(protocol: &dyn Protocol, files: &[ServedFile]) -> Result<f64> {
    let checked = over::check(protocol, None)?;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let session = Session::set_up(protocol, &checked, "bench", files)?;
        times.push(session.setup_time().as_secs_f64());
        session.end()?;
    }
    Ok(median(&times))
}
