/// Contiguous part of a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First byte of the region.
    pub begin: u64,
    /// First byte after the region.
    pub end: u64,
    /// Size of the disk.
    disk: u64,
}

/// Places for blocks of one length in a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// First place, in strides from the start of the disk.
    pub first: u64,
    /// Number of places, at least 1.
    pub count: u64,
    /// Distance from one place to the next, in bytes.
    pub stride: u64,
}

/// Returns the distance between places for blocks of this length, in bytes. It is the length
/// itself, so that random blocks never partly overlap. Odd lengths above 4 KiB are rounded up to
/// whole pages, which devices with 4 KiB sectors need.
pub fn stride(length: u32) -> u64 {
    let length = u64::from(length);
    if length < 4096 { length } else { length.next_multiple_of(4096) }
}

impl Region {
    /// Returns the region of a whole disk.
    pub fn whole(disk: u64) -> Self {
        Self { begin: 0, end: disk, disk }
    }

    /// Returns the part of this region from share `start` on, with share `length` of its length.
    pub fn part(self, start: f64, length: f64) -> Self {
        let begin = self.begin + share(self.end - self.begin, start);
        let end = self.begin + share(self.end - self.begin, start + length);
        Self { begin: begin.min(self.end), end: end.min(self.end), ..self }
    }

    /// Returns the places for blocks of this length. A region smaller than a block has one place:
    /// the block in which it begins.
    pub fn blocks(self, length: u32) -> Blocks {
        let (stride, length) = (stride(length), u64::from(length));
        let first = self.begin.div_ceil(stride);
        let fits = |end: u64| end.checked_sub(length).map_or(0, |last| last / stride + 1);
        let count = fits(self.end).saturating_sub(first);
        if count > 0 {
            return Blocks { first, count, stride };
        }
        let last_of_disk = fits(self.disk).saturating_sub(1);
        Blocks { first: (self.begin / stride).min(last_of_disk), count: 1, stride }
    }
}

impl Blocks {
    /// Returns the first byte of a place. Places are counted from 0 to `count - 1`.
    #[inline]
    pub fn offset(&self, place: u64) -> u64 {
        (self.first + place) * self.stride
    }

    /// Returns the first byte of the place that covers this byte of the disk, or of the nearest
    /// place.
    #[inline]
    pub fn covering(&self, byte: u64) -> u64 {
        (byte / self.stride).clamp(self.first, self.first + self.count - 1) * self.stride
    }

    /// Returns the number of places in a share of all places, at least 1.
    pub fn share(&self, share_of_them: f64) -> u64 {
        share(self.count, share_of_them).clamp(1, self.count)
    }
}

/// Returns a share of a whole number, rounded. The error is at most half a byte below 2^52.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "shares are 0 to 1 and disks below 2^53 bytes"
)]
fn share(whole: u64, share: f64) -> u64 {
    (whole as f64 * share).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn odd_lengths_above_a_page_are_placed_on_whole_pages() {
        assert_eq!([512, 1536, 4096, 5120, 8192].map(stride), [512, 1536, 4096, 8192, 8192]);
    }

    proptest! {
        #[test]
        fn every_place_is_inside_the_region_if_a_block_fits(
            mebibytes in 1_u64..64, start in 0.0..1.0, length in 0.0..1.0, sectors in 1_u32..512
        ) {
            let disk = mebibytes << 20;
            let region = Region::whole(disk).part(start, length * (1.0 - start));
            let blocks = region.blocks(sectors * 512);
            let last = blocks.offset(blocks.count - 1) + u64::from(sectors * 512);
            prop_assert!(last <= disk);
            if blocks.count > 1 {
                prop_assert!(blocks.offset(0) >= region.begin && last <= region.end);
            }
        }
    }
}
