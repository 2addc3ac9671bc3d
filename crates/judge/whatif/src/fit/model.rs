use super::formula::SERVERS_MAX;

/// Hypothesis that the storage consists of equal servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Number of servers.
    pub servers: u32,
    /// Service time of a read, in seconds.
    pub read: f64,
    /// Service time of a write, in seconds.
    pub write: f64,
    /// Latency outside the servers, in seconds.
    pub outside: f64,
    /// Share of the measured spread that the servers have.
    pub spread: f64,
    /// Bytes per second of all I/Os together, if they have an effect.
    pub rate: Option<f64>,
    /// Memory in front of the servers, if there is any.
    pub memory: Option<Memory>,
}

/// Kind of a model: the part in front of its servers or disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Servers only.
    Servers,
    /// Servers behind a link with a rate.
    Link,
    /// Servers behind memory for writes.
    WriteMemory,
    /// Servers behind memory for writes and reads.
    Memory,
    /// Hard disks only.
    Drives,
    /// Hard disks behind memory for writes.
    DrivesWriteMemory,
    /// Hard disks behind memory for writes and reads.
    DrivesMemory,
}

impl Model {
    /// Returns the kind of the model.
    pub fn kind(&self) -> Kind {
        match self.memory {
            None if self.rate.is_some() => Kind::Link,
            None => Kind::Servers,
            Some(memory) if memory.reads > 0.0 => Kind::Memory,
            Some(_) => Kind::WriteMemory,
        }
    }
}

/// Memory in front of servers or disks: it completes writes, and reads of data that it holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Latency of a read or write that the memory completes, in seconds.
    pub hit: f64,
    /// Bytes for reads; 0 if only writes use the memory.
    pub reads: f64,
    /// Bytes for writes.
    pub writes: f64,
}

/// Start of a search. The search multiplies its quantities by factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Knobs {
    /// I/Os per second of all servers together.
    pub capacity: f64,
    /// Mean service time, in seconds.
    pub service: f64,
    /// Latency outside the servers, in seconds.
    pub outside: f64,
    /// Service time of a write as a multiple of that of a read.
    pub write: f64,
    /// Share of the measured spread that the servers have.
    pub spread: f64,
    /// Bytes per second of all I/Os together.
    pub rate: Option<f64>,
    /// Memory in front of the servers.
    pub memory: Option<Memory>,
    /// Share of reads in the I/Os.
    pub reads: f64,
}

/// Step of the size of memory, as a multiple of the other steps, because hits depend only on the
/// logarithm of the size.
const SIZE_STEP: f64 = 2.0;
/// Shortest service time, in seconds.
pub const SERVICE_MIN: f64 = 1e-7;

impl Knobs {
    /// Returns the first position of the search.
    pub fn place(&self) -> Vec<f64> {
        let has_size = self.memory.is_some_and(|memory| memory.reads > 0.0);
        vec![0.0; if has_size || self.rate.is_some() { 6 } else { 5 }]
    }

    /// Returns the model at a position; `None` if the position is outside the range of models.
    pub fn at(&self, place: &[f64]) -> Option<Model> {
        let (&[capacity, service, outside, write, spread], last) =
            place.split_first_chunk::<5>()?;
        let last = last.first().copied().unwrap_or_default();
        let size = (SIZE_STEP * last).exp();
        let capacity = self.capacity * capacity.exp();
        let servers = (capacity * self.service * service.exp()).round();
        if !(1.0..=f64::from(SERVERS_MAX)).contains(&servers.max(1.0)) {
            return None;
        }
        let servers = servers.max(1.0);
        let mean = servers / capacity;
        let ratio = self.write * write.exp();
        let read = mean / (self.reads + (1.0 - self.reads) * ratio);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 256")]
        let servers = servers as u32;
        Some(Model {
            servers,
            read: read.max(SERVICE_MIN),
            write: (read * ratio).max(SERVICE_MIN),
            outside: self.outside * outside.exp(),
            spread: (self.spread * spread.exp()).min(1.5),
            rate: self.rate.map(|rate| rate * last.exp()),
            memory: self.memory.map(|memory| Memory { reads: memory.reads * size, ..memory }),
        })
    }
}
