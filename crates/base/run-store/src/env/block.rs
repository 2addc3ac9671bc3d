use std::collections::VecDeque;
use std::path::Path;

use super::probe::Probe;
use super::types::{BlockDevice, QueueSettings};

/// Returns the device with this number, the device of which it is a part, and the devices of which
/// it consists.
pub(super) fn tree(probe: &Probe, number: &str) -> Vec<BlockDevice> {
    let link = probe.link_name(format!("/sys/dev/block/{number}"));
    link.as_deref().and_then(name_of).map_or_else(Vec::new, |name| tree_of(probe, name))
}

/// Returns the device with a path such as `/dev/sda1`, the device of which it is a part, and the
/// devices of which it consists.
pub(super) fn tree_of_path(probe: &Probe, source: &str) -> Vec<BlockDevice> {
    let Some(relative) = source.strip_prefix("/dev/") else { return Vec::new() };
    // A path below `/dev/mapper` is a symbolic link to the kernel's name of the device.
    let resolved = probe.link_name(source);
    let name = resolved.as_deref().and_then(name_of).unwrap_or(relative).to_owned();
    tree_of(probe, &name)
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn tree_of(probe: &Probe, name: &str) -> Vec<BlockDevice> {
    let (mut waiting, mut devices) = (VecDeque::from([name.to_owned()]), Vec::new());
    while let Some(name) = waiting.pop_front() {
        let is_known = devices.iter().any(|device: &BlockDevice| device.name == name);
        if is_known || !probe.exists(format!("/sys/class/block/{name}")) {
            continue;
        }
        let device = device(probe, &name);
        waiting.extend(device.partition_of.clone());
        waiting.extend(device.consists_of.iter().cloned());
        devices.push(device);
    }
    devices
}

fn device(probe: &Probe, name: &str) -> BlockDevice {
    let base = format!("/sys/class/block/{name}");
    let value = |path: &str| probe.value(format!("{base}/{path}"));
    let number = |path: &str| probe.number(format!("{base}/{path}"));
    let partition_of = number("partition").and_then(|_| {
        let link = probe.link_name(&base)?;
        name_of(link.parent()?).map(str::to_owned)
    });
    BlockDevice {
        name: name.to_owned(),
        consists_of: probe.names(format!("{base}/slaves")),
        // sysfs counts sectors of 512 bytes, whatever sector size the device has.
        size_bytes: number("size").map(|sectors| sectors * 512),
        vendor: value("device/vendor").filter(|vendor| !vendor.starts_with("0x")),
        model: value("device/model"),
        firmware: value("device/firmware_rev").or_else(|| value("device/rev")),
        temperature_millicelsius: temperature(probe, &base),
        rotational: number("queue/rotational").map(|flag| flag == 1),
        queue: probe.exists(format!("{base}/queue")).then(|| queue(probe, &base)),
        partition_of,
    }
}

fn temperature(probe: &Probe, base: &str) -> Option<i64> {
    let below = |directory: String| {
        let names = probe.names(&directory).into_iter();
        names
            .filter(|name| name.starts_with("hwmon"))
            .find_map(|name| probe.value(format!("{directory}/{name}/temp1_input"))?.parse().ok())
    };
    below(format!("{base}/device")).or_else(|| below(format!("{base}/device/hwmon")))
}

fn queue(probe: &Probe, base: &str) -> QueueSettings {
    let value = |name: &str| probe.value(format!("{base}/queue/{name}"));
    let number = |name: &str| probe.number(format!("{base}/queue/{name}"));
    QueueSettings {
        scheduler: value("scheduler").map(|text| chosen(&text)),
        requests: number("nr_requests"),
        request_bytes_max: number("max_sectors_kb").map(|kib| kib * 1024),
        read_ahead_bytes: number("read_ahead_kb").map(|kib| kib * 1024),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        write_cache: value("write_cache"),
        writeback_throttle_ns: number("wbt_lat_usec").map(|us| us * 1000),
        discard_bytes: number("discard_granularity"),
    }
}

/// Returns the active scheduler: `mq-deadline` for `none [mq-deadline] kyber`.
fn chosen(text: &str) -> String {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    bracketed.map_or(text, |(name, _)| name).to_owned()
}
