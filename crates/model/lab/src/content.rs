use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::judge::Change;
use crate::space::Map;

const SECTOR: u64 = 512;

/// Bytes of a file, their addresses on the array, and the record of wrong bytes.
#[derive(Debug)]
pub struct Content {
    /// Unnamed file, which is freed with its last descriptor.
    pub file: File,
    /// Addresses on the array.
    pub map: Map,
    /// Rules that damaged each sector since the sector's last good write.
    damage: BTreeMap<u64, usize>,
    /// Old sectors to be returned by the next read, with the rule that kept them.
    old: BTreeMap<u64, (usize, Vec<u8>)>,
}

/// Run of wrong bytes, with the rule that made them wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bad {
    /// Position of the rule.
    pub rule: usize,
    /// First byte in the file.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl Content {
    /// Creates an empty file.
    pub fn new(file: File) -> Self {
        Self { file, map: Map::default(), damage: BTreeMap::new(), old: BTreeMap::new() }
    }

    /// Returns the size of the file.
    pub fn size(&self) -> std::io::Result<u64> {
        self.file.metadata().map(|found| found.len())
    }

    /// Sets the size; damage beyond the new size is forgotten.
    pub fn resize(&mut self, size: u64) -> std::io::Result<()> {
        self.file.set_len(size)?;
        self.forget(size, u64::MAX);
        Ok(())
    }

    /// Reads a range up to the end of the file. Also returns the wrong bytes in it.
    pub fn read(
        &mut self,
        (offset, length): (u64, u64),
        change: Option<(usize, Change)>,
    ) -> std::io::Result<(Vec<u8>, Vec<Bad>)> {
        let length = length.min(self.size()?.saturating_sub(offset));
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, offset)?;
        let mut bad = self.stale(offset, &mut bytes);
        for (sector, rule) in self.damage.range(sectors(offset, length)) {
            join(&mut bad, Bad { rule: *rule, offset: sector * SECTOR, length: SECTOR });
        }
        match change {
            Some((rule, Change::BitFlip { byte, bit })) if byte < length => {
                flip(&mut bytes, byte, bit);
                let offset = (offset + byte) / SECTOR * SECTOR;
                bad.push(Bad { rule, offset, length: SECTOR });
            }
            Some((_, Change::Short(kept))) => {
                bytes.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
                bad.retain(|bad| bad.offset < offset + kept);
            }
            _ => {}
        }
        Ok((bytes, bad))
    }

    /// Puts old sectors in place of new ones, once for each sector.
    fn stale(&mut self, offset: u64, bytes: &mut [u8]) -> Vec<Bad> {
        let range = sectors(offset, bytes.len() as u64);
        let found: Vec<u64> = self.old.range(range).map(|(sector, _)| *sector).collect();
        let mut bad = Vec::new();
        for sector in found {
            let at = (sector * SECTOR).checked_sub(offset).and_then(|at| usize::try_from(at).ok());
            let place = at.and_then(|at| bytes.get_mut(at..at + 512));
            if let (Some(place), Some((rule, old))) = (place, self.old.remove(&sector)) {
                place.copy_from_slice(&old);
                join(&mut bad, Bad { rule, offset: sector * SECTOR, length: SECTOR });
            }
        }
        bad
    }

    /// Writes data, or applies a change instead; returns the number of bytes that are reported as
    /// written.
    pub fn write(
        &mut self,
        offset: u64,
        bytes: &[u8],
        change: Option<(usize, Change)>,
    ) -> std::io::Result<u64> {
        let length = bytes.len() as u64;
        let Some((rule, change)) = change else {
            return self.store(offset, bytes).map(|()| length);
        };
        match change {
            Change::Error(_) | Change::SillyRename => return Ok(0),
            Change::Short(kept) => {
                let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(bytes.len());
                return self.store(offset, &bytes[..kept]).map(|()| kept as u64);
            }
            Change::Lost => self.skip(offset, length, rule)?,
            Change::Torn(kept) => {
                let kept = usize::try_from(kept).unwrap_or(usize::MAX).min(bytes.len());
                self.store(offset, &bytes[..kept])?;
                self.skip(offset + kept as u64, length - kept as u64, rule)?;
            }
            Change::Misdirected(to) => {
                self.store(to, bytes)?;
                self.damage(to, length, rule);
                self.skip(offset, length, rule)?;
            }
            Change::Stale => {
                let old = self.before(offset, length)?;
                self.store(offset, bytes)?;
                let sectors = old.into_iter().map(|(sector, bytes)| (sector, (rule, bytes)));
                self.old.extend(sectors);
            }
            Change::BitFlip { byte, bit } => {
                let mut bytes = bytes.to_vec();
                flip(&mut bytes, byte, bit);
                self.store(offset, &bytes)?;
                self.damage(offset + byte, 1, rule);
            }
        }
        Ok(length)
    }

    /// Writes bytes, which are then recorded as correct.
    fn store(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        self.forget(offset, offset + bytes.len() as u64);
        Ok(())
    }

    /// Writes no data, but extends the file as a write would.
    fn skip(&mut self, offset: u64, length: u64, rule: usize) -> std::io::Result<()> {
        let end = offset + length;
        if self.size()? < end {
            self.file.set_len(end)?;
        }
        self.forget(offset, end);
        self.damage(offset, length, rule);
        Ok(())
    }

    /// Returns the present content of whole sectors in a range; bytes beyond the end are zeros.
    fn before(&self, offset: u64, length: u64) -> std::io::Result<Vec<(u64, Vec<u8>)>> {
        let size = self.size()?;
        let whole = offset.div_ceil(SECTOR)..(offset + length) / SECTOR;
        let sector = |sector: u64| {
            let at = sector * SECTOR;
            let mut bytes = vec![0; 512];
            if at + SECTOR <= size {
                self.file.read_exact_at(&mut bytes, at)?;
            }
            Ok((sector, bytes))
        };
        whole.map(sector).collect()
    }

    /// Marks the sectors of a range as wrong.
    fn damage(&mut self, offset: u64, length: u64, rule: usize) {
        self.damage.extend(sectors(offset, length).map(|sector| (sector, rule)));
    }

    /// Forgets the damage of sectors that lie completely in a range.
    pub fn forget(&mut self, from: u64, to: u64) {
        if self.damage.is_empty() && self.old.is_empty() {
            return;
        }
        let whole = from.div_ceil(SECTOR)..to / SECTOR;
        self.damage.retain(|sector, _| !whole.contains(sector));
        self.old.retain(|sector, _| !whole.contains(sector));
    }
}

