//! Valid contents of a disk, derived from the answers that its client got.

use tilemark_tier::{Mode, Op, Request};

pub const SECTOR: u64 = 512;

/// Bytes of which each sector says which request wrote it.
pub fn stamped(id: u64, bytes: u32) -> Vec<u8> {
    id.to_le_bytes().repeat(bytes as usize / 8)
}

/// Number of the request that wrote each sector; zero for none.
pub fn stamps(data: &[u8]) -> Vec<u64> {
    data.chunks(512)
        .map(|sector| {
            let (first, rest) = sector.split_at(8);
            assert!(
                rest.chunks(8).all(|word| word == first),
                "a sector is of one request: {sector:?}"
            );
            u64::from_le_bytes(first.try_into().expect("eight"))
        })
        .collect()
}

#[derive(Debug, Clone)]
struct Write {
    id: u64,
    first: usize,
    end: usize,
    stamp: u64,
    is_answered: bool,
}

/// Writes in the order of their requests, with their guarantees.
#[derive(Debug, Clone)]
pub struct Oracle {
    mode: Mode,
    base: Vec<u64>,
    writes: Vec<Write>,
    /// Writes before this index survive a power cut.
    flushed: usize,
    /// In mode through: such writes, one by one.
    durable: Vec<bool>,
    /// For each flush and durable write that was answered: the writes that it covers, and the
    /// number of writes requested until then.
    barriers: Vec<(usize, usize)>,
    /// For each flush in flight: the writes that it covers.
    flushes: Vec<(u64, usize, Vec<usize>)>,
    /// For each read under way: the last answered write before it, by sector.
    reads: Vec<(u64, Vec<usize>)>,
    /// Writes that failed: their sectors are anything since.
    pub is_loose: bool,
    /// After a change of mode, only the guarantees of both modes are checked.
    pub is_mixed: bool,
}

impl Oracle {
    pub fn new(sectors: u64, mode: Mode) -> Self {
        Self {
            mode,
            base: vec![0; usize::try_from(sectors).expect("small")],
            writes: Vec::new(),
            flushed: 0,
            durable: Vec::new(),
            barriers: Vec::new(),
            flushes: Vec::new(),
            reads: Vec::new(),
            is_loose: false,
            is_mixed: false,
        }
    }

    /// A new life that begins with this content, all of it durable.
    pub fn reborn(&self, content: &[u64]) -> Self {
        Self { base: content.to_vec(), ..Self::new(content.len() as u64, self.mode) }
    }

    pub fn asked(&mut self, request: &Request) {
        let first = usize::try_from(request.offset / SECTOR).expect("small");
        let end = first + usize::try_from(u64::from(request.bytes) / SECTOR).expect("small");
        match request.op {
            Op::Read => {
                let lowest =
                    (first..end).map(|sector| self.lowest(sector, |w| w.is_answered)).collect();
                self.reads.push((u64::from(request.id.0), lowest));
            }
            Op::Flush => {
                let answered: Vec<usize> = self
                    .writes
                    .iter()
                    .enumerate()
                    .filter(|(_, w)| w.is_answered)
                    .map(|(at, _)| at)
                    .collect();
                let covers = answered.last().map_or(0, |last| last + 1);
                self.flushes.push((u64::from(request.id.0), covers, answered));
            }
            Op::Write | Op::Zero { .. } => {
                let stamp = if request.op == Op::Write { u64::from(request.id.0) } else { 0 };
                self.writes.push(Write {
                    id: u64::from(request.id.0),
                    first,
                    end,
                    stamp,
                    is_answered: false,
                });
                self.durable.push(false);
            }
        }
    }

    /// Index behind the last write of a sector that is settled; 0 if none is.
    fn lowest(&self, sector: usize, is_settled: impl Fn(&Write) -> bool) -> usize {
        let covers =
            |write: &Write| (write.first..write.end).contains(&sector) && is_settled(write);
        self.writes.iter().rposition(covers).map_or(0, |at| at + 1)
    }

    pub fn answered(&mut self, request: &Request, data: Option<&[u8]>) {
        match request.op {
            Op::Read => self.check_read(request, data.expect("a read brings bytes")),
            Op::Flush => {
                let at = self
                    .flushes
                    .iter()
                    .position(|(id, ..)| *id == u64::from(request.id.0))
                    .expect("asked");
                let (_, covers, answered) = self.flushes.swap_remove(at);
                self.flushed = self.flushed.max(covers);
                self.barriers.push((covers, self.writes.len()));
                for at in answered {
                    self.durable[at] = true;
                }
            }
            Op::Write | Op::Zero { .. } => {
                let at = self
                    .writes
                    .iter()
                    .position(|w| w.id == u64::from(request.id.0))
                    .expect("asked");
                self.writes[at].is_answered = true;
                if request.fua {
                    self.flushed = self.flushed.max(at + 1);
                    self.barriers.push((at + 1, self.writes.len()));
                    self.durable[at] = true;
                }
            }
        }
    }

