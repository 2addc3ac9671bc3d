use std::collections::VecDeque;
use std::ops::Range;

/// Where a block is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// To be copied.
    Todo,
    /// Being read or written.
    Copying,
    /// The same, and written to meanwhile: to be copied again.
    Stale,
    /// At the new place as it is at the old one.
    There,
}

/// Which blocks of a disk that moves are at the new place.
#[derive(Debug, Clone)]
pub struct Blocks {
    length: u32,
    states: Vec<State>,
    todo: VecDeque<u32>,
    copying: u32,
}

impl Blocks {
    /// All of them, still to be copied. `length` divides `disk`.
    pub fn new(disk: u64, length: u32) -> Self {
        let count = u32::try_from(disk / u64::from(length)).unwrap_or(u32::MAX);
        Self {
            length,
            states: vec![State::Todo; count as usize],
            todo: (0..count).collect(),
            copying: 0,
        }
    }

    /// The next to be copied.
    pub fn next(&mut self) -> Option<u32> {
        let block = self.todo.pop_front()?;
        self.states[block as usize] = State::Copying;
        self.copying += 1;
        Some(block)
    }

    /// A block was copied.
    pub fn copied(&mut self, block: u32) {
        self.copying -= 1;
        let state = &mut self.states[block as usize];
        if *state == State::Stale {
            *state = State::Todo;
            self.todo.push_back(block);
        } else {
            *state = State::There;
        }
    }

    /// Whether everything that these bytes touch is there, so that a write goes to both places.
    pub fn are_there(&self, offset: u64, length: u32) -> bool {
        let states = &self.states[self.touched(offset, length)];
        states.iter().all(|state| *state == State::There)
    }

    /// These bytes were written, or are being written, at the old place alone. Whether a block that
    /// was there is there no more.
    pub fn written(&mut self, offset: u64, length: u32) -> bool {
        let mut is_lost = false;
        for block in self.touched(offset, length) {
            let state = &mut self.states[block];
            match state {
                State::Todo | State::Stale => {}
                State::Copying => *state = State::Stale,
                State::There => {
                    *state = State::Todo;
                    self.todo.push_back(u32::try_from(block).unwrap_or(u32::MAX));
                    is_lost = true;
                }
            }
        }
        is_lost
    }

    /// Whether nothing is to be copied or being copied.
    pub fn is_done(&self) -> bool {
        self.todo.is_empty() && self.copying == 0
    }

    /// First byte of a block.
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.length)
    }

    /// Bytes of a block.
    pub const fn length(&self) -> u32 {
        self.length
    }

    fn touched(&self, offset: u64, length: u32) -> Range<usize> {
        let each = u64::from(self.length);
        let end = (offset + u64::from(length)).div_ceil(each);
        let at = |block: u64| usize::try_from(block).unwrap_or(usize::MAX).min(self.states.len());
        at(offset / each)..at(end)
    }
}
