//! Reads disks of virtual machines from QEMU's own counters, over QMP. They show the latency that
//! the guest sees, also for disks that the host's kernel does not see (librbd, libnfs, libiscsi,
//! vhost-user).
//!
//! Source: QEMU's QMP reference, `query-blockstats`, `query-block` and
//! `block-latency-histogram-set` (since 4.0).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use capture::running_vms;
use run_store::slice::Direction;
use serde_json::{Value, json};
use units::Nanos;
use vm::{Qmp, VmError};
use watch::{Cell, IN_QEMU, Key, Latencies};

use crate::network_files::{NetworkFiles, network_files};

/// Longest wait for an answer from a monitor.
const WITHIN: Duration = Duration::from_millis(500);
/// Time after which a VM that did not answer is asked again.
const AGAIN: Duration = Duration::from_secs(600);
/// Longest time that the thread which reads the kernel's buffers waits for the counters.
const PATIENCE: Duration = Duration::from_millis(30);
/// Number of boundaries of latencies: four for each doubling, from 16 us to 17 s.
const BOUNDARIES: i32 = 80;
/// Directions with QEMU's prefix for their counters.
const WAYS: [(Direction, &str); 3] =
    [(Direction::Read, "rd"), (Direction::Write, "wr"), (Direction::Flush, "flush")];

/// Number of samples after which the files of disks are queried again, because disks move while a
/// VM runs.
const FILES_EVERY: u32 = 60;

/// I/O of VMs since the previous sample.
#[derive(Debug, Default)]
pub(crate) struct QemuSample {
    pub cells: Vec<(Key, Cell)>,
    /// Disks that the host's kernel does not see, with their identities.
    pub disks: Vec<(String, Option<String>)>,
}

/// Reads the counters on a thread of its own, because a VM may not answer.
#[derive(Debug)]
pub(crate) struct QemuDisks {
    ask: SyncSender<()>,
    found: Receiver<QemuSample>,
}

impl QemuDisks {
    /// Starts the thread, which ends when this value is dropped.
    pub fn start() -> Self {
        let (ask, asked) = sync_channel::<()>(1);
        let (send, found) = sync_channel(4);
        // Without a thread there are no such disks; the kernel's events are seen all the same.
        let _ = std::thread::Builder::new().name("qemu".to_owned()).spawn(move || {
            let mut vms = Vms::default();
            for () in asked {
                if send.send(vms.sample()).is_err() {
                    return;
                }
            }
        });
        Self { ask, found }
    }

    /// Returns the I/O since the previous call. Data that is not available within some milliseconds
    /// comes with a later call. The list of disks is from the last sample.
    pub fn take(&self) -> Option<QemuSample> {
        // A sample that is still going on is not asked for again.
        let _ = self.ask.try_send(());
        let mut all: Option<QemuSample> = None;
        let until = Instant::now() + PATIENCE;
        while let Ok(found) =
            self.found.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            let before = all.replace(found);
            all.iter_mut()
                .for_each(|all| all.cells.extend(before.iter().flat_map(|own| own.cells.clone())));
        }
        all
    }
}

/// VMs, by process id.
#[derive(Debug, Default)]
struct Vms(BTreeMap<u32, Vm>);

#[derive(Debug)]
struct Vm {
    name: Arc<str>,
    monitor: PathBuf,
    /// Counters of the previous sample, by disk.
    before: BTreeMap<String, Value>,
    pid: u32,
    /// Disks on network file systems.
    network: BTreeMap<String, NetworkFiles>,
    samples: u32,
    silent_until: Option<Instant>,
}

impl Vms {
    fn sample(&mut self) -> QemuSample {
        let running = running_vms();
        self.0.retain(|pid, _| running.iter().any(|own| own.pid == *pid));
        for own in running {
            if self.0.contains_key(&own.pid) {
                continue;
            }
            let command = std::fs::read(format!("/proc/{}/cmdline", own.pid)).unwrap_or_default();
            if let Some(monitor) = monitor(&command) {
                self.0.insert(own.pid, Vm::new(own.pid, own.name.into(), monitor));
            }
        }
        let mut found = QemuSample::default();
        for vm in self.0.values_mut() {
            if vm.silent_until.is_some_and(|until| Instant::now() < until) {
                continue;
            }
            vm.silent_until = match vm.sample(&mut found) {
                Ok(()) => None,
                Err(_) => Some(Instant::now() + AGAIN),
            };
        }
        found
    }
}

