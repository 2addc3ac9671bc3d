//! Comparison of places of a moved disk, between the old and the new place.

use std::collections::VecDeque;

use state_machine::{IoRequest, SplitMix};

/// Comparison in progress.
#[derive(Debug, Clone)]
pub(super) struct Checking {
    /// Length of a place, in bytes.
    pub length: u32,
    /// Places still to be compared, by their number on the disk.
    todo: Vec<u64>,
    /// True for each place that the instance has written since the switch-over.
    is_written: Vec<bool>,
    /// First byte of the place that is being compared.
    current: Option<u64>,
    /// Writes of the instance to that place, which are held meanwhile.
    held: VecDeque<IoRequest>,
}

impl Checking {
    /// Chooses one random place in each of `count` equal parts of a disk.
    pub fn new(disk: u64, (count, length): (u32, u32), seed: u64) -> Self {
        let places = disk / u64::from(length);
        let count = u64::from(count).clamp(1, places.max(1));
        let each = places / count;
        let mut random = SplitMix(seed);
        let place = |part: u64| part * each + random.next().unwrap_or(0) % each.max(1);
        Self {
            length,
            todo: (0..count).map(place).collect(),
            is_written: vec![false; usize::try_from(places).unwrap_or(0)],
            current: None,
            held: VecDeque::new(),
        }
    }

    /// Returns the first byte of the next place that was not written since the switch-over.
    pub fn next(&mut self) -> Option<u64> {
        let is_written = &self.is_written;
        let is_whole =
            |place: &u64| is_written.get(usize::try_from(*place).unwrap_or(0)) == Some(&false);
        while let Some(place) = self.todo.pop() {
            if is_whole(&place) {
                self.current = Some(place * u64::from(self.length));
                return self.current;
            }
        }
        None
    }

    /// Ends the comparison of the current place. Returns the writes that were held meanwhile.
    pub fn done(&mut self) -> VecDeque<IoRequest> {
        self.current = None;
        std::mem::take(&mut self.held)
    }

    /// Records a write of the instance. Returns true if the write is held because its place is
    /// being compared.
    pub fn writes(&mut self, request: &IoRequest) -> bool {
        let (first, end) = (request.offset, request.offset + u64::from(request.length));
        let length = u64::from(self.length);
        if self.current.is_some_and(|at| first < at + length && at < end) {
            self.held.push_back(*request);
            return true;
        }
        for place in first / length..end.div_ceil(length) {
            let place = usize::try_from(place).ok().and_then(|at| self.is_written.get_mut(at));
            place.into_iter().for_each(|written| *written = true);
        }
        false
    }
}
