//! Devices and files that benchmarks measure on: a RAM block device (an unused zram device, or the
//! device named in `TILEMARK_BENCH_DEVICE`), or a file on this host's disk, below
//! `TILEMARK_BENCH_DIR`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Size of the device: large enough for the micro workloads' disks and the reserved ends.
const SIZE_BYTES: u64 = 1280 << 20;

const RESET_TRIES: u32 = 100;
const RESET_WAIT: Duration = Duration::from_millis(50);

/// A RAM block device. If it was set up here, it is reset when dropped.
#[derive(Debug)]
pub(crate) struct RamDevice {
    pub path: PathBuf,
    /// Identity that `--destroy-data` requires.
    pub identity: String,
    reset: Option<PathBuf>,
}

impl RamDevice {
    pub(crate) fn set_up() -> Result<Self> {
        Self::of_size(SIZE_BYTES)
    }

    /// Sets up a device of another size; only written bytes take memory.
    pub(crate) fn of_size(bytes: u64) -> Result<Self> {
        if let Some(path) = std::env::var_os("TILEMARK_BENCH_DEVICE") {
            return Self::named(Path::new(&path), None);
        }
        for index in 0..8 {
            let sys = PathBuf::from(format!("/sys/block/zram{index}"));
            let Ok(size) = fs::read_to_string(sys.join("disksize")) else { continue };
            if size.trim() != "0" {
                continue;
            }
            fs::write(sys.join("disksize"), bytes.to_string())
                .with_context(|| format!("setting the size of zram{index} (needs root)"))?;
            return Self::named(Path::new(&format!("/dev/zram{index}")), Some(sys.join("reset")));
        }
        bail!(
            "no free zram device (all in use, or none: modprobe zram needs root); \
             name a RAM block device whose content may be lost in TILEMARK_BENCH_DEVICE"
        )
    }

    fn named(path: &Path, reset: Option<PathBuf>) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).context("a device name")?;
        let number = |attribute: &str| -> Result<u64> {
            let text = fs::read_to_string(format!("/sys/class/block/{name}/{attribute}"))
                .with_context(|| format!("{} is not a block device", path.display()))?;
            Ok(text.trim().parse()?)
        };
        let kind = ["zram", "ram"].into_iter().find(|kind| name.starts_with(kind));
        let kind = kind.with_context(|| format!("{name} is no RAM block device"))?;
        // As `tilemark` names a device without a serial (`datastore/identity.rs`).
        let identity = format!("{kind}-seq{}-{}", number("diskseq")?, number("size")? * 512);
        Ok(Self { path: path.to_owned(), identity, reset })
    }
}

/// Device or file that both programs read and write.
#[derive(Debug)]
pub(crate) enum LoadTarget {
    Ram(RamDevice),
    Disk(DiskFile),
}

impl LoadTarget {
    /// Returns the path that is passed to a peer.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Ram(device) => &device.path,
            Self::Disk(file) => &file.0,
        }
    }

    /// Returns the target in the form that `tilemark run` accepts, with the options it requires.
    pub(crate) fn words(&self) -> Vec<String> {
        let path = self.path().display();
        match self {
            Self::Ram(device) => {
                vec![format!("block:{path}"), "--destroy-data".to_owned(), device.identity.clone()]
            }
            Self::Disk(_) => {
                let allowed = ["--overwrite-file", "--allow-root-fs"].map(str::to_owned);
                [vec![format!("file:{path}")], allowed.to_vec()].concat()
            }
        }
    }

    /// Returns the offset of our first virtual disk: on a device, the first 8 MiB are reserved.
    pub(crate) fn offset_bytes(&self) -> u64 {
        match self {
            Self::Ram(_) => 8 << 20,
            Self::Disk(_) => 0,
        }
    }
}

/// A file as large as the micro workloads' disk, removed when dropped.
#[derive(Debug)]
pub(crate) struct DiskFile(PathBuf);

impl DiskFile {
    pub(crate) fn set_up() -> Result<Self> {
        let directory = std::env::var_os("TILEMARK_BENCH_DIR").unwrap_or_else(|| ".".into());
        let path = std::path::absolute(directory)?
            .join(format!("tilemark-bench-{}.file", std::process::id()));
        let file = fs::File::create_new(&path).with_context(|| path.display().to_string())?;
        let made = Self(path);
        file.set_len(SIZE_BYTES)?;
        Ok(made)
    }
}

impl Drop for DiskFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            eprintln!("removing {}: {error}", self.0.display());
        }
    }
}

impl Drop for RamDevice {
    fn drop(&mut self) {
        let Some(reset) = &self.reset else { return };
        // io_uring lets go of a file only some time after its process has ended.
        let mut result = fs::write(reset, "1");
        for _ in 0..RESET_TRIES {
            if result.is_ok() {
                return;
            }
            std::thread::sleep(RESET_WAIT);
            result = fs::write(reset, "1");
        }
        if let Err(error) = result {
            eprintln!("resetting {}: {error}", self.path.display());
        }
    }
}
