//! Block sizes of a job.

use super::FioError;
use super::job::{Direction, Reader, SECTOR};

/// Maximum size of an I/O, in bytes.
const BLOCK_MAX: u64 = 64 << 20;
/// Maximum number of sizes that approximate a range of block sizes.
const RANGE_MAX: u64 = 64;

impl<'a> Reader<'a> {
    /// Returns the block sizes for a direction, with their weights.
    pub(super) fn sizes(&mut self, direction: Direction) -> Result<Vec<(u64, f64)>, FioError> {
        let sizes = if let Some(text) = self.of_direction(&["bssplit"], direction) {
            self.split(text)?
        } else if let Some(text) = self.of_direction(&["bsrange", "blocksize_range"], direction) {
            self.range(text)?
        } else {
            let text = self.of_direction(&["bs", "blocksize"], direction).unwrap_or("4k");
            vec![(self.block("bs", text)?, 1.0)]
        };
        let mut merged: Vec<(u64, f64)> = Vec::new();
        for (size, weight) in sizes {
            match merged.iter_mut().find(|(known, _)| *known == size) {
                Some((_, sum)) => *sum += weight,
                None => merged.push((size, weight)),
            }
        }
        Ok(merged)
    }

    /// Parses a block size and rounds it to whole sectors.
    fn block(&mut self, option: &'static str, text: &str) -> Result<u64, FioError> {
        let bytes = self.bytes(option, text)?;
        if bytes == 0 || bytes > BLOCK_MAX {
            return Err(self.wrong(option, text, "is not from 1 B to 64 MiB"));
        }
        let whole = bytes.next_multiple_of(SECTOR);
        if whole != bytes {
            self.note(format!(
                "{option}={text} is {bytes} B: rounded up to {whole} B, a whole number of 512 B"
            ));
        }
        Ok(whole)
    }

    /// Parses `SIZE/PERCENT:SIZE/PERCENT`. Sizes without a percentage share the rest.
    fn split(&mut self, text: &'a str) -> Result<Vec<(u64, f64)>, FioError> {
        let mut all: Vec<(u64, Option<f64>)> = Vec::new();
        for entry in text.split(':') {
            let (size, percent) = entry.split_once('/').unwrap_or((entry, ""));
            let percent = match percent.trim() {
                "" => None,
                percent => match percent.parse::<u32>() {
                    Ok(percent @ 0..=100) => Some(f64::from(percent)),
                    _ => return Err(self.wrong("bssplit", text, "has a share above 100 percent")),
                },
            };
            all.push((self.block("bssplit", size)?, percent));
        }
        let told: f64 = all.iter().filter_map(|(_, percent)| *percent).sum();
        let untold = all.iter().filter(|(_, percent)| percent.is_none()).count();
        if told > 100.0 {
            return Err(self.wrong("bssplit", text, "adds up to more than 100 percent"));
        }
        #[expect(clippy::cast_precision_loss, reason = "as many as stand in a line")]
        let each = (100.0 - told) / untold.max(1) as f64;
        let weights = all.into_iter().map(|(size, percent)| (size, percent.unwrap_or(each)));
        let weights: Vec<_> = weights.filter(|(_, weight)| *weight > 0.0).collect();
        if weights.is_empty() {
            return Err(self.wrong("bssplit", text, "has no share above 0"));
        }
        Ok(weights)
    }

    /// Parses `LEAST-MOST` into multiples of the minimum, which are equally likely.
    fn range(&mut self, text: &'a str) -> Result<Vec<(u64, f64)>, FioError> {
        let ends = text.split_once('-').or_else(|| text.split_once(':'));
        let Some((least, most)) = ends else {
            return Err(self.wrong("bsrange", text, "is not a range LEAST-MOST"));
        };
        let (least, most) = (self.block("bsrange", least)?, self.block("bsrange", most)?);
        if most < least {
            return Err(self.wrong("bsrange", text, "ends before it begins"));
        }
        let count = most / least;
        if count > RANGE_MAX {
            let why = format!("has {count} sizes, but a mix has at most {RANGE_MAX} here");
            return Err(self.wrong("bsrange", text, why));
        }
        Ok((1..=count).map(|times| (times * least, 1.0)).collect())
    }
}
