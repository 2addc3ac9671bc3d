//! Ordered references to pages of 64 KiB, of all pages or of a sample.
//!
//! Pages are sampled by a hash, as in SHARDS (Waldspurger, Park, Garthwaite and Ahmad, FAST 2015):
//! all references to a page are kept, or none. The rate is halved whenever the space is full. So it
//! is the largest power of one half at which the whole trace fits, however the trace was split.

use cache::PageId;
use cache::mrc::SampleRate;
use trace::{IoRecord, Operation};

/// Size of the pages that are sampled.
pub(crate) const PAGE: u64 = 64 << 10;
/// Size of the small pages, 16 of which make a large one.
pub(crate) const SMALL: u64 = 4 << 10;
/// Bits of a page number on a device; 2^40 pages are 64 PiB.
const DEVICE_SHIFT: u32 = 40;

/// Part of an I/O on one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Device and number of the page.
    pub(crate) page: u64,
    /// Time in milliseconds; saturates after 49 days.
    pub(crate) at_ms: u32,
    pub(crate) vm: u16,
    /// First small page, and in `last` the last. The top bit of `first` marks a page that is not
    /// the first of its I/O; the top bit of `last` marks a write.
    first: u8,
    last: u8,
}

impl Reference {
    pub(crate) fn is_write(self) -> bool {
        self.last & 0x80 != 0
    }

    /// Returns the first and last small page within the page, 0 to 15.
    pub(crate) fn small(self) -> (u64, u64) {
        (u64::from(self.first & 0x7f), u64::from(self.last & 0x7f))
    }

    /// Returns true if the reference belongs to the same I/O as the previous reference.
    pub(crate) fn goes_on(self) -> bool {
        self.first & 0x80 != 0
    }
}

/// Page references of a part of a trace.
#[derive(Debug, Clone)]
pub(crate) struct Pages {
    room: usize,
    /// Number of times that the sampling rate was halved.
    halvings: u32,
    rate: SampleRate,
    log: Vec<Reference>,
    /// Number of references to large pages before sampling; `small` counts small pages.
    pub(crate) large: u64,
    pub(crate) small: u64,
}

impl Pages {
    pub(crate) fn new(room: usize) -> Self {
        let log = Vec::new();
        Self { room, halvings: 0, rate: SampleRate::ALL, log, large: 0, small: 0 }
    }

    #[inline]
    pub(crate) fn push(&mut self, record: &IoRecord) {
        if record.length == 0 {
            return;
        }
        let last_byte = record.end_offset() - 1;
        let (first_page, last_page) = (record.offset / PAGE, last_byte / PAGE);
        let (first, last) = (record.offset / SMALL, last_byte / SMALL);
        self.large += last_page - first_page + 1;
        self.small += last - first + 1;
        let device = u64::from(record.device.0) << DEVICE_SHIFT;
        for page in first_page..=last_page {
            let id = device | (page & ((1 << DEVICE_SHIFT) - 1));
            if self.rate.takes(PageId(id)) {
                let goes_on = if page > first_page { 0x80 } else { 0 };
                let within = (first.max(page * 16) % 16, last.min(page * 16 + 15) % 16);
                self.keep(record, id, (within.0 | goes_on, within.1));
            }
        }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a small page is below 16, and one bit")]
    fn keep(&mut self, record: &IoRecord, page: u64, (first, last): (u64, u64)) {
        let write = if record.operation == Operation::Write { 0x80 } else { 0 };
        self.log.push(Reference {
            page,
            at_ms: u32::try_from(record.issue.0 / 1_000_000).unwrap_or(u32::MAX),
            vm: record.vm.0,
            first: first as u8,
            last: last as u8 | write,
        });
        if self.log.len() > self.room {
            self.thin();
        }
    }

    #[cold]
    fn thin(&mut self) {
        while self.log.len() > self.room && self.halvings < 24 {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.halvings += 1;
        let share = 0.5_f64.powi(i32::try_from(self.halvings).unwrap_or(24));
        self.rate = SampleRate::new(share).unwrap_or(SampleRate::ALL);
        let rate = self.rate;
        self.log.retain(|reference| rate.takes(PageId(reference.page)));
    }

    /// Appends a later part.
    pub(crate) fn merge(&mut self, mut later: Self) {
        while self.halvings < later.halvings {
            self.halve();
        }
        while later.halvings < self.halvings {
            later.halve();
        }
        self.log.append(&mut later.log);
        self.large += later.large;
        self.small += later.small;
        self.thin();
    }

    /// Returns the references in order.
    pub(crate) fn log(&self) -> &[Reference] {
        &self.log
    }

    /// Returns the share of the pages that are sampled; 1 is all.
    pub(crate) fn share(&self) -> f64 {
        self.rate.share()
    }
}
