//! A virtual machine as files tell of it.

use units::Bytes;

/// What a machine's disks were measured to do: for each figure the 95th percentile of its samples, or the one
/// value that a table has. None was not measured.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Reads per second.
    pub reads_per_s: Option<f64>,
    /// Writes per second.
    pub writes_per_s: Option<f64>,
    /// Reads and writes per second, where nobody told them apart.
    pub io_per_s: Option<f64>,
    /// Reads as a share of reads and writes, 0 to 1.
    pub read_share: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub written_bytes_per_s: Option<f64>,
}

impl Load {
    /// Whether anything was measured.
    pub fn is_known(&self) -> bool {
        self.rates().iter().any(Option::is_some)
    }

    /// Whether its rate of I/Os was measured, and not only its bytes.
    pub const fn has_io(&self) -> bool {
        self.io_per_s.is_some() || (self.reads_per_s.is_some() && self.writes_per_s.is_some())
    }

    /// Adds what another disk of the same machine did.
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
    /// Its name; machines of one name are told apart by a number behind it.
    pub name: String,
    /// What identifies it on its platform (UUID, number); empty where files have none.
    pub id: String,
    /// Its operating system, as the platform calls it; empty where nobody says.
    pub os: String,
    /// Virtual CPUs.
    pub vcpus: Option<u32>,
    /// What its disks may grow to.
    pub provisioned: Option<Bytes>,
    /// Whether that is its first disk only, and nobody says what others it has.
    pub is_first_disk: bool,
    /// What is on them.
    pub used: Option<Bytes>,
    /// The class that a file names for it.
    pub class: Option<String>,
    /// What was measured of it.
    pub load: Load,
}

impl Vm {
    /// What is on its disks, or what they may grow to where nobody knows.
    pub fn size(&self) -> Option<Bytes> {
        self.used.or(self.provisioned).filter(|size| *size > Bytes::ZERO)
    }
}
