/// Resolution of stored slices.
///
/// A coarser level is made from the next finer one as soon as its period has ended, not when the
/// finer level is dropped. So dropping only removes files, and every time window has a level that
/// is cheap to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Name in file names and texts.
    pub name: &'static str,
    /// Width of a slice, in seconds.
    pub width_s: u64,
    /// Time span of one file, in seconds. Memory is needed for one such period.
    pub period_s: u64,
    /// Maximum number of periods kept. This is a number and not an age, so that a clock that jumps
    /// ten years ahead removes nothing.
    pub periods_max: usize,
}

impl Level {
    /// Returns the begin of the period that contains a time.
    pub const fn period_of(&self, time_s: u64) -> u64 {
        time_s - time_s % self.period_s
    }

    /// Returns the begin of the slice that contains a time.
    pub const fn slice_of(&self, time_s: u64) -> u64 {
        time_s - time_s % self.width_s
    }
}

/// Levels from fine to coarse; they keep 2 days, 14 days, 60 days, 400 days and 420 days. Our
/// choice: a year of 10-minute slices of 100 busy VMs would take several gigabytes.
pub const LEVELS: [Level; 5] = [
    Level { name: "10s", width_s: 10, period_s: 300, periods_max: 576 },
    Level { name: "1min", width_s: 60, period_s: 1800, periods_max: 672 },
    Level { name: "10min", width_s: 600, period_s: 21_600, periods_max: 240 },
    Level { name: "1h", width_s: 3600, period_s: 86_400, periods_max: 400 },
    Level { name: "1d", width_s: 86_400, period_s: 2_592_000, periods_max: 14 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_nest() {
        for pair in LEVELS.windows(2) {
            assert_eq!(pair[1].width_s % pair[0].width_s, 0);
            assert_eq!(pair[1].period_s % pair[0].period_s, 0);
            assert_eq!(pair[0].period_s % pair[1].width_s, 0, "a slice has one period as source");
            let kept = |level: &Level| level.period_s * level.periods_max as u64;
            assert!(kept(&pair[0]) >= pair[1].period_s, "sources outlive the period they make");
        }
    }
}
