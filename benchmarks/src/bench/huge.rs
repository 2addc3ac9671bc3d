//! Huge pages for the peer. Our buffers get them by advice; fio takes them only from the system's
//! pool, which is filled for the time of a benchmark and restored afterwards.

use std::fs;

use anyhow::{Context, Result};

const POOL: &str = "/proc/sys/vm/nr_hugepages";

/// Previous size of the pool.
#[derive(Debug)]
pub(crate) struct Pool {
    before: String,
}

impl Pool {
    /// Makes room in the pool for at least this number of additional bytes.
    pub(crate) fn with(bytes: u64) -> Result<Self> {
        let before = fs::read_to_string(POOL).context(POOL)?;
        let had: u64 = before.trim().parse().context(POOL)?;
        let wanted = had + bytes.div_ceil(page_bytes()?);
        let pool = Self { before };
        fs::write(POOL, wanted.to_string()).with_context(|| format!("{POOL} (needs root)"))?;
        let has: u64 = fs::read_to_string(POOL)?.trim().parse().context(POOL)?;
        anyhow::ensure!(has >= wanted, "the system gave {has} huge pages of {wanted}");
        Ok(pool)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if let Err(error) = fs::write(POOL, self.before.trim()) {
            eprintln!("{POOL} is not back at {}: {error}", self.before.trim());
        }
    }
}

fn page_bytes() -> Result<u64> {
    let memory = fs::read_to_string("/proc/meminfo")?;
    let line = memory.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).context("Hugepagesize")?;
    Ok(kib.trim().parse::<u64>()? << 10)
}
