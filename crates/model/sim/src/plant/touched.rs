use units::Bytes;

/// Number of bytes that one bit represents.
const PAGE: u64 = 64 << 10;

/// Number of pages in a chunk.
const CHUNK: u64 = 4096;

/// Set of touched pages of the plant's address space: one bit for each page of 64 KiB, in chunks of
/// 512 bytes that are allocated on first touch.
#[derive(Debug, Clone, Default)]
pub struct Touched {
    chunks: Vec<Option<Box<[u64; 64]>>>,
}

impl Touched {
    pub fn new(end: u64) -> Self {
        let chunks = end.div_ceil(PAGE * CHUNK);
        let chunks = usize::try_from(chunks).expect("the addresses of a plant fit into memory");
        Self { chunks: vec![None; chunks] }
    }

    /// Marks a span as touched and returns its newly touched bytes, in whole pages.
    #[inline]
    pub fn note(&mut self, offset: u64, length: u32) -> Bytes {
        let first = offset / PAGE;
        let end = (offset + u64::from(length)).div_ceil(PAGE);
        let mut new = 0;
        for page in first..end {
            let (chunk, bit) = (page / CHUNK, page % CHUNK);
            let Some(chunk) = usize::try_from(chunk).ok().and_then(|at| self.chunks.get_mut(at))
            else {
                break;
            };
            let words = chunk.get_or_insert_with(|| Box::new([0; 64]));
            let word = &mut words[usize::try_from(bit / 64).unwrap_or(0)];
            new += u64::from(*word >> (bit % 64) & 1 == 0);
            *word |= 1 << (bit % 64);
        }
        Bytes::new(new * PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once_and_memory_comes_with_the_first_touch() {
        let mut touched = Touched::new(1 << 40);
        assert_eq!(touched.note(0, 4096), Bytes::new(PAGE));
        assert_eq!(touched.note(8192, 4096), Bytes::ZERO);
        assert_eq!(touched.note(PAGE - 512, 1024), Bytes::new(PAGE));
        assert_eq!(touched.note((1 << 40) - PAGE, 65536), Bytes::new(PAGE));
        assert_eq!(touched.chunks.iter().flatten().count(), 2);
    }
}
