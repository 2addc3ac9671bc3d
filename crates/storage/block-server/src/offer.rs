use std::fmt;

use crate::{Catalog, Disk, Service};

/// Disks and services that a server starts with.
#[derive(Default)]
pub struct Offer {
    /// Disks for all clients, each under its export's name.
    pub disks: Vec<Box<dyn Disk>>,
    /// Service shared by all of these disks and by disks that are added later. `None` if each disk
    /// has its own service.
    pub service: Option<Box<dyn Service>>,
    /// Disks that are opened only when a client asks for one by name.
    pub catalog: Option<Box<dyn Catalog>>,
}

impl fmt::Debug for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.disks.iter().map(|disk| disk.export().name()).collect();
        f.debug_struct("Offer").field("disks", &names).finish_non_exhaustive()
    }
}