/// Returns the sectors that overlap a range.
const fn sectors(offset: u64, length: u64) -> std::ops::Range<u64> {
    offset / SECTOR..(offset + length).div_ceil(SECTOR)
}

fn flip(bytes: &mut [u8], byte: u64, bit: u8) {
    if let Some(byte) = usize::try_from(byte).ok().and_then(|byte| bytes.get_mut(byte)) {
        *byte ^= 1 << bit;
    }
}

/// Adds a run, or extends the last one if adjacent.
fn join(bad: &mut Vec<Bad>, next: Bad) {
    match bad.last_mut() {
        Some(last) if last.rule == next.rule && last.offset + last.length == next.offset => {
            last.length += next.length;
        }
        _ => bad.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: u8 = 1;
    const NEW: u8 = 2;

    fn file() -> Content {
        let mut content = Content::new(tempfile::tempfile().expect("a file"));
        content.write(0, &[OLD; 32768], None).expect("writes");
        content
    }

    fn read(content: &mut Content, offset: u64, length: u64) -> (Vec<u8>, Vec<Bad>) {
        content.read((offset, length), None).expect("reads")
    }

    fn write(content: &mut Content, offset: u64, change: Change) -> u64 {
        content.write(offset, &[NEW; 4096], Some((0, change))).expect("writes")
    }

    fn bad(offset: u64, length: u64) -> Vec<Bad> {
        vec![Bad { rule: 0, offset, length }]
    }

    #[test]
    fn a_lost_write_leaves_the_old_bytes_until_a_good_one() {
        let mut content = file();
        assert_eq!(write(&mut content, 4096, Change::Lost), 4096);
        assert_eq!(read(&mut content, 0, 12288), (vec![OLD; 12288], bad(4096, 4096)));
        content.write(4096, &[NEW; 2048], None).expect("writes");
        assert_eq!(read(&mut content, 0, 12288).1, bad(6144, 2048));
        assert_eq!(read(&mut content, 0, 6144).1, []);
    }

    #[test]
    fn a_torn_write_leaves_its_beginning() {
        let mut content = file();
        assert_eq!(write(&mut content, 8192, Change::Torn(1024)), 4096);
        let (bytes, found) = read(&mut content, 8192, 4096);
        assert_eq!((&bytes[..1024], &bytes[1024..]), (&[NEW; 1024][..], &[OLD; 3072][..]));
        assert_eq!(found, bad(9216, 3072));
    }

    #[test]
    fn a_misdirected_write_is_wrong_at_both_places() {
        let mut content = file();
        write(&mut content, 0, Change::Misdirected(16384));
        assert_eq!(read(&mut content, 0, 4096), (vec![OLD; 4096], bad(0, 4096)));
        assert_eq!(read(&mut content, 16384, 4096), (vec![NEW; 4096], bad(16384, 4096)));
        content.write(16384, &[OLD; 4096], None).expect("writes");
        assert_eq!(read(&mut content, 16384, 4096).1, []);
    }

    #[test]
    fn a_stale_read_happens_once_to_each_sector() {
        let mut content = file();
        write(&mut content, 4096, Change::Stale);
        assert_eq!(read(&mut content, 4096, 512), (vec![OLD; 512], bad(4096, 512)));
        assert_eq!(read(&mut content, 4096, 1024).1, bad(4608, 512));
        assert_eq!(read(&mut content, 4096, 1024), (vec![NEW; 1024], vec![]));
        assert_eq!(read(&mut content, 4096, 4096).1, bad(5120, 3072));
    }

    #[test]
    fn what_is_written_again_before_it_was_read_is_never_stale() {
        let mut content = file();
        write(&mut content, 4096, Change::Stale);
        content.write(4096, &[3; 4096], None).expect("writes");
        assert_eq!(read(&mut content, 4096, 4096), (vec![3; 4096], vec![]));
    }

    #[test]
    fn a_bit_of_a_write_stays_wrong_and_one_of_a_read_does_not() {
        let mut content = file();
        write(&mut content, 0, Change::BitFlip { byte: 1000, bit: 7 });
        let (bytes, found) = read(&mut content, 0, 4096);
        assert_eq!((bytes[1000], found), (NEW ^ 128, bad(512, 512)));
        let flip = Some((0, Change::BitFlip { byte: 5, bit: 0 }));
        let (bytes, found) = content.read((8192, 4096), flip).expect("reads");
        assert_eq!((bytes[5], found), (OLD ^ 1, bad(8192, 512)));
        assert_eq!(read(&mut content, 8192, 4096), (vec![OLD; 4096], vec![]));
    }

    #[test]
    fn a_short_write_stores_what_it_says_and_an_error_nothing() {
        let mut content = file();
        assert_eq!(write(&mut content, 0, Change::Short(512)), 512);
        write(&mut content, 4096, Change::Error(5));
        let (bytes, found) = read(&mut content, 0, 8192);
        assert_eq!((&bytes[..512], &bytes[512..]), (&[NEW; 512][..], &[OLD; 7680][..]));
        assert_eq!(found, []);
    }

    #[test]
    fn a_lost_write_behind_the_end_makes_the_file_longer() {
        let mut content = file();
        write(&mut content, 32768, Change::Lost);
        assert_eq!(content.size().expect("a size"), 36864);
        assert_eq!(read(&mut content, 32768, 4096), (vec![0; 4096], bad(32768, 4096)));
    }
}
