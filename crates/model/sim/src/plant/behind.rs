use hardware::{Array, PartId, Watched};
use run_store::gauge::BehindTier;
use state_machine::Operation;
use stats::Histogram;

/// Latencies of the storage behind a tier since they were last reported.
#[derive(Debug)]
pub struct Behind {
    /// Parts of the tier, on all hosts together.
    parts: Vec<PartId>,
    read: Histogram,
    write: Histogram,
}

impl Behind {
    pub fn of(parts: Vec<PartId>) -> Self {
        Self { parts, read: Histogram::new(), write: Histogram::new() }
    }

    /// Moves latencies from the array into the histograms. Called every second, so that the array's
    /// list stays short.
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

    /// Latencies since the last call; the histograms start empty again.
    pub fn told(&mut self) -> BehindTier {
        let told = BehindTier { read: self.read.compact(), write: self.write.compact() };
        self.read.clear();
        self.write.clear();
        told
    }
}
