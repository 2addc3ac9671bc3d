//! Descriptors of a guest's request, all of them untrusted.

use virtio_queue::desc::split::Descriptor;
use vm_memory::{Address, Bytes, GuestAddress, GuestMemoryMmap};

/// Maximum number of descriptors of one request. Our choice: QEMU's own limit is 1,024, and we ask
/// for no more than 128.
const DESCRIPTORS_MAX: u16 = 1024;
const DESCRIPTOR_BYTES: u32 = 16;

/// Error of a request whose descriptors or data are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Descriptors of one request: segments to read, and segments to write.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub readable: Segments,
    pub writable: Segments,
}

/// Segments of a guest's memory, in order.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pieces: Vec<(GuestAddress, u32)>,
    bytes: u64,
}

impl Chain {
    /// Follows the chain that starts at the descriptor `head`. Loops, indexes outside the table,
    /// and readable segments after writable ones are errors. Addresses are checked later, on
    /// access.
    pub fn follow(
        memory: &GuestMemoryMmap,
        table: GuestAddress,
        size: u16,
        head: u16,
    ) -> Result<Self, Malformed> {
        let mut chain = Self::default();
        let (mut table, mut size, mut index, mut is_indirect) = (table, size, head, false);
        for _ in 0..=DESCRIPTORS_MAX {
            if index >= size {
                return Err(Malformed);
            }
            let at = table.checked_add(u64::from(index) * u64::from(DESCRIPTOR_BYTES));
            let descriptor: Descriptor =
                memory.read_obj(at.ok_or(Malformed)?).map_err(|_| Malformed)?;
            if descriptor.refers_to_indirect_table() {
                let length = descriptor.len();
                if is_indirect || descriptor.has_next() || !length.is_multiple_of(DESCRIPTOR_BYTES)
                {
                    return Err(Malformed);
                }
                let entries = u16::try_from(length / DESCRIPTOR_BYTES).map_err(|_| Malformed)?;
                (table, size, index, is_indirect) = (descriptor.addr(), entries, 0, true);
                continue;
            }
            chain.add(&descriptor)?;
            if !descriptor.has_next() {
                return Ok(chain);
            }
            index = descriptor.next();
        }
        Err(Malformed)
    }

    fn add(&mut self, descriptor: &Descriptor) -> Result<(), Malformed> {
        let segments = if descriptor.is_write_only() {
            &mut self.writable
        } else if self.writable.bytes == 0 {
            &mut self.readable
        } else {
            return Err(Malformed);
        };
        segments.bytes += u64::from(descriptor.len());
        segments.pieces.push((descriptor.addr(), descriptor.len()));
        Ok(())
    }
}

impl Segments {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Copies bytes out of the segments, starting after the first `skip` bytes.
    pub fn read(
        &self,
        memory: &GuestMemoryMmap,
        skip: u64,
        into: &mut [u8],
    ) -> Result<(), Malformed> {
        let mut done = 0;
        self.each(skip, into.len(), |at, bytes| {
            let piece = &mut into[done..done + bytes];
            done += bytes;
            memory.read_slice(piece, at).map_err(|_| Malformed)
        })
    }

    /// Copies bytes into the segments, starting after the first `skip` bytes.
    pub fn write(&self, memory: &GuestMemoryMmap, skip: u64, from: &[u8]) -> Result<(), Malformed> {
        let mut done = 0;
        self.each(skip, from.len(), |at, bytes| {
            let piece = &from[done..done + bytes];
            done += bytes;
            memory.write_slice(piece, at).map_err(|_| Malformed)
        })
    }

    fn each(
        &self,
        mut skip: u64,
        mut left: usize,
        mut work: impl FnMut(GuestAddress, usize) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        for &(start, bytes) in &self.pieces {
            if left == 0 {
                break;
            }
            let skipped = skip.min(u64::from(bytes));
            skip -= skipped;
            let usable = usize::try_from(u64::from(bytes) - skipped).map_err(|_| Malformed)?;
            let now = usable.min(left);
            if now > 0 {
                work(start.checked_add(skipped).ok_or(Malformed)?, now)?;
                left -= now;
            }
        }
        if left == 0 { Ok(()) } else { Err(Malformed) }
    }
}
