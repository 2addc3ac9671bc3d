use std::sync::Arc;

/// Seconds of an hour, for which sets are told.
pub(crate) const HOUR_S: u64 = 3600;

/// Time that a working set is over.
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

    /// Name in files and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "1d",
            Self::Week => "7d",
        }
    }

    /// Length in hours.
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
    /// Name of the VM, or of another sender.
    pub vm: Arc<str>,
    /// Time that the set is over. It ends with the hour.
    pub span: SetSpan,
    /// Begin of what the set knows, in seconds since 1970: that of its span, or later if watching
    /// began later.
    pub since_s: u64,
    /// Distinct bytes that were read or written.
    pub used_bytes: u64,
    /// Distinct bytes that were read.
    pub read_bytes: u64,
    /// Distinct bytes that were written.
    pub written_bytes: u64,
    /// Share of the pages that was sampled, above 0; 1 is exact.
    pub share: f64,
}

impl SetRow {
    /// Size of the pages that are counted.
    pub const PAGE_BYTES: u64 = 4096;

    /// Begin of the whole span, in seconds since 1970.
    pub fn span_start_s(&self) -> u64 {
        (self.start_s + HOUR_S).saturating_sub(u64::from(self.span.hours()) * HOUR_S)
    }

    /// True if the set knows all of its span.
    pub fn is_whole(&self) -> bool {
        self.since_s <= self.span_start_s()
    }

    /// Standard error of `used_bytes`, as a share of them.
    #[expect(clippy::cast_precision_loss, reason = "an error is read to a few digits")]
    pub fn error(&self) -> f64 {
        let pages = self.used_bytes as f64 / Self::PAGE_BYTES as f64;
        let used = cache::mrc::SetSize { read: 0.0, written: 0.0, used: pages, share: self.share };
        used.error()
    }

    /// True if it is of the same hour, VM and span.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        self.key() == other.key()
    }

    /// Order of rows in files: neighbours in time are alike.
    pub(crate) fn key(&self) -> (&str, SetSpan, u64) {
        (&self.vm, self.span, self.start_s)
    }
}
