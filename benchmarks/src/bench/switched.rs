//! Measures how much a tool reduces a load: the load runs on while the tool is switched on and off.
//!
//! Whole runs one after the other differ by tens of per cent on a shared host, and even windows of
//! a second drift, sometimes in step with a fixed alternation. Therefore pairs of short adjacent
//! windows are compared, and the Thue-Morse sequence, which has no period, decides in which window
//! of a pair the tool is on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// Number, length and spacing of the windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    pub pairs: u32,
    pub length: Duration,
    /// Time that is not counted after each switching.
    pub settle: Duration,
}

/// Loss of the load, in per cent of its rate without the tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Loss {
    /// Mean of the middle eight tenths of the pairs.
    pub percent: f64,
    /// Standard error of that mean.
    pub error: f64,
    /// Median of I/Os per second without the tool.
    pub alone_per_s: f64,
}

/// Measures the loss; `switch` turns the tool on and off.
pub(crate) fn measure(
    counter: &Counter,
    windows: Windows,
    mut switch: impl FnMut(bool) -> Result<()>,
) -> Result<Loss> {
    let (mut losses, mut rates) = (Vec::new(), Vec::new());
    for pair in 0..windows.pairs {
        let is_first_on = pair.count_ones() % 2 == 1;
        let mut both = [0.0; 2];
        for is_on in [is_first_on, !is_first_on] {
            switch(is_on)?;
            std::thread::sleep(windows.settle);
            both[usize::from(is_on)] = counter.rate(windows.length)?;
        }
        rates.push(both[0]);
        losses.push(100.0 * (1.0 - both[1] / both[0]));
    }
    let (percent, error) = trimmed(&mut losses);
    Ok(Loss { percent, error, alone_per_s: super::median(&rates) })
}

/// Returns the mean and standard error without the lowest and highest tenth.
#[expect(clippy::cast_precision_loss, reason = "hundreds of pairs")]
fn trimmed(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 10;
    let kept = &values[cut..values.len() - cut];
    let count = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / count;
    let squares: f64 = kept.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// Kernel counter of the completed reads and writes of a device.
pub(crate) struct Counter(PathBuf);

impl Counter {
    pub(crate) fn of(device: &Path) -> Result<Self> {
        let name = device.file_name().context("a device name")?;
        Ok(Self(Path::new("/sys/class/block").join(name).join("stat")))
    }

    fn completed(&self) -> Result<f64> {
        let text = std::fs::read_to_string(&self.0)?;
        let numbers: Vec<&str> = text.split_whitespace().collect();
        let reads: f64 = numbers.first().context("an empty stat file")?.parse()?;
        let writes: f64 = numbers.get(4).context("a short stat file")?.parse()?;
        Ok(reads + writes)
    }

    /// Returns the I/Os per second over one window that begins now.
    pub(crate) fn rate(&self, window: Duration) -> Result<f64> {
        let (begin, first) = (Instant::now(), self.completed()?);
        std::thread::sleep(window);
        let done = self.completed()? - first;
        ensure!(done > 0.0, "{} counts no I/O", self.0.display());
        Ok(done / begin.elapsed().as_secs_f64())
    }
}
