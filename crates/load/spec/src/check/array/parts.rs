use std::ops::RangeInclusive;

use units::{Bytes, Nanos, Ratio};

use super::amounts::{no_time, some_bytes};
use crate::array::names::LINKS;
use crate::array::{
    Background, Controller, Drs, Hosts, Link, LunQueue, Pool, ReadMemory, WriteMemory,
};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Maximum number of parts of any kind. A larger number is a typing error, and would exhaust the
/// memory of the host.
pub(super) const PARTS_MAX: u32 = 10_000;

pub(super) fn hosts(hosts: &Hosts, place: &DefinitionPath, found: &mut Findings) {
    some_parts(place.key("count"), "the number of hosts", hosts.count, found);
    some_parts(place.key("cores"), "the number of cores", hosts.cores, found);
    found.above_zero(place.key("speed"), "the speed", hosts.speed);
    if !(1.0..=2.0).contains(&hosts.threads) {
        let message = format!("two threads do {} times the work of one", hosts.threads);
        found.add_help(place.key("threads"), message, "1 to 2; 1.25 to 1.3 are usual");
    }
    if hosts.capacity == Ratio::ZERO {
        found.add(place.key("capacity"), "the capacity is 0 % and must be above 0 %");
    }
    found.some_time(place.key("slice"), "the slice", hosts.slice);
    if let Some(own) = &hosts.thread_queues {
        let place = place.key("thread-queues");
        found.some_time(place.key("rebalance"), "the interval of balancing", own.rebalance);
        found.some_time(place.key("check"), "the interval of checks", own.check);
        if own.co_start > own.co_stop {
            let message =
                format!("virtual CPUs stop at {} and run again at {}", own.co_stop, own.co_start);
            found.add_help(place.key("co-start"), message, "co-start is at most co-stop");
        }
    }
    if let Some(drs) = &hosts.drs {
        balancing(hosts.count, drs, &place.key("drs"), found);
    }
    let Some(migration) = &hosts.migration else { return };
    let place = place.key("migration");
    some_bytes(place.key("memory"), "the memory of a CPU", Some(migration.memory), found);
    for (key, bytes) in [("memory", migration.memory), ("dirtied", migration.dirtied)] {
        if bytes > CPU_MEMORY_MAX {
            found.add(place.key(key), format!("{bytes} for a CPU are above {CPU_MEMORY_MAX}"));
        }
    }
}

/// Maximum memory of a virtual CPU. Our choice: far above every host's, and far from an overflow.
const CPU_MEMORY_MAX: Bytes = Bytes::new(1 << 40);

fn balancing(hosts: u32, drs: &Drs, place: &DefinitionPath, found: &mut Findings) {
    if !(1..=5).contains(&drs.threshold) {
        let message = format!("the migration threshold is {}", drs.threshold);
        found.add_help(place.key("threshold"), message, "1 (conservative) to 5 (aggressive)");
    }
    found.some_time(place.key("every"), "the time between two decisions", drs.every);
    if hosts < 2 {
        let message = format!("nothing can move between {hosts} hosts");
        found.add_help(place.clone(), message, "set count to 2 or more, or leave drs out");
    }
}

pub(super) fn lun_queue(queue: &LunQueue, place: &DefinitionPath, found: &mut Findings) {
    found.at_least_one(place.key("depth"), "the depth", queue.depth);
    let Some(shared) = queue.shared else { return };
    found.at_least_one(place.key("shared"), "the shared depth", shared);
    if shared > queue.depth {
        let message = format!("the shared depth {shared} is above the depth {}", queue.depth);
        let help = "several disks together get no more than one alone";
        found.add_help(place.key("shared"), message, help);
    }
}

pub(super) fn link(link: &Link, place: &DefinitionPath, found: &mut Findings) {
    match &link.kind {
        Some(kind) => found.known(place.key("kind"), "shipped link", kind, &LINKS),
        None if link.rate.is_none() => found.add_help(
            place.clone(),
            "the link has neither a kind nor a rate",
            format!("add rate = \"...\" or kind = one of {}", LINKS.join(", ")),
        ),
        None => {}
    }
    some_bytes(place.key("rate"), "the rate", link.rate, found);
    some_parts(place.key("count"), "the number of connections", link.count, found);
    if let Some(frame) = link.frame {
        let kind = link.kind.as_deref().unwrap_or("");
        if !frames_of(kind).is_some_and(|sizes| sizes.contains(&frame.get())) {
            let message =
                format!("a frame of {frame} is not possible on a link of kind \"{kind}\"");
            found.add_help(place.key("frame"), message, FRAMES);
        }
    }
    if link.header > HEADER_MAX {
        let message = format!("the header of an I/O is {}", link.header);
        found.add_help(place.key("header"), message, "at most 64 KiB");
    }
}

const HEADER_MAX: Bytes = Bytes::new(64 << 10);
const FRAMES: &str = "ethernet-*: 576 B (RFC 791) to 9216 B; fc-*: 256 B to 2112 B (FC-FS); \
                      nvme-*: 128 B to 4096 B (PCIe); no other link has frames";

/// Returns the valid frame sizes for a kind of link, in bytes; `None` for an unknown kind.
fn frames_of(kind: &str) -> Option<RangeInclusive<u64>> {
    match kind.split('-').next() {
        Some("ethernet") => Some(576..=9216),
        Some("fc") => Some(256..=2112),
        Some("nvme") => Some(128..=4096),
        _ => None,
    }
}

