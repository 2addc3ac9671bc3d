use std::fmt;

use crate::{Catalog, Disk, Service};

/// What a server begins with.
#[derive(Default)]
pub struct Offer {
    /// Disks, each under its export's name, for whoever comes in.
    pub disks: Vec<Box<dyn Disk>>,
    /// One service behind all of them, and behind those that are added.
    pub service: Option<Box<dyn Service>>,
    /// More disks, which are opened for whoever asks for them.
    pub catalog: Option<Box<dyn Catalog>>,
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.disks.iter().map(|disk| disk.export().name()).collect();
        f.debug_struct("Offer").field("disks", &names).finish_non_exhaustive()
    }
}
