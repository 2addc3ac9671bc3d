use units::Ratio;

use super::disks::{members, names};
use super::parts::{PARTS_MAX, READ_PAGES, page, some_parts};
use crate::array::{Array, Local, Pool};
use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Maximum size of an element: 1 GiB.
const ELEMENT_MAX: u64 = 1 << 30;

pub(super) fn pools(array: &Array, found: &mut Findings) {
    let root = DefinitionPath::default();
    match (array.pools.is_empty(), &array.local) {
        (true, None) => found.add_help(
            root.key("name"),
            "the array has no disks that hold data",
            "add a [[pool]], or [local] for disks in the hosts",
        ),
        (false, Some(_)) => found.add_help(
            root.at_key("local"),
            "an array has pools or local disks, not both",
            "leave out [local] or every [[pool]]",
        ),
        _ => {}
    }
    let place = root.key("pool");
    let each = array.pools.iter().enumerate();
    found.names("pool", each.map(|(i, pool)| (place.index(i).key("name"), pool.name.as_str())));
    let disks = names(array);
    for (i, each) in array.pools.iter().enumerate() {
        pool(each, &disks, &place.index(i), found);
    }
}

fn pool(pool: &Pool, disks: &[&str], place: &DefinitionPath, found: &mut Findings) {
    found.known(place.key("disk"), "disk", &pool.disk, disks);
    some_parts(place.key("count"), "the number of disks", pool.count, found);
    some_parts(place.key("sets"), "the number of sets", pool.sets, found);
    if pool.count > 0 {
        members(place.key("count"), pool.raid, pool.count, found);
    }
    let all = u64::from(pool.count) * u64::from(pool.sets);
    if all > u64::from(PARTS_MAX) && pool.count.max(pool.sets) <= PARTS_MAX {
        let message =
            format!("{} sets of {} disks are more than {PARTS_MAX}", pool.sets, pool.count);
        found.add(place.key("sets"), message);
    }
    let element = pool.element.get();
    if !((512..=ELEMENT_MAX).contains(&element) && element.is_multiple_of(512)) {
        let message =
            format!("the element {} is not a multiple of 512 B up to 1 GiB", pool.element);
        found.add(place.key("element"), message);
    }
}

pub(super) fn local(array: &Array, found: &mut Findings) {
    let Some(local) = &array.local else { return };
    let root = DefinitionPath::default();
    let place = root.key("local");
    match &array.hosts {
        None => {
            let help = "add [hosts] with count and cores";
            found.add_help(root.at_key("local"), "local disks without hosts", help);
        }
        Some(hosts) if hosts.count > 0 && local.copies > hosts.count => found.add(
            place.key("copies"),
            format!("{} copies need as many hosts, but there are {}", local.copies, hosts.count),
        ),
        Some(_) => {}
    }
    if array.controller.is_some() {
        let help = "leave out [controller]; the hosts' disks have no controller";
        found.add_help(root.at_key("controller"), "local disks have no controller", help);
    }
    parts_of_local(local, &names(array), &place, found);
}

fn parts_of_local(local: &Local, disks: &[&str], place: &DefinitionPath, found: &mut Findings) {
    found.at_least_one(place.key("copies"), "the number of copies", local.copies);
    some_parts(place.key("groups"), "the number of groups", local.groups, found);
    some_parts(place.key("count"), "the number of disks", local.count, found);
    found.known(place.key("cache"), "disk", &local.cache, disks);
    found.known(place.key("disk"), "disk", &local.disk, disks);
    page(place.key("page"), local.page, READ_PAGES, found);
    if local.read_share == Ratio::ONE {
        let help = "the rest of the cache disk buffers writes";
        found.add_help(place.key("read-share"), "the read share must be below 100 %", help);
    }
}

pub(super) fn places(array: &Array, found: &mut Findings) {
    let known: Vec<&str> = array.pools.iter().map(|pool| pool.name.as_str()).collect();
    for (i, rule) in array.places.iter().enumerate() {
        let place = DefinitionPath::default().key("place").index(i);
        found.known(place.key("pool"), "pool", &rule.pool, &known);
        if let Some([rest, divisor]) = rule.tiles
            && rest >= divisor
        {
            let message = format!("no tile number divided by {divisor} has the remainder {rest}");
            let help = "[1, 2] are odd tiles, [0, 2] even ones, [0, 1] all";
            found.add_help(place.key("tiles"), message, help);
        }
    }
}
