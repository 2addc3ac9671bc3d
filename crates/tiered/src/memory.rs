use front::Buffer;

/// Memory that was given back, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    free: Vec<Vec<Buffer>>,
    kept: usize,
}

/// Free memory that is kept for later, in bytes.
const KEPT_MAX: usize = 4 << 20;

impl Memory {
    /// Memory of this length, in which anything may be.
    pub(crate) fn take(&mut self, length: usize) -> Buffer {
        let class = class(length);
        match self.free.get_mut(class).and_then(Vec::pop) {
            Some(mut buffer) => {
                self.kept -= 1 << class;
                buffer.set_len(length);
                buffer
            }
            None => {
                let mut buffer = Buffer::zeroed(1 << class);
                buffer.set_len(length);
                buffer
            }
        }
    }

    pub(crate) fn give(&mut self, buffer: Buffer) {
        let capacity = buffer.capacity();
        if capacity >= 4096 && capacity.is_power_of_two() && self.kept + capacity <= KEPT_MAX {
            let class = class(capacity);
            if self.free.len() <= class {
                self.free.resize_with(class + 1, Vec::new);
            }
            self.kept += capacity;
            self.free[class].push(buffer);
        }
    }
}

/// The power of two that holds so many bytes.
fn class(length: usize) -> usize {
    length.max(4096).next_power_of_two().trailing_zeros() as usize
}
