use super::{disks, parts, power, storage, tiers};
use crate::array::Array;
use crate::check::finding::{Finding, Findings};
use crate::locate::DefinitionPath;

/// Finds all semantic errors in an array.
pub(crate) fn array_findings(array: &Array) -> Vec<Finding> {
    let mut found = Findings::default();
    let root = DefinitionPath::default();
    found.says_something(root.key("name"), "the name", &array.name);
    found.says_something(root.key("title"), "the title", &array.title);
    found.says_something(root.key("source"), "the source", &array.source);
    if let Some(hosts) = &array.hosts {
        parts::hosts(hosts, &root.key("hosts"), &mut found);
        power::hosts(hosts, &root.key("hosts"), &mut found);
    }
    if let Some(queue) = &array.lun_queue {
        parts::lun_queue(queue, &root.key("lun-queue"), &mut found);
    }
    if let Some(link) = &array.link {
        parts::link(link, &root.key("link"), &mut found);
    }
    if let Some(controller) = &array.controller {
        parts::controller(controller, &array.pools, &root.key("controller"), &mut found);
    }
    if let Some(background) = &array.background {
        parts::background(background, &root.key("background"), &mut found);
    }
    disks::own(&array.disks, &root.key("disk"), &mut found);
    storage::pools(array, &mut found);
    storage::local(array, &mut found);
    storage::places(array, &mut found);
    tiers::tiers(array, &mut found);
    power::storage(array, &mut found);
    found.into_vec()
}