pub(super) fn controller(
    controller: &Controller,
    pools: &[Pool],
    place: &DefinitionPath,
    found: &mut Findings,
) {
    if let Some(processors) = controller.processors {
        some_parts(place.key("processors"), "the number of processors", processors, found);
    }
    if controller.memory_first && controller.memory_for_tiers {
        found.add_help(
            place.key("memory-for-tiers"),
            "memory in front of the tiers holds their data already",
            "leave out memory-first or memory-for-tiers",
        );
    }
    if let Some(memory) = &controller.write_memory {
        write_memory(memory, pools, &place.key("write-memory"), found);
    }
    if let Some(memory) = &controller.read_memory {
        read_memory(memory, &place.key("read-memory"), found);
    }
}

pub(super) fn background(background: &Background, place: &DefinitionPath, found: &mut Findings) {
    let Background { least, most, slow } = *background;
    some_parts(place.key("most"), "the number of background I/Os", most, found);
    found.at_least_one(place.key("least"), "the least of each class", least);
    if least > most {
        let message = format!("{least} I/Os of a class are more than {most} of all");
        found.add_help(place.key("least"), message, "at most `most`");
    }
    found.some_time(place.key("slow"), "the response time", slow);
}

/// Minimum and maximum page size of a controller's write memory.
const WRITE_PAGES: (Bytes, Bytes) = (Bytes::new(512), Bytes::new(64 << 10));

fn write_memory(
    memory: &WriteMemory,
    pools: &[Pool],
    place: &DefinitionPath,
    found: &mut Findings,
) {
    page(place.key("page"), memory.page, WRITE_PAGES, found);
    if memory.low > memory.high || memory.low == Ratio::ZERO {
        found.add_help(
            place.key("low"),
            format!("destaging ends at {} and starts at {}", memory.low, memory.high),
            "low must be above 0 % and not above high",
        );
    }
    if memory.hit == Nanos::ZERO {
        no_time(place.key("hit"), "the time to answer", found);
    }
    found.at_least_one(place.key("flush-depth"), "the flush depth", memory.flush_depth);
    let room = if memory.mirrored { memory.size.get() / 2 } else { memory.size.get() };
    for (i, pool) in pools.iter().enumerate() {
        element(memory, pool, i, found);
        if room < pool.element.get() {
            let message = format!(
                "the memory has room for {}, less than one element ({}) of pool \"{}\"",
                Bytes::new(room),
                pool.element,
                pool.name
            );
            found.add(place.key("size"), message);
            return;
        }
    }
}

/// Checks the element size of a pool. Destaging writes the dirty pages of an element together, so
/// an element must consist of whole pages.
fn element(memory: &WriteMemory, pool: &Pool, number: usize, found: &mut Findings) {
    let (element, page) = (pool.element.get(), memory.page.get());
    if page == 0 || element == 0 || (element.is_multiple_of(page) && element / page <= 64) {
        return;
    }
    found.add_help(
        DefinitionPath::default().key("pool").index(number).key("element"),
        format!(
            "the element {} does not match write memory with {} pages",
            pool.element, memory.page
        ),
        "an element must be 1 to 64 of controller.write-memory's pages",
    );
}

/// Minimum and maximum page size of read memory and of tiers.
pub(super) const READ_PAGES: (Bytes, Bytes) = (Bytes::new(4096), Bytes::MIB);

fn read_memory(memory: &ReadMemory, place: &DefinitionPath, found: &mut Findings) {
    page(place.key("page"), memory.page, READ_PAGES, found);
    holds_a_page(place.key("size"), "read memory", (memory.size, memory.page), found);
    if memory.hit == Nanos::ZERO {
        no_time(place.key("hit"), "the time to answer", found);
    }
}

/// Maximum number of pages of a cache. The crate `cache` numbers pages with 28 bits.
const PAGES_MAX: u64 = 1 << 28;

/// Checks that a size is at least one page and at most the maximum number of pages.
pub(super) fn holds_a_page(
    place: DefinitionPath,
    what: &str,
    size: (Bytes, Bytes),
    found: &mut Findings,
) {
    let (size, page) = size;
    if size < page {
        found.add(place, format!("{what} of {size} does not hold a page of {page}"));
    } else if page.get() > 0 && size.get() / page.get() > PAGES_MAX {
        let message = format!("{what} of {size} has more than 2^28 pages of {page}");
        found.add_help(place, message, "take larger pages");
    }
}

/// Checks that a page size is a power of two within limits.
pub(super) fn page(
    place: DefinitionPath,
    page: Bytes,
    limits: (Bytes, Bytes),
    found: &mut Findings,
) {
    let (least, most) = limits;
    if page >= least && page <= most && page.get().is_power_of_two() {
        return;
    }
    // Block sizes are multiples of 512 B and nearly always powers of two, so any other page fits
    // none.
    let message = if page.get().is_power_of_two() {
        format!("the page {page} is not from {least} to {most}")
    } else {
        format!("the page {page} fits no block size: it is not a power of two")
    };
    found.add_help(place, message, format!("a power of two from {least} to {most}"));
}

/// Checks that a number of parts is from 1 to [`PARTS_MAX`].
pub(super) fn some_parts(place: DefinitionPath, what: &str, count: u32, found: &mut Findings) {
    if count == 0 {
        found.at_least_one(place, what, count);
    } else if count > PARTS_MAX {
        found.add(place, format!("{what} is {count} and must be at most {PARTS_MAX}"));
    }
}