impl Vm {
    fn new(pid: u32, name: Arc<str>, monitor: PathBuf) -> Self {
        let (before, network) = (BTreeMap::new(), BTreeMap::new());
        Self { name, monitor, before, pid, network, samples: 0, silent_until: None }
    }

    /// Adds the I/O since the previous sample. The monitor is released afterwards, because it
    /// serves one client at a time, and other programs also need it.
    fn sample(&mut self, found: &mut QemuSample) -> Result<(), VmError> {
        let mut monitor = Qmp::attach(&self.monitor, &self.name, WITHIN)?;
        let all = monitor.ask("query-blockstats", &json!({}))?;
        let disks = || all.as_array().into_iter().flatten();
        let is_new = |disk| names(disk).is_some_and(|(name, _)| !self.before.contains_key(&name));
        if self.samples.is_multiple_of(FILES_EVERY) || disks().any(is_new) {
            let blocks = monitor.ask("query-block", &json!({}))?;
            let mounts = std::fs::read_to_string(format!("/proc/{}/mountinfo", self.pid));
            self.network = network_disks(&blocks, &mounts.unwrap_or_default());
        }
        self.samples = self.samples.wrapping_add(1);
        for disk in disks() {
            let Some((name, id)) = names(disk) else { continue };
            let stats = &disk["stats"];
            if stats.get("rd_latency_histogram").is_none() {
                monitor.ask("block-latency-histogram-set", &histograms(&id))?;
                // Counts from now on; those before have no histogram.
                self.before.remove(&name);
                continue;
            }
            if let Some(before) = self.before.get(&name) {
                let network = self.network.get(&name);
                let is_seen = network.is_none() && is_seen_by_kernel(disk);
                let end = if is_seen { IN_QEMU } else { "" };
                // A name of its own: "virtio0" of two VMs is no disk that they share.
                let disk: Arc<str> = format!("{}:{name}{end}", self.name).into();
                if !is_seen {
                    let identity = network.and_then(|own| own.identity.clone());
                    found.disks.push((disk.to_string(), identity));
                }
                for (direction, prefix) in WAYS {
                    if let Some(cell) = cell(before, stats, prefix) {
                        let (vm, disk) = (Arc::clone(&self.name), Arc::clone(&disk));
                        let key = Key { vm, disk, direction, class: None, is_below: false };
                        found.cells.push((key, cell));
                    }
                }
            }
            self.before.insert(name, stats.clone());
        }
        Ok(())
    }
}

/// Returns the name of a disk for people, and the name for commands. `None` if no guest device uses
/// the disk.
fn names(disk: &Value) -> Option<(String, String)> {
    let text = |key: &str| disk.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let qdev = text("qdev");
    let name = text("device").or(qdev).or_else(|| text("node-name"))?;
    Some((name.to_owned(), qdev.unwrap_or(name).to_owned()))
}

/// Finds the disks on network file systems, in an answer of `query-block`.
fn network_disks(blocks: &Value, mountinfo: &str) -> BTreeMap<String, NetworkFiles> {
    let disk = |disk: &Value| {
        let (name, _) = names(disk)?;
        let path = file_of(disk.pointer("/inserted/file")?.as_str()?)?;
        Some((name, network_files(mountinfo, Path::new(&path))?))
    };
    blocks.as_array().into_iter().flatten().filter_map(disk).collect()
}

/// Returns the path of a disk's file; `None` if it is not a file. QEMU reports settings that do not
/// fit into a name as JSON.
fn file_of(file: &str) -> Option<String> {
    let Some(json) = file.strip_prefix("json:") else {
        let path = file.strip_prefix("file:").unwrap_or(file);
        return path.starts_with('/').then(|| path.to_owned());
    };
    let json: Value = serde_json::from_str(json).ok()?;
    let names = ["/filename", "/file/filename", "/file/file/filename"];
    let name = names.into_iter().find_map(|name| json.pointer(name)?.as_str())?;
    name.starts_with('/').then(|| name.to_owned())
}

