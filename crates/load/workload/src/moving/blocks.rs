use std::collections::VecDeque;
use std::ops::Range;

/// State of a block during a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Still to be copied.
    Todo,
    /// Being read or written.
    Copying,
    /// Being copied, but written meanwhile, so it must be copied again.
    Stale,
    /// The block is the same at both places.
    There,
}

/// State of the blocks of a disk that is being moved.
#[derive(Debug, Clone)]
pub struct Blocks {
    length: u32,
    states: Vec<State>,
    todo: VecDeque<u32>,
    copying: u32,
}

impl Blocks {
    /// Creates the state in which all blocks are still to be copied. `length` divides `disk`.
    pub fn new(disk: u64, length: u32) -> Self {
        let count = u32::try_from(disk / u64::from(length)).unwrap_or(u32::MAX);
        Self {
            length,
            states: vec![State::Todo; count as usize],
            todo: (0..count).collect(),
            copying: 0,
        }
    }

    /// Takes the next block to copy.
    pub fn next(&mut self) -> Option<u32> {
        let block = self.todo.pop_front()?;
        self.states[block as usize] = State::Copying;
        self.copying += 1;
        Some(block)
    }

    /// Records that a block was copied.
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

    /// Returns true if all blocks of the range are at both places, so that a write must go to both.
    pub fn are_there(&self, offset: u64, length: u32) -> bool {
        let states = &self.states[self.touched(offset, length)];
        states.iter().all(|state| *state == State::There)
    }

    /// Records a write, in progress or completed, that goes only to the old place. Returns true if
    /// a block is therefore no longer valid at the new place.
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

    /// Returns true if no block is still to be copied or is being copied.
    pub fn is_done(&self) -> bool {
        self.todo.is_empty() && self.copying == 0
    }

    /// Returns the offset of a block on the disk, in bytes.
    pub fn offset(&self, block: u32) -> u64 {
        u64::from(block) * u64::from(self.length)
    }

    /// Returns the length of a block, in bytes.
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
