use units::{Bytes, Nanos};

/// Measured latencies of one closed loop.
#[derive(Debug, Clone, PartialEq)]
pub struct TableLoop {
    /// Share of reads among the loop's I/Os, 0 to 1.
    pub reads: f64,
    /// Size of each I/O, above zero.
    pub block: Bytes,
    /// Number of outstanding I/Os, at least 1.
    pub depth: u32,
    /// Latencies of reads: for each share of the I/Os their mean, ascending and above zero. Empty
    /// if the loop does not read.
    pub read: Vec<Nanos>,
    /// Latencies of writes, in the same form; empty if the loop does not write.
    pub write: Vec<Nanos>,
}

/// Loops of one direction, reads or writes, sorted by share of reads, block and depth, all
/// ascending.
#[derive(Debug, Clone)]
pub struct Side {
    mixes: Vec<(f64, Mix)>,
}

/// Loops with one share of reads, by the logarithm of their block size.
type Mix = Vec<(f64, Row)>;

/// Loops with one block size, by the logarithm of their depth.
type Row = Vec<(f64, Vec<f64>)>;

impl Side {
    /// Collects the loops that have this direction; `None` if there are none.
    pub fn new(loops: &[TableLoop], of: fn(&TableLoop) -> &Vec<Nanos>) -> Option<Self> {
        let mut known: Vec<&TableLoop> = loops.iter().filter(|each| !of(each).is_empty()).collect();
        known.sort_by(|a, b| {
            a.reads.total_cmp(&b.reads).then(a.block.cmp(&b.block)).then(a.depth.cmp(&b.depth))
        });
        let row = |row: &[&TableLoop]| -> (f64, Row) {
            let logarithms = |each: &TableLoop| {
                let values = of(each).iter().map(|latency| libm::log(latency.as_secs_f64()));
                (libm::log(f64::from(each.depth)), values.collect())
            };
            (logarithm(row[0].block), row.iter().map(|each| logarithms(each)).collect())
        };
        let mix = |mix: &[&TableLoop]| -> (f64, Mix) {
            (mix[0].reads, mix.chunk_by(|a, b| a.block == b.block).map(row).collect())
        };
        let same = |a: &&TableLoop, b: &&TableLoop| a.reads.to_bits() == b.reads.to_bits();
        let mixes: Vec<_> = known.chunk_by(same).map(mix).collect();
        (!mixes.is_empty()).then_some(Self { mixes })
    }

    /// Returns the latency at an entry of the lists, for this recent share of reads.
    pub fn latency(&self, reads: f64, (length, outstanding): (u32, u32), entry: usize) -> Nanos {
        let off = |mix: &&(f64, Mix)| (mix.0 - reads).abs();
        let nearest = self.mixes.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let (_, rows) = nearest.expect("a side has a mix");
        let depth = libm::log(f64::from(outstanding.max(1)));
        let of_row = |row: &Row| along(row, depth, |values| values[entry]);
        let found = along(rows, logarithm(Bytes::new(u64::from(length.max(1)))), of_row);
        Nanos::from_secs_f64(libm::exp(found)).max(Nanos(1))
    }
}

fn logarithm(bytes: Bytes) -> f64 {
    libm::log(bytes.as_f64())
}

/// Interpolates the value at `x` between the two entries around it. Below all entries it returns
/// the first one's value; above all, the last one's value plus the distance, which is proportional
/// growth for logarithms.
fn along<T>(entries: &[(f64, T)], x: f64, value: impl Fn(&T) -> f64) -> f64 {
    let above = entries.partition_point(|(at, _)| *at < x);
    match (above.checked_sub(1).map(|below| &entries[below]), entries.get(above)) {
        (Some((x0, low)), Some((x1, high))) => {
            let (low, high) = (value(low), value(high));
            low + (high - low) * (x - x0) / (x1 - x0)
        }
        (Some((last, entry)), None) => value(entry) + (x - last),
        (None, Some((_, entry))) => value(entry),
        (None, None) => unreachable!("loops of a mix and a block are at least one"),
    }
}