/// Returns true for a disk that is a file or block device of this host. Only these drivers have
/// statistics of their own (`BlockStatsSpecific`); librbd, libnfs and libiscsi have none.
fn is_seen_by_kernel(disk: &Value) -> bool {
    let driver = disk.pointer("/parent/driver-specific/driver").and_then(Value::as_str);
    matches!(driver, Some("file" | "host_device"))
}

/// Returns the arguments of `block-latency-histogram-set`.
fn histograms(id: &str) -> Value {
    json!({ "id": id, "boundaries": boundaries() })
}

fn boundaries() -> Vec<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to 17 s")]
    let at = |place: i32| (16_000.0 * 2_f64.powf(f64::from(place) / 4.0)).round() as u64;
    (0..BOUNDARIES).map(at).collect()
}

/// Calculates the I/O between two samples; `None` if there is none, or if the counters restarted.
fn cell(before: &Value, now: &Value, prefix: &str) -> Option<Cell> {
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
    let since = |key: &str| number(now, key).checked_sub(number(before, key));
    let latency_ns = since(&format!("{prefix}_total_time_ns"))?;
    let bytes = since(&format!("{prefix}_bytes"))?;
    let errors = since(&format!("failed_{prefix}_operations"))?;
    let key = format!("{prefix}_latency_histogram");
    let (before, now) = (before.get(&key)?, now.get(&key)?);
    let list = |of: &Value, name: &str| -> Option<Vec<u64>> {
        of.get(name)?.as_array()?.iter().map(Value::as_u64).collect()
    };
    // Others may have set histograms of their own, or set them anew meanwhile.
    let boundaries = list(now, "boundaries")?;
    let (before, now) = match list(before, "boundaries")? {
        same if same == boundaries => (list(before, "bins")?, list(now, "bins")?),
        _ => return None,
    };
    let counts = now.iter().zip(&before).enumerate().map(|(place, (now, before))| {
        let count = u32::try_from(now.checked_sub(*before)?).unwrap_or(u32::MAX);
        Some((upper_edge(&boundaries, place), count))
    });
    let latencies: Latencies = counts.collect::<Option<Vec<_>>>()?.into_iter().collect();
    let count = latencies.count();
    let cell = Cell { count, errors, bytes, latency_ns, latencies, ..Cell::default() };
    (count > 0 || errors > 0).then_some(cell)
}

/// Returns the longest latency of a bin. The last bin has no end, so twice its begin is used.
fn upper_edge(boundaries: &[u64], place: usize) -> Nanos {
    let edge = boundaries.get(place).map(|edge| edge.saturating_sub(1));
    Nanos(edge.unwrap_or_else(|| boundaries.last().map_or(0, |last| last.saturating_mul(2))))
}

