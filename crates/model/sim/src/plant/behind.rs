use hardware::{Array, PartId, Watched};
use run_store::gauge::BehindTier;
use state_machine::Operation;
use stats::Histogram;

/// Latencies of the storage behind a tier, since the last report.
#[derive(Debug)]
pub struct Behind {
    /// Parts of the tier, over all hosts.
    parts: Vec<PartId>,
    read: Histogram,
    write: Histogram,
}

impl Behind {
    pub fn of(parts: Vec<PartId>) -> Self {
        Self { parts, read: Histogram::new(), write: Histogram::new() }
    }

    /// Moves latencies from the array into the histograms. It is called every second, so that the
    /// array's list stays short.
    pub fn take(&mut self, array: &mut Array) {
        for part in &self.parts {
            for Watched { operation, took } in array.take_watched(*part) {
                match operation {
                    Operation::Read => self.read.record(took),
                    Operation::Write => self.write.record(took),
                    Operation::Flush => {}
                }
            }
        }
    }

    /// Returns the latencies since the last call and empties the histograms.
    pub fn told(&mut self) -> BehindTier {
        let told = BehindTier { read: self.read.compact(), write: self.write.compact() };
        self.read.clear();
        self.write.clear();
        told
    }
}
