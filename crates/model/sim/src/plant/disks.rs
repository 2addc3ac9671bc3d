use hardware::{
    Array, Hdd, HddParameters, HddPreset, Order, PartId, Servers, ServersParameters, Ssd,
    SsdParameters, SsdPreset, Table, TableLoop, TableParameters,
};
use spec::array::{self, Disk, DiskOrder};
use state_machine::{Purpose, Stream};
use units::{Bytes, Nanos};

use super::plan::PlantError;

/// Model of a disk, ready to be built.
#[derive(Debug, Clone)]
pub enum DiskModel {
    Hdd(HddParameters),
    Ssd(SsdParameters),
    Servers(ServersParameters),
    Table(TableParameters),
}

impl DiskModel {
    /// Finds a disk by name: a disk of the array, or a shipped one.
    pub fn find(array: &spec::array::Array, name: &str) -> Result<Self, PlantError> {
        match array.disks.get(name) {
            Some(disk) => Self::changed(array, name, disk),
            None => Self::shipped(array, name),
        }
    }

    fn shipped(array: &spec::array::Array, name: &str) -> Result<Self, PlantError> {
        let hdd = HddPreset::ALL.iter().find(|preset| preset.name() == name);
        let ssd = SsdPreset::ALL.iter().find(|preset| preset.name() == name);
        let hdd = hdd.map(|preset| Self::Hdd(preset.parameters()));
        let found = hdd.or_else(|| ssd.map(|preset| Self::Ssd(preset.parameters())));
        found.ok_or_else(|| unknown(array, "disk", name))
    }

    fn changed(array: &spec::array::Array, name: &str, disk: &Disk) -> Result<Self, PlantError> {
        match disk {
            Disk::Hdd { like, capacity, queue, order, age_max, rates } => {
                let Self::Hdd(mut hdd) = Self::shipped(array, like)? else {
                    return Err(unknown(array, "hard disk", like));
                };
                hdd.capacity = capacity.unwrap_or(hdd.capacity);
                hdd.queue = queue.unwrap_or(hdd.queue);
                hdd.order = order.map_or(hdd.order, order_of);
                hdd.age_max = age_max.unwrap_or(hdd.age_max);
                if let Some([outer, inner]) = rates {
                    (hdd.rate_outer, hdd.rate_inner) = (outer.as_f64(), inner.as_f64());
                }
                Ok(Self::Hdd(hdd))
            }
            Disk::Ssd { like, .. } => {
                let Self::Ssd(ssd) = Self::shipped(array, like)? else {
                    return Err(unknown(array, "solid-state disk", like));
                };
                Ok(Self::Ssd(changed_ssd(ssd, disk)))
            }
            Disk::Servers { .. } => servers(name, disk).map(Self::Servers),
            Disk::Table { capacity, shares, loops } => {
                Ok(Self::Table(table(*capacity, shares, loops)))
            }
        }
    }

    /// Returns the usable size of the disk.
    pub fn capacity(&self) -> Bytes {
        match self {
            Self::Hdd(hdd) => hdd.capacity,
            Self::Ssd(ssd) => ssd.capacity,
            Self::Servers(servers) => servers.capacity,
            Self::Table(table) => table.capacity,
        }
    }

    /// Adds a disk to the array; `number` distinguishes the random streams of disks.
    pub fn add(
        &self,
        parts: &mut Array,
        of: &str,
        (seed, number): (u64, u64),
    ) -> Result<PartId, PlantError> {
        let parameter = PlantError::parameter(of);
        let stream = Stream::derive(seed, &[number], Purpose::Device);
        match *self {
            Self::Hdd(hdd) => Hdd::new(hdd).map(|part| parts.add(part)),
            Self::Ssd(ssd) => Ssd::new(ssd, stream).map(|part| parts.add(part)),
            Self::Servers(ref servers) => {
                Servers::new(servers.clone(), stream).map(|part| parts.add(part))
            }
            Self::Table(ref table) => Table::new(table.clone(), stream).map(|part| parts.add(part)),
        }
        .map_err(parameter)
    }
}

const fn order_of(order: DiskOrder) -> Order {
    match order {
        DiskOrder::Arrival => Order::Fifo,
        DiskOrder::Seek => Order::ShortestSeek,
        DiskOrder::Positioning => Order::ShortestPositioning,
    }
}

fn changed_ssd(mut ssd: SsdParameters, changes: &Disk) -> SsdParameters {
    let Disk::Ssd {
        like: _,
        capacity,
        dies,
        page,
        read,
        program,
        erase,
        spare,
        buffer,
        command,
        rate,
        latency,
    } = changes
    else {
        return ssd;
    };
    ssd.capacity = capacity.unwrap_or(ssd.capacity);
    ssd.dies = dies.unwrap_or(ssd.dies);
    ssd.page = page.unwrap_or(ssd.page);
    ssd.read = read.unwrap_or(ssd.read);
    ssd.program = program.unwrap_or(ssd.program);
    ssd.erase = erase.unwrap_or(ssd.erase);
    ssd.spare = spare.map_or(ssd.spare, units::Ratio::get);
    ssd.buffer = buffer.unwrap_or(ssd.buffer);
    ssd.command = command.unwrap_or(ssd.command);
    ssd.rate = rate.map_or(ssd.rate, Bytes::as_f64);
    ssd.latency = latency.unwrap_or(ssd.latency);
    ssd
}

/// Returns the parameters of a disk modelled as servers.
fn servers(name: &str, disk: &Disk) -> Result<ServersParameters, PlantError> {
    // A disk that answers 4 KiB in no time is refused: a closed loop on it would never let time
    // pass.
    let Disk::Servers {
        capacity,
        servers,
        read,
        write,
        rate,
        write_rate,
        latency,
        window,
        variation,
    } = disk
    else {
        return Err(PlantError::ZeroService { disk: name.to_owned() });
    };
    let (rate, write_rate) = (rate.as_f64(), write_rate.unwrap_or(*rate).as_f64());
    let passing = Nanos::from_secs_f64(4096.0 / rate.max(write_rate).max(1.0));
    if read.min(write).saturating_add(passing).saturating_add(*latency) == Nanos::ZERO {
        return Err(PlantError::ZeroService { disk: name.to_owned() });
    }
    let (read, write) = (*read, *write);
    let (capacity, servers, latency, window) = (*capacity, *servers, *latency, *window);
    let variation = variation.as_ref().map(|variation| hardware::Variation {
        every: variation.every,
        pace: variation.pace.clone(),
        stalls_per_s: variation.stalls.map_or(0.0, units::Rate::get),
        stalls: variation.stall.clone(),
    });
    let variation = variation.unwrap_or_default();
    Ok(ServersParameters {
        capacity,
        servers,
        read,
        write,
        rate,
        write_rate,
        latency,
        window,
        variation,
    })
}

fn table(capacity: Bytes, shares: &[f64], loops: &[array::TableLoop]) -> TableParameters {
    let measured = |each: &array::TableLoop| TableLoop {
        reads: each.reads.get(),
        block: each.block,
        depth: each.depth,
        read: each.read.clone(),
        write: each.write.clone(),
    };
    TableParameters {
        capacity,
        shares: shares.to_vec(),
        loops: loops.iter().map(measured).collect(),
    }
}

pub fn unknown(array: &spec::array::Array, what: &'static str, name: &str) -> PlantError {
    PlantError::Unknown { array: array.name.clone(), what, name: name.to_owned() }
}