/// Finds the socket of a monitor on a command line. A monitor of libvirt is left alone: libvirt is
/// always connected to it, and a client that waits for it could get the connection instead of
/// libvirt.
fn monitor(command: &[u8]) -> Option<PathBuf> {
    let words: Vec<String> = command
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let values = |option: &str| {
        let is_it = move |pair: &&[String]| {
            pair[0].starts_with('-') && pair[0].trim_start_matches('-') == option
        };
        words.windows(2).filter(is_it).map(|pair| pair[1].clone()).collect::<Vec<_>>()
    };
    let part = |list: &str, key: &str| {
        list.split(',')
            .find_map(|part| part.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
    };
    let direct = values("qmp")
        .into_iter()
        .find_map(|value| value.strip_prefix("unix:")?.split(',').next().map(str::to_owned));
    let by_device = || {
        let control = values("mon")
            .into_iter()
            .find(|value| part(value, "mode").as_deref() == Some("control"))?;
        let id = part(&control, "chardev")?;
        let device = values("chardev")
            .into_iter()
            .find(|value| part(value, "id").as_deref() == Some(&*id))?;
        part(&device, "path")
    };
    let path = direct.or_else(by_device)?;
    let is_held = path.contains("libvirt");
    let path = Path::new(&path);
    (path.is_absolute() && !is_held).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_found_and_those_of_libvirt_are_left_alone() {
        let found = |words: &[&str]| monitor(words.join("\0").as_bytes());
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            found(&["qemu", "-qmp", "unix:/run/a.qmp,server=on,wait=off"]),
            path("/run/a.qmp")
        );
        let device = "socket,id=qmp,path=/var/run/qemu-server/101.qmp,server=on,wait=off";
        let proxmox = ["kvm", "-chardev", device, "-mon", "chardev=qmp,mode=control"];
        assert_eq!(found(&proxmox), path("/var/run/qemu-server/101.qmp"));
        let libvirt = device.replace("/var/run/qemu-server", "/var/lib/libvirt/qemu");
        assert_eq!(
            found(&["qemu", "-chardev", &libvirt, "-mon", "chardev=qmp,mode=control"]),
            None
        );
        assert_eq!(found(&["qemu", "-monitor", "stdio"]), None);
    }

    #[test]
    fn disks_on_network_file_systems_are_found_by_their_files() {
        let mounts = "37 36 0:50 / /mnt/nas rw - nfs4 nas:/vms rw\n";
        let block =
            |device: &str, file: &str| json!({ "device": device, "inserted": { "file": file } });
        let blocks = json!([
            block("virtio0", "/mnt/nas/101/a.raw"),
            block("virtio1", r#"json:{"driver": "qcow2", "file": {"driver": "file", "filename": "/mnt/nas/b"}}"#),
            block("virtio2", "/var/lib/a.raw"),
            block("virtio3", "rbd:pool/image"),
            { "device": "ide2", "removable": true },
        ]);
        let found = network_disks(&blocks, mounts);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["virtio0", "virtio1"]);
        assert_eq!(found["virtio1"].identity.as_deref(), Some("nfs.nas:/vms"));
    }

    #[test]
    fn histograms_of_others_have_their_own_boundaries() {
        let stats = |count: u64, boundaries: &[u64]| {
            json!({
                "rd_total_time_ns": count, "rd_bytes": count,
                "rd_latency_histogram": { "boundaries": boundaries, "bins": [0, count, 0] },
            })
        };
        let edges = [1_000_000, 50_000_000];
        let found = cell(&stats(1, &edges), &stats(9, &edges), "rd").expect("I/O");
        let longest = found.latencies.buckets().last().expect("a bucket").0;
        assert!(longest >= Nanos(49_999_999) && longest < Nanos(57_000_000), "{longest}");
        assert_eq!(cell(&stats(1, &edges), &stats(9, &[1, 2]), "rd"), None, "set anew meanwhile");
    }

    #[test]
    fn counters_become_a_cell_and_a_restart_none() {
        let stats = |count: u64| {
            let mut bins = vec![0; 81];
            (bins[0], bins[24], bins[80]) = (count, 2 * count, 1);
            json!({
                "rd_total_time_ns": 1000 * count, "rd_bytes": 4096 * count,
                "failed_rd_operations": count / 10,
                "rd_latency_histogram": { "boundaries": boundaries(), "bins": bins },
            })
        };
        let found = cell(&stats(10), &stats(30), "rd").expect("I/O");
        assert_eq!(
            (found.count, found.errors, found.bytes, found.latency_ns),
            (60, 2, 81_920, 20_000)
        );
        let buckets: Vec<_> = found.latencies.buckets().map(|(_, count)| count).collect();
        assert_eq!(buckets, [20, 40]);
        assert_eq!(found.queue_ns, None);
        assert_eq!(cell(&stats(30), &stats(10), "rd"), None, "counters that began anew");
        assert_eq!(cell(&stats(10), &stats(10), "rd"), None);
        assert_eq!(upper_edge(&boundaries(), 80), Nanos(2 * boundaries()[79]));
    }
}
