//! Figures of every time slice, by VM, direction and size class.

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::slim::{self, Slim};

/// Number of bits for the count in a pool entry; the other bits are the bucket.
const COUNT_BITS: u32 = 22;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
/// Cells of one VM: two directions of eight classes.
pub(crate) const CELLS: usize = 16;

/// Figures of one VM, direction and class in one slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the slice from the trace's start.
    pub(crate) slice: u64,
    pub(crate) key: u32,
    pub(crate) timed: u32,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    /// Sum of latencies, nanoseconds.
    pub(crate) wait_ns: u64,
    /// Longest latency, nanoseconds.
    pub(crate) longest_ns: u64,
    from: usize,
    entries: usize,
}

impl Row {
    pub(crate) fn vm(&self) -> usize {
        self.key as usize / CELLS
    }

    /// Returns the direction: 0 for reads, 1 for writes.
    pub(crate) fn way(&self) -> usize {
        self.key as usize % CELLS / 8
    }

    pub(crate) fn class(&self) -> u8 {
        (self.key % 8) as u8
    }
}

/// Open cell of the current slice.
#[derive(Debug, Clone)]
struct Cell {
    timed: u32,
    count: u64,
    bytes: u64,
    wait_ns: u64,
    longest_ns: u64,
    buckets: Box<[u32; slim::BUCKETS]>,
    lowest: usize,
    highest: usize,
}

impl Cell {
    fn new() -> Self {
        let buckets = Box::new([0; slim::BUCKETS]);
        let (lowest, highest) = (slim::BUCKETS, 0);
        Self { timed: 0, count: 0, bytes: 0, wait_ns: 0, longest_ns: 0, buckets, lowest, highest }
    }

    fn put(&mut self, bucket: usize, count: u32) {
        self.buckets[bucket] = self.buckets[bucket].saturating_add(count);
        self.timed = self.timed.saturating_add(count);
        self.lowest = self.lowest.min(bucket);
        self.highest = self.highest.max(bucket);
    }

    /// Writes the cell to the pool, empties it and returns its row.
    fn close(&mut self, slice: u64, key: u32, pool: &mut Vec<u32>) -> Row {
        let from = pool.len();
        if self.lowest <= self.highest {
            for (at, count) in
                self.buckets.iter_mut().enumerate().take(self.highest + 1).skip(self.lowest)
            {
                let bucket = u32::try_from(at).expect("a few hundred buckets") << COUNT_BITS;
                while *count > 0 {
                    let part = (*count).min(COUNT_MAX);
                    pool.push(bucket | part);
                    *count -= part;
                }
            }
        }
        (self.lowest, self.highest) = (slim::BUCKETS, 0);
        Row {
            slice,
            key,
            timed: std::mem::take(&mut self.timed),
            count: std::mem::take(&mut self.count),
            bytes: std::mem::take(&mut self.bytes),
            wait_ns: std::mem::take(&mut self.wait_ns),
            longest_ns: std::mem::take(&mut self.longest_ns),
            from,
            entries: pool.len() - from,
        }
    }
}

/// One I/O to be added to a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) vm: u16,
    pub(crate) way: usize,
    pub(crate) class: u8,
    pub(crate) bytes: u32,
    pub(crate) latency: Option<Nanos>,
}

/// Limits of the stored data. If either is exceeded, slices become twice as long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) rows: usize,
    pub(crate) entries: usize,
}

/// Slices of a part of a trace.
#[derive(Debug, Clone)]
pub(crate) struct Slices {
    width: Nanos,
    room: Room,
    /// End of the open slice.
    until: u64,
    slice: u64,
    open: Vec<Option<Box<Cell>>>,
    touched: Vec<u32>,
    rows: Vec<Row>,
    pool: Vec<u32>,
}

impl Slices {
    pub(crate) fn new(width: Nanos, room: Room) -> Self {
        assert!(width.0 > 0, "a slice has a length");
        Self {
            width,
            room,
            until: width.0,
            slice: 0,
            open: Vec::new(),
            touched: Vec::new(),
            rows: Vec::new(),
            pool: Vec::new(),
        }
    }

    pub(crate) fn width(&self) -> Nanos {
        self.width
    }

