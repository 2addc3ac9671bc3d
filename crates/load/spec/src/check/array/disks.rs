use indexmap::IndexMap;
use units::{Bytes, Nanos};

use super::amounts::{no_time, some_bytes};
use crate::array::names::{HDDS, MEMORY, SSDS, ShippedDisk};
use crate::array::{Array, Disk, Raid, Variation, shipped};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Returns the names of the disks that an array may use: its own and the shipped disks.
pub(super) fn names(array: &Array) -> Vec<&str> {
    let shipped = HDDS.iter().chain(&SSDS).map(|disk| disk.name);
    array.disks.keys().map(String::as_str).chain(shipped).collect()
}

/// Checks that the number of disks is valid for the RAID level.
pub(super) fn members(place: DefinitionPath, raid: Raid, count: u32, found: &mut Findings) {
    let (fits, name, allowed) = match raid {
        Raid::Raid0 => (count >= 1, "raid0", "at least 1"),
        Raid::Raid1 => (count >= 2, "raid1", "at least 2"),
        Raid::Raid10 => (count >= 4 && count.is_multiple_of(2), "raid10", "an even number from 4"),
        Raid::Raid5 => (count >= 3, "raid5", "at least 3"),
        Raid::Raid6 => (count >= 4, "raid6", "at least 4"),
    };
    if !fits {
        found.add(place, format!("{name} of {count} disks needs {allowed}"));
    }
}

/// Checks the disks that the array itself defines.
pub(super) fn own(disks: &IndexMap<String, Disk>, place: &DefinitionPath, found: &mut Findings) {
    found.names("disk", disks.keys().map(|name| (place.at_key(name), name.as_str())));
    for (name, disk) in disks {
        if shipped(name).is_some() || name == MEMORY {
            let message = format!("\"{name}\" is the name of something shipped");
            found.add_help(place.at_key(name), message, "give your disk a name of its own");
        }
        let place = place.key(name);
        match disk {
            Disk::Hdd { .. } => hdd(disk, &place.key("hdd"), found),
            Disk::Ssd { .. } => ssd(disk, &place.key("ssd"), found),
            Disk::Servers { .. } => servers(disk, &place.key("servers"), found),
            Disk::Table { .. } => super::table::table(disk, &place.key("table"), found),
        }
    }
}

fn like(
    name: &str,
    shipped: &[ShippedDisk],
    place: &DefinitionPath,
    what: &str,
    found: &mut Findings,
) {
    let known: Vec<&str> = shipped.iter().map(|disk| disk.name).collect();
    found.known(place.key("like"), what, name, &known);
}

fn hdd(disk: &Disk, place: &DefinitionPath, found: &mut Findings) {
    let Disk::Hdd { like: name, capacity, queue, rates, .. } = disk else { return };
    like(name, &HDDS, place, "shipped hdd", found);
    if let Some(capacity) = capacity
        && *capacity < Bytes::MIB
    {
        found.add(
            place.key("capacity"),
            format!("the capacity {capacity} is below 1 MiB, the minimum of a disk"),
        );
    }
    if let Some(queue) = queue {
        found.at_least_one(place.key("queue"), "the queue", *queue);
    }
    if let Some([outer, inner]) = rates
        && !(*inner <= *outer && inner.get() >= 1_000_000 && outer.get() <= 10_000_000_000)
    {
        found.add_help(
            place.key("rates"),
            format!(
                "the rates {outer}/s of the outer tracks and {inner}/s of the inner tracks are \
                not possible"
            ),
            "give the rate of the outer tracks first; it must be at least the inner rate; 1 MB/s \
            to 10 GB/s",
        );
    }
}

/// Maximum number of bytes that are read or programmed at once.
const FLASH_PAGE_MAX: u64 = 1 << 20;

fn ssd(disk: &Disk, place: &DefinitionPath, found: &mut Findings) {
    let Disk::Ssd { like: name, capacity, dies, page, spare, buffer, rate, .. } = disk else {
        return;
    };
    like(name, &SSDS, place, "shipped ssd", found);
    some_bytes(place.key("capacity"), "the capacity", *capacity, found);
    if let Some(dies) = dies
        && !(1..=65_536).contains(dies)
    {
        found.add(place.key("dies"), format!("{dies} dies are not from 1 to 65536"));
    }
    if let Some(page) = page
        && !(page.get() > 0 && page.get() <= FLASH_PAGE_MAX && page.get().is_multiple_of(512))
    {
        let message = format!("the page {page} is not a multiple of 512 B up to 1 MiB");
        found.add(place.key("page"), message);
    }
    if spare.is_some_and(|spare| spare.get() == 0.0) {
        let help = "flash without spare space cannot be garbage-collected";
        found.add_help(place.key("spare"), "the spare is 0 % and must be above 0 %", help);
    }
    some_bytes(place.key("buffer"), "the buffer", *buffer, found);
    some_bytes(place.key("rate"), "the rate", *rate, found);
    flash_times(disk, place, found);
}

fn flash_times(disk: &Disk, place: &DefinitionPath, found: &mut Findings) {
    let Disk::Ssd { read, program, erase, .. } = disk else { return };
    for (key, time) in [("read", read), ("program", program), ("erase", erase)] {
        if *time == Some(Nanos::ZERO) {
            no_time(place.key(key), &format!("the time to {key}"), found);
        }
    }
}

fn servers(disk: &Disk, place: &DefinitionPath, found: &mut Findings) {
    let Disk::Servers {
        capacity, servers, read, write, rate, write_rate, window, variation, ..
    } = disk
    else {
        return;
    };
    if let Some(variation) = variation {
        varies(variation, &place.key("variation"), found);
    }
    some_bytes(place.key("capacity"), "the capacity", Some(*capacity), found);
    found.at_least_one(place.key("servers"), "the number of servers", *servers);
    some_bytes(place.key("rate"), "the rate", Some(*rate), found);
    some_bytes(place.key("write-rate"), "the rate of writes", *write_rate, found);
    some_bytes(place.key("window"), "the window", *window, found);
    for (key, time) in [("read", read), ("write", write)] {
        if *time == Nanos::ZERO {
            no_time(place.key(key), &format!("the time of a {key}"), found);
        }
    }
}

fn varies(variation: &Variation, place: &DefinitionPath, found: &mut Findings) {
    found.some_time(place.key("every"), "the duration of a pace", variation.every);
    for (i, pace) in variation.pace.iter().enumerate() {
        found.above_zero(place.key("pace").index(i), "the pace", *pace);
    }
    for (key, falls) in
        [("pace", !variation.pace.is_sorted()), ("stall", !variation.stall.is_sorted())]
    {
        if falls {
            found.add(place.key(key), "quantiles must ascend");
        }
    }
    if variation.stalls.is_some() && variation.stall.is_empty() {
        let help = "add stall = [...], the quantiles of their length";
        found.add_help(place.key("stalls"), "stalls without a length", help);
    }
}
