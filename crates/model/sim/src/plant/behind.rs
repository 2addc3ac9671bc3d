use hardware::{Array, PartId, Watched};
use run_store::gauge::BehindTier;
use state_machine::Operation;
use stats::Histogram;

/// How long the storage behind a tier took since it was last told.
#[derive(Debug)]
pub struct Behind {
    /// The tier's parts: those of all hosts together.
    parts: Vec<PartId>,
    read: Histogram,
    write: Histogram,
}

impl Behind {
    pub fn of(parts: Vec<PartId>) -> Self {
        Self { parts, read: Histogram::new(), write: Histogram::new() }
    }

    /// Takes what was seen, so that it does not pile up.
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

    /// What it is, and nothing from now on.
    pub fn told(&mut self) -> BehindTier {
        let told = BehindTier { read: self.read.compact(), write: self.write.compact() };
        self.read.clear();
        self.write.clear();
        told
    }
}
