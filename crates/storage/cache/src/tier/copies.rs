use super::step::HostId;
use crate::places::Places;

/// Maximum number of peers that have a copy of a page's dirty bytes.
pub(super) const COPIES_MAX: usize = 2;

/// Copies of a dirty page on peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    /// Dirty range of the page, `from..to`: bytes that are not yet on the backing store. Only this
    /// range is copied and destaged.
    pub(super) from: u32,
    pub(super) to: u32,
    /// Host and place of each copy.
    pub(super) at: [Option<(HostId, u32)>; COPIES_MAX],
}

impl Copied {
    pub(super) fn places(&self) -> impl Iterator<Item = (HostId, u32)> + use<> {
        self.at.into_iter().flatten()
    }
}

/// Copies of all dirty pages on peers, by number.
#[derive(Debug, Clone)]
pub(super) struct Copies {
    list: Vec<Copied>,
    free: Places,
}

impl Copies {
    pub(super) const fn new() -> Self {
        Self { list: Vec::new(), free: Places::new(0, u32::MAX) }
    }

    pub(super) fn get(&self, number: u32) -> &Copied {
        &self.list[number as usize]
    }

    /// Extends the dirty range of a page, so that it includes `from..to`.
    pub(super) fn widen(&mut self, number: u32, (from, to): (u32, u32)) {
        let own = &mut self.list[number as usize];
        (own.from, own.to) = (own.from.min(from), own.to.max(to));
    }

    pub(super) fn keep(&mut self, copied: Copied) -> u32 {
        let number = self.free.take().expect("pages are fewer than 2^32");
        match self.list.get_mut(number as usize) {
            Some(place) => *place = copied,
            None => self.list.push(copied),
        }
        number
    }

    pub(super) fn forget(&mut self, number: u32) -> Copied {
        self.free.give(number);
        self.list[number as usize]
    }
}