    #[inline]
    pub(crate) fn push(&mut self, at: Nanos, sample: Sample) {
        if at.0 >= self.until {
            self.turn(at);
        }
        let cell = self.cell(key(sample.vm, sample.way, sample.class));
        cell.count += 1;
        cell.bytes += u64::from(sample.bytes);
        if let Some(latency) = sample.latency {
            cell.wait_ns = cell.wait_ns.saturating_add(latency.0);
            cell.longest_ns = cell.longest_ns.max(latency.0);
            cell.put(slim::bucket(latency), 1);
        }
    }

    /// Adds several I/Os at once, from a source that has only their histogram.
    pub(crate) fn push_many(
        &mut self,
        at: Nanos,
        sample: Sample,
        bytes: u64,
        latencies: &stats::Compact,
    ) {
        if at.0 >= self.until {
            self.turn(at);
        }
        let cell = self.cell(key(sample.vm, sample.way, sample.class));
        cell.count += latencies.count();
        cell.bytes += bytes;
        cell.wait_ns = cell.wait_ns.saturating_add(latencies.sum().0);
        for (latency, count) in latencies.buckets() {
            cell.longest_ns = cell.longest_ns.max(latency.0);
            cell.put(slim::bucket(latency), count);
        }
    }

    #[inline]
    fn cell(&mut self, key: u32) -> &mut Cell {
        let at = key as usize;
        if at >= self.open.len() {
            self.open.resize_with((at / CELLS + 1) * CELLS, || None);
        }
        let cell = self.open[at].get_or_insert_with(|| Box::new(Cell::new()));
        if cell.count == 0 {
            self.touched.push(key);
        }
        cell
    }

    #[cold]
    fn turn(&mut self, at: Nanos) {
        self.close();
        self.slice = at.0 / self.width.0;
        self.until = (self.slice + 1).saturating_mul(self.width.0);
    }

    /// Ends the open slice.
    fn close(&mut self) {
        self.touched.sort_unstable();
        let is_again =
            !self.touched.is_empty() && self.rows.last().is_some_and(|row| row.slice == self.slice);
        for key in self.touched.drain(..) {
            let Some(cell) = &mut self.open[key as usize] else { continue };
            if cell.count > 0 {
                self.rows.push(cell.close(self.slice, key, &mut self.pool));
            }
        }
        if is_again {
            self.join();
        }
        while self.is_full() && self.width.0 < u64::MAX / 4 {
            self.coarsen();
        }
    }

    /// Merges rows of the same slice and key. There are such rows if slices became longer while one
    /// was open.
    #[cold]
    fn join(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let pool = std::mem::take(&mut self.pool);
        self.gather(rows, &pool);
    }

    fn is_full(&self) -> bool {
        self.rows.len() > self.room.rows || self.pool.len() > self.room.entries
    }

    /// Makes slices twice as long.
    fn coarsen(&mut self) {
        self.width = Nanos(self.width.0 * 2);
        self.slice /= 2;
        let rows = std::mem::take(&mut self.rows);
        let pool = std::mem::take(&mut self.pool);
        let halved = rows.into_iter().map(|row| Row { slice: row.slice / 2, ..row }).collect();
        self.gather(halved, &pool);
        self.until = (self.slice + 1).saturating_mul(self.width.0);
    }

    /// Replaces all rows by these, and merges rows of the same slice and key.
    fn gather(&mut self, mut rows: Vec<Row>, pool: &[u32]) {
        rows.sort_by_key(|row| (row.slice, row.key));
        let mut cell = Cell::new();
        for at in 0..rows.len() {
            let row = &rows[at];
            cell.count += row.count;
            cell.bytes += row.bytes;
            cell.wait_ns = cell.wait_ns.saturating_add(row.wait_ns);
            cell.longest_ns = cell.longest_ns.max(row.longest_ns);
            for (bucket, count) in unpack(&pool[row.from..row.from + row.entries]) {
                cell.put(bucket, count);
            }
            let is_last =
                rows.get(at + 1).is_none_or(|next| (next.slice, next.key) != (row.slice, row.key));
            if is_last {
                self.rows.push(cell.close(row.slice, row.key, &mut self.pool));
            }
        }
    }

    /// Appends a later part.
    pub(crate) fn merge(&mut self, mut later: Self) {
        self.close();
        later.close();
        while self.width < later.width {
            self.coarsen();
        }
        while later.width < self.width {
            later.coarsen();
        }
        let is_apart = match (self.rows.last(), later.rows.first()) {
            (Some(mine), Some(theirs)) => mine.slice < theirs.slice,
            _ => true,
        };
        let base = self.pool.len();
        self.pool.append(&mut later.pool);
        self.rows.extend(later.rows.into_iter().map(|row| Row { from: row.from + base, ..row }));
        if !is_apart {
            self.join();
        }
        self.slice = self.slice.max(later.slice);
        self.until = (self.slice + 1).saturating_mul(self.width.0);
        self.close();
    }

