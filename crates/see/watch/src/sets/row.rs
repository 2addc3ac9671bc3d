use std::sync::Arc;

use units::Bytes;
use units::print::percent;

/// Seconds in an hour, the interval at which sets are stored.
pub(crate) const HOUR_S: u64 = 3600;

/// Time span that a working set covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SetSpan {
    /// The last hour.
    Hour,
    /// The last 24 hours.
    Day,
    /// The last 168 hours.
    Week,
}

impl SetSpan {
    /// All spans, shortest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// Returns the name in files and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "1d",
            Self::Week => "7d",
        }
    }

    /// Returns the length in hours.
    pub const fn hours(self) -> u32 {
        match self {
            Self::Hour => 1,
            Self::Day => 24,
            Self::Week => 168,
        }
    }
}

/// Working set of a VM at the end of an hour, in pages of 4 KiB.
#[derive(Debug, Clone, PartialEq)]
pub struct SetRow {
    /// Begin of the hour, in seconds since 1970.
    pub start_s: u64,
    /// Name of the VM, or of another initiator.
    pub vm: Arc<str>,
    /// Time span that the set covers. It ends with the hour.
    pub span: SetSpan,
    /// Begin of the data behind the set, in seconds since 1970: the begin of the span, or later if
    /// watching began later.
    pub since_s: u64,
    /// Distinct bytes that were read or written.
    pub used_bytes: u64,
    /// Distinct bytes that were read.
    pub read_bytes: u64,
    /// Distinct bytes that were written.
    pub written_bytes: u64,
    /// Share of the pages that was sampled, above 0; 1 means exact.
    pub share: f64,
}

impl SetRow {
    /// Size of the counted pages, in bytes.
    pub const PAGE_BYTES: u64 = 4096;

    /// Returns the end of the hour, in seconds since 1970.
    pub fn end_s(&self) -> u64 {
        self.start_s + HOUR_S
    }

    /// Returns the begin of the whole span, in seconds since 1970.
    pub fn span_start_s(&self) -> u64 {
        self.end_s().saturating_sub(u64::from(self.span.hours()) * HOUR_S)
    }

    /// Returns true if there is data for the whole span.
    pub fn is_whole(&self) -> bool {
        self.since_s <= self.span_start_s()
    }

    /// Describes size and read share: `12 GiB in the last day, 62 % of it read`.
    #[expect(clippy::cast_precision_loss, reason = "a share is read to a few digits")]
    pub fn words(&self) -> String {
        let time = match (self.is_whole(), self.span) {
            (true, SetSpan::Hour) => "in the last hour".to_owned(),
            (true, SetSpan::Day) => "in the last day".to_owned(),
            (true, SetSpan::Week) => "in the last 7 days".to_owned(),
            (false, _) => format!("since {}", stamp(self.since_s)),
        };
        let read = self.read_bytes as f64 / self.used_bytes.max(1) as f64;
        format!("{} {time}, {} of it read", Bytes::new(self.used_bytes), percent(read.min(1.0)))
    }

    /// Returns the standard error of `used_bytes`, as a share of `used_bytes`.
    #[expect(clippy::cast_precision_loss, reason = "an error is read to a few digits")]
    pub fn error(&self) -> f64 {
        let pages = self.used_bytes as f64 / Self::PAGE_BYTES as f64;
        let used = cache::mrc::SetSize { read: 0.0, written: 0.0, used: pages, share: self.share };
        used.error()
    }

    /// Returns true if both rows are for the same hour, VM and span.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Returns the sort key of rows in files. Rows next to each other in time are similar.
    pub(crate) fn key(&self) -> (&str, SetSpan, u64) {
        (&self.vm, self.span, self.start_s)
    }
}

/// Formats a time for people, in UTC.
fn stamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|own| jiff::Timestamp::from_second(own).ok());
    let text = time.map(|time| time.strftime("%Y-%m-%d %H:%M").to_string());
    text.unwrap_or_else(|| seconds.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_a_whole_span_or_since_when() {
        let gib = 1 << 30;
        let mut row = SetRow {
            start_s: 1_795_564_800 - HOUR_S,
            vm: "web1".into(),
            span: SetSpan::Day,
            since_s: 1_795_478_400,
            used_bytes: 12 * gib,
            read_bytes: 12 * gib * 62 / 100,
            written_bytes: 6 * gib,
            share: 1.0,
        };
        assert_eq!(row.words(), "12 GiB in the last day, 62 % of it read");
        row.since_s += 50_220;
        assert_eq!(row.words(), "12 GiB since 2026-11-24 13:57, 62 % of it read");
    }
}
