//! Virtual machine as files describe it.

use units::Bytes;

/// Measured load of a VM's disks. Each figure is the 95th percentile of its samples, or the only
/// value of a table. `None` means not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Reads per second.
    pub reads_per_s: Option<f64>,
    /// Writes per second.
    pub writes_per_s: Option<f64>,
    /// Reads and writes per second, if not measured separately.
    pub io_per_s: Option<f64>,
    /// Reads as a share of reads and writes, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<f64>,
}

impl Load {
    /// Returns true if any figure was measured.
    pub fn is_known(&self) -> bool {
        self.rates().iter().any(Option::is_some)
    }

    /// Returns true if the rate of I/Os was measured, not only bytes.
    pub const fn has_io(&self) -> bool {
        self.io_per_s.is_some() || (self.reads_per_s.is_some() && self.writes_per_s.is_some())
    }

    /// Adds another disk of the same VM.
    pub(crate) fn add(&mut self, other: &Self) {
        let sum = |own: &mut Option<f64>, other: Option<f64>| {
            if let Some(more) = other {
                *own = Some(own.unwrap_or(0.0) + more);
            }
        };
        sum(&mut self.reads_per_s, other.reads_per_s);
        sum(&mut self.writes_per_s, other.writes_per_s);
        sum(&mut self.io_per_s, other.io_per_s);
        sum(&mut self.read_bytes_per_s, other.read_bytes_per_s);
        sum(&mut self.written_bytes_per_s, other.written_bytes_per_s);
        self.read_share = self.read_share.or(other.read_share);
    }

    const fn rates(&self) -> [Option<f64>; 5] {
        [
            self.reads_per_s,
            self.writes_per_s,
            self.io_per_s,
            self.read_bytes_per_s,
            self.written_bytes_per_s,
        ]
    }
}

/// A virtual machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vm {
    /// Name; VMs with the same name get a number at the end.
    pub name: String,
    /// Identity on the VM's platform (UUID, number); empty if files have none.
    pub id: String,
    /// Operating system, as the platform names it; empty if unknown.
    pub os: String,
    /// Virtual CPUs.
    pub vcpus: Option<u32>,
    /// Provisioned size of the VM's disks.
    pub provisioned: Option<Bytes>,
    /// True if `provisioned` is only the first disk, and further disks are unknown.
    pub is_first_disk: bool,
    /// Used size of the VM's disks.
    pub used: Option<Bytes>,
    /// Class that a file gives for the VM.
    pub class: Option<String>,
    /// Measured load.
    pub load: Load,
}

impl Vm {
    /// Returns the used size of the VM's disks, or the provisioned size if the used size is
    /// unknown.
    pub fn size(&self) -> Option<Bytes> {
        self.used.or(self.provisioned).filter(|size| *size > Bytes::ZERO)
    }
}
