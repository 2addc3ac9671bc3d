use state_machine::Stream;

use crate::region::{Region, stride};

/// Positions that advance block by block and wrap around a region.
#[derive(Debug, Clone)]
pub struct Cursor {
    begin: u64,
    end: u64,
    positions: Box<[u64]>,
    turn: usize,
}

/// Returns the alignment of sequential blocks in bytes: whole 4 KiB pages for lengths from 4 KiB
/// up, and sectors for shorter ones.
#[inline]
pub fn alignment(length: u32) -> u64 {
    if length < 4096 { 512 } else { 4096 }
}

impl Cursor {
    /// Creates a log over the whole disk that begins at its start.
    pub fn log(disk: u64) -> Self {
        Self { begin: 0, end: disk, positions: Box::new([0]), turn: 0 }
    }

    /// Creates streams at equal distances in a region, from a random phase, for blocks of at most
    /// `largest` bytes. A region smaller than a block is widened to one block.
    pub fn streams(region: Region, largest: u32, count: u32, stream: &mut Stream) -> Self {
        let blocks = region.blocks(largest);
        let begin = blocks.offset(0);
        let end = region.end.max(begin + u64::from(largest));
        let phase = stream.unit();
        let position = |number: u32| {
            let share = (phase + f64::from(number) / f64::from(count)) % 1.0;
            blocks.offset(place(blocks.count, share))
        };
        debug_assert_eq!(blocks.stride, stride(largest));
        Self { begin, end, positions: (0..count.max(1)).map(position).collect(), turn: 0 }
    }

    /// Returns the first byte of the next block of the current stream. Streams take turns.
    #[inline]
    pub fn next(&mut self, length: u32) -> u64 {
        let turn = self.turn;
        self.turn = if turn + 1 == self.positions.len() { 0 } else { turn + 1 };
        let at = self.positions[turn].next_multiple_of(alignment(length));
        let after = at + u64::from(length);
        let (at, after) = if after <= self.end {
            (at, after)
        } else {
            (self.begin, self.begin + u64::from(length))
        };
        self.positions[turn] = after;
        at
    }

    /// Returns the positions, and the number of the next stream.
    pub fn saved(&self) -> (Vec<u64>, u64) {
        (self.positions.to_vec(), self.turn as u64)
    }

    /// Restores saved positions. Ignores them if their number differs.
    pub fn go_on_from(&mut self, (positions, turn): (Vec<u64>, u64)) {
        let turn = usize::try_from(turn).unwrap_or(usize::MAX);
        if positions.len() == self.positions.len() && turn < positions.len() {
            (self.positions, self.turn) = (positions.into(), turn);
        }
    }

    /// Continues after this block.
    #[inline]
    pub fn follow(&mut self, offset: u64, length: u32) {
        self.positions[0] = offset + u64::from(length);
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share below 1 of a number of blocks"
)]
fn place(count: u64, share: f64) -> u64 {
    ((count as f64 * share) as u64).min(count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use state_machine::Purpose;

    #[test]
    fn a_log_wraps_around_its_disk() {
        let mut log = Cursor::log(32 << 10);
        let offsets: Vec<u64> = (0..6).map(|_| log.next(12 << 10) >> 10).collect();
        assert_eq!(offsets, [0, 12, 0, 12, 0, 12], "a block that does not fit starts over");
    }

    #[test]
    fn streams_take_turns_and_each_is_sequential() {
        let mut stream = Stream::derive(1, &[], Purpose::Addresses);
        let mut cursor = Cursor::streams(Region::whole(1 << 20), 4096, 4, &mut stream);
        let first: Vec<u64> = (0..4).map(|_| cursor.next(4096)).collect();
        let second: Vec<u64> = (0..4).map(|_| cursor.next(4096)).collect();
        for (first, second) in first.iter().zip(&second) {
            assert_eq!((first + 4096) % (1 << 20), *second);
        }
        let mut distances = first.clone();
        distances.sort_unstable();
        assert!(distances.windows(2).all(|pair| pair[1] - pair[0] == 256 << 10), "{first:?}");
    }
}
