use units::Nanos;
use units::print::clock;

/// Time axis of a source: time under load, or dates if a host is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Axis {
    /// Begin of the axis in seconds since 1970, if the axis has dates.
    zero_s: Option<u64>,
}

impl Axis {
    /// Makes an axis of dates that begins at this time.
    pub fn of_dates(zero_s: u64) -> Self {
        Self { zero_s: Some(zero_s) }
    }

    /// Formats a position for people: `01:07`, or a date in UTC, `2026-11-24 14:05:10`.
    pub fn clock(self, at: Nanos) -> String {
        let second = self.zero_s.map(|zero_s| zero_s.saturating_add(at.0 / Nanos::SECOND.0));
        let date = second.and_then(|second| i64::try_from(second).ok());
        let date = date.and_then(|second| jiff::Timestamp::from_second(second).ok());
        date.map_or_else(|| clock(at), |date| date.strftime("%Y-%m-%d %H:%M:%S").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_time_under_load_or_a_date() {
        let at = Nanos::from_millis(67_500);
        assert_eq!(Axis::default().clock(at), "01:07.5");
        assert_eq!(Axis::of_dates(1_795_478_400).clock(at), "2026-11-24 00:01:07");
        assert_eq!(Axis::of_dates(u64::MAX).clock(at), "01:07.5", "no such date");
    }
}