    /// Ends the open slice and returns all rows, sorted by time and then by key.
    pub(crate) fn finish(&mut self) -> &[Row] {
        self.close();
        &self.rows
    }

    /// Returns all rows that are closed.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Adds a row's latencies to a histogram.
    pub(crate) fn add_latencies(&self, row: &Row, to: &mut Slim) {
        for (bucket, count) in unpack(&self.pool[row.from..row.from + row.entries]) {
            to.add(bucket, u64::from(count));
        }
    }
}

/// Slices in the form for messages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) width_ns: u64,
    pub(crate) rows: Vec<StoredRow>,
}

/// [`Row`] with its pool entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRow {
    pub(crate) slice: u64,
    key: u32,
    timed: u32,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    wait_ns: u64,
    longest_ns: u64,
    #[serde(deserialize_with = "entries")]
    entries: Vec<u32>,
}

impl StoredRow {
    pub(crate) fn vm(&self) -> usize {
        self.key as usize / CELLS
    }
}

/// Deserialises pool entries, and refuses invalid buckets.
fn entries<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    let entries: Vec<u32> = Vec::deserialize(from)?;
    if unpack(&entries).any(|(bucket, _)| bucket >= slim::BUCKETS) {
        return Err(serde::de::Error::custom("there is no such bucket"));
    }
    Ok(entries)
}

impl Slices {
    /// Converts all rows for a message.
    pub(crate) fn into_stored(mut self) -> Stored {
        self.close();
        let pool = self.pool;
        let row = |row: Row| StoredRow {
            slice: row.slice,
            key: row.key,
            timed: row.timed,
            count: row.count,
            bytes: row.bytes,
            wait_ns: row.wait_ns,
            longest_ns: row.longest_ns,
            entries: pool[row.from..row.from + row.entries].to_vec(),
        };
        Stored { width_ns: self.width.0, rows: self.rows.into_iter().map(row).collect() }
    }

    /// Adds the slices of another host for the same time; `vms` maps the other host's VMs to the
    /// VMs here.
    pub(crate) fn beside(&mut self, stored: Stored, vms: &[u16]) {
        let mut other = Self::new(Nanos(stored.width_ns.max(1)), self.room);
        for row in stored.rows {
            let Some(vm) = vms.get(row.vm()) else { continue };
            let from = other.pool.len();
            other.pool.extend_from_slice(&row.entries);
            other.rows.push(Row {
                slice: row.slice,
                #[expect(clippy::cast_possible_truncation, reason = "below 16")]
                key: u32::from(*vm) * CELLS as u32 + row.key % CELLS as u32,
                timed: row.timed,
                count: row.count,
                bytes: row.bytes,
                wait_ns: row.wait_ns,
                longest_ns: row.longest_ns,
                from,
                entries: row.entries.len(),
            });
        }
        // The VMs have other numbers here, so the rows have another order.
        other.join();
        self.merge(other);
    }
}

#[inline]
fn key(vm: u16, way: usize, class: u8) -> u32 {
    (u32::from(vm) << 4) | (u32::from(way == 1) << 3) | u32::from(class)
}

fn unpack(entries: &[u32]) -> impl Iterator<Item = (usize, u32)> + '_ {
    entries.iter().map(|entry| ((entry >> COUNT_BITS) as usize, entry & COUNT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(vm: u16) -> Sample {
        Sample { vm, way: 0, class: 1, bytes: 4096, latency: Some(Nanos::from_millis(1)) }
    }

    #[test]
    fn slices_grow_when_there_is_no_room_and_nothing_is_lost() {
        let mut slices = Slices::new(Nanos::SECOND, Room { rows: 10, entries: 100 });
        for second in 0..100 {
            slices.push(Nanos::from_secs(second), sample(0));
        }
        let rows = slices.finish().to_vec();
        assert!(rows.len() <= 10, "{} rows", rows.len());
        assert_eq!(rows.iter().map(|row| row.count).sum::<u64>(), 100);
        assert_eq!(slices.width(), Nanos::from_secs(16));
        let mut all = Slim::default();
        rows.iter().for_each(|row| slices.add_latencies(row, &mut all));
        assert_eq!(all.count(), 100);
    }
}
