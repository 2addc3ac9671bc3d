use hardware::{
    Array, ParameterError, PartId, Servers, ServersParameters, Ssd, SsdParameters, Table,
    TableParameters,
};
use spec::array::{Disk, TableLoop, Variation};
use state_machine::{Purpose, Stream};
use units::{Bytes, Nanos, Rate, Ratio};

/// Modelled disk that is fitted to the measured one.
#[derive(Debug, Clone, PartialEq)]
pub enum DiskModel {
    /// Servers behind a queue.
    Servers(ServersParameters),
    /// Flash, as [`hardware::SsdPreset::NvmeMqsim`] except for parameters that an array file can
    /// set.
    Ssd(SsdParameters),
    /// Table of measured latencies.
    Table(TableParameters),
}

impl DiskModel {
    /// Adds the disk to an array.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range.
    pub fn add(&self, array: &mut Array, seed: u64) -> Result<PartId, ParameterError> {
        let stream = Stream::derive(seed, &[], Purpose::Device);
        Ok(match self {
            Self::Servers(parameters) => array.add(Servers::new(parameters.clone(), stream)?),
            Self::Ssd(parameters) => array.add(Ssd::new(*parameters, stream)?),
            Self::Table(parameters) => array.add(Table::new(parameters.clone(), stream)?),
        })
    }

    /// Returns the kind of disk, as in array files.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Servers(_) => "servers",
            Self::Ssd(_) => "ssd",
            Self::Table(_) => "table",
        }
    }
}

/// Returns the disk in the form of an array file, with rates in whole bytes per second.
pub fn model_disk(model: &DiskModel) -> Disk {
    match model {
        DiskModel::Servers(disk) => Disk::Servers {
            capacity: disk.capacity,
            servers: disk.servers,
            read: disk.read,
            write: disk.write,
            rate: whole(disk.rate),
            write_rate: Some(whole(disk.write_rate)),
            latency: disk.latency,
            window: disk.window,
            variation: variation(&disk.variation),
        },
        DiskModel::Ssd(disk) => Disk::Ssd {
            like: hardware::SsdPreset::NvmeMqsim.name().to_owned(),
            capacity: Some(disk.capacity),
            dies: Some(disk.dies),
            page: Some(disk.page),
            read: Some(disk.read),
            program: Some(disk.program),
            erase: Some(disk.erase),
            spare: Some(Ratio::new(disk.spare)),
            buffer: Some(disk.buffer),
            command: Some(disk.command),
            rate: Some(whole(disk.rate)),
            latency: Some(disk.latency),
        },
        DiskModel::Table(table) => Disk::Table {
            capacity: table.capacity,
            shares: table.shares.clone(),
            loops: table.loops.iter().map(table_loop).collect(),
        },
    }
}

fn table_loop(found: &hardware::TableLoop) -> TableLoop {
    let hardware::TableLoop { reads, block, depth, read, write } = found.clone();
    TableLoop { reads: Ratio::new(reads), block, depth, read, write }
}

fn variation(found: &hardware::Variation) -> Option<Variation> {
    let hardware::Variation { every, pace, stalls_per_s, stalls } = found.clone();
    let has_stalls = !stalls.is_empty() && stalls_per_s > 0.0;
    (has_stalls || !pace.is_empty()).then(|| Variation {
        every,
        pace,
        stalls: has_stalls.then(|| Rate::per_second(stalls_per_s)),
        stall: stalls,
    })
}

/// Rounds a rate to at least one byte per second, so that the written value can be read again.
fn whole(rate: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    let bytes = rate.round() as u64;
    Bytes::new(bytes.max(1))
}

/// Converts seconds to a time of at least one nanosecond, because service times may not be zero.
pub(super) fn time(seconds: f64) -> Nanos {
    Nanos::from_secs_f64(seconds).max(Nanos(1))
}