    pub fn failed(&mut self, request: &Request) {
        if !matches!(request.op, Op::Read) {
            self.is_loose = true;
        }
    }

    fn check_read(&mut self, request: &Request, data: &[u8]) {
        let at =
            self.reads.iter().position(|(id, _)| *id == u64::from(request.id.0)).expect("asked");
        let (_, lowest) = self.reads.swap_remove(at);
        let first = usize::try_from(request.offset / SECTOR).expect("small");
        for ((sector, stamp), lowest) in (first..).zip(stamps(data)).zip(lowest) {
            assert!(
                self.is_loose || self.may_be(sector, lowest, stamp),
                "sector {sector} was read as {stamp}; write {lowest} of it was answered before"
            );
        }
    }

    /// True if a sector may have this content when all its writes before index `lowest` are
    /// settled.
    fn may_be(&self, sector: usize, lowest: usize, stamp: u64) -> bool {
        let settled = match lowest {
            0 => self.base[sector],
            at => self.writes[at - 1].stamp,
        };
        let later = self.writes[lowest..].iter().filter(|w| (w.first..w.end).contains(&sector));
        settled == stamp || later.into_iter().any(|write| write.stamp == stamp)
    }

    /// Checks the data that a client finds after a kill (`is_power` false) or a power cut.
    ///
    /// # Panics
    /// If something that was promised is lost, or the disk is no state it ever had.
    pub fn check(&self, content: &[u64], is_power: bool) {
        match self.mode {
            _ if self.is_mixed => self.check_sectors(content, is_power),
            Mode::Through => self.check_sectors(content, is_power),
            Mode::Back => self.check_prefix(content, is_power),
        }
    }

    fn check_sectors(&self, content: &[u64], is_power: bool) {
        for (sector, stamp) in content.iter().enumerate() {
            let covers = |w: &Write| (w.first..w.end).contains(&sector);
            let settled = |at: usize, w: &Write| {
                covers(w) && if is_power { self.durable[at] } else { w.is_answered }
            };
            let lowest = self
                .writes
                .iter()
                .enumerate()
                .rposition(|(at, w)| settled(at, w))
                .map_or(0, |at| at + 1);
            assert!(
                self.may_be(sector, lowest, *stamp),
                "sector {sector} is {stamp} after a {}; settled up to write {lowest}",
                if is_power { "power cut" } else { "kill" }
            );
        }
    }

    /// Checks that a disk in mode back has the result of its first N writes, for some N.
    fn check_prefix(&self, content: &[u64], is_power: bool) {
        let answered = self.writes.iter().rposition(|w| w.is_answered).map_or(0, |at| at + 1);
        let least = if is_power { self.flushed } else { answered };
        let mut image = self.image(least);
        if image == content {
            return;
        }
        for write in &self.writes[least..] {
            image[write.first..write.end].fill(write.stamp);
            if image == content {
                return;
            }
        }
        let wrong: Vec<(usize, u64, u64)> = (0..)
            .zip(content.iter().zip(&self.image(least)))
            .filter(|(_, (is, was))| is != was)
            .map(|(sector, (is, was))| (sector, *is, *was))
            .take(8)
            .collect();
        panic!(
            "the disk is what no number of writes from {least} to {} made (sector, is, with the least): {wrong:?}",
            self.writes.len()
        );
    }

    fn image(&self, writes: usize) -> Vec<u64> {
        let mut image = self.base.clone();
        for write in &self.writes[..writes] {
            image[write.first..write.end].fill(write.stamp);
        }
        image
    }

    /// The backing store alone, its log lost: what the first so many writes made, and any of those behind them,
    /// but none that was asked when a flush or a durable write had been answered which covers more than the first.
    pub fn check_alone(&self, content: &[u64]) {
        let ends = self.barriers.iter().map(|(_, asked)| *asked).chain([self.writes.len()]);
        let is_one = ends.into_iter().any(|end| {
            let before = self.barriers.iter().filter(|(_, asked)| *asked < end);
            let first = before.map(|(covers, _)| *covers).max().unwrap_or(0);
            let image = self.image(first);
            content.iter().enumerate().all(|(sector, stamp)| {
                let mut next =
                    self.writes[first..end].iter().filter(|w| (w.first..w.end).contains(&sector));
                image[sector] == *stamp || next.any(|write| write.stamp == *stamp)
            })
        });
        assert!(
            is_one || self.writes.is_empty() && content == self.base,
            "the backing store alone is torn between epochs"
        );
    }
}
