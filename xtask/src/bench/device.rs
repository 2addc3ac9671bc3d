//! A RAM block device to measure on: a zram device that nobody uses, or the one named in
//! `TILEMARK_BENCH_DEVICE`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Large enough for the micro workloads' disks and the reserved ends.
const SIZE_BYTES: u64 = 1280 << 20;

const RESET_TRIES: u32 = 100;
const RESET_WAIT: Duration = Duration::from_millis(50);

/// A RAM block device; one that was set up here is reset when dropped.
#[derive(Debug)]
pub(crate) struct RamDevice {
    pub path: PathBuf,
    /// What `--destroy-data` wants to hear.
    pub identity: String,
    reset: Option<PathBuf>,
}

impl RamDevice {
    pub(crate) fn set_up() -> Result<Self> {
        if let Some(path) = std::env::var_os("TILEMARK_BENCH_DEVICE") {
            return Self::named(Path::new(&path), None);
        }
        for index in 0..8 {
            let sys = PathBuf::from(format!("/sys/block/zram{index}"));
            let Ok(size) = fs::read_to_string(sys.join("disksize")) else { continue };
            if size.trim() != "0" {
                continue;
            }
            fs::write(sys.join("disksize"), SIZE_BYTES.to_string())
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
        let sectors: u64 = fs::read_to_string(format!("/sys/class/block/{name}/size"))
            .with_context(|| format!("{} is not a block device", path.display()))?
            .trim()
            .parse()?;
        Ok(Self { path: path.to_owned(), identity: format!("{name}-{}", sectors * 512), reset })
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
