//! Reads disks of virtual machines from QEMU's own counters, over QMP. They show the latency that
//! the guest sees, also for disks that the host's kernel does not see (librbd, libnfs, libiscsi,
//! vhost-user).
//!
//! Source: QEMU's QMP reference, `query-blockstats`, `query-block` and
//! `block-latency-histogram-set` (since 4.0).

use std::collections::{BTreeMap, BTreeSet};
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

use crate::libvirt::{Libvirt, is_uuid};
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
    /// Starts the thread, which ends when this value is dropped. VMs of libvirt are only asked
    /// through a connection to it.
    pub fn start(libvirt: Option<String>) -> Self {
        let (ask, asked) = sync_channel::<()>(1);
        let (send, found) = sync_channel(4);
        // Without a thread there are no such disks; the kernel's events are seen all the same.
        let _ = std::thread::Builder::new().name("qemu".to_owned()).spawn(move || {
            let mut vms = Vms { known: BTreeMap::new(), libvirt: libvirt.map(Libvirt::new) };
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

/// VMs that can be asked.
#[derive(Debug)]
struct Vms {
    /// By process id.
    known: BTreeMap<u32, Vm>,
    libvirt: Option<Libvirt>,
}

/// Way to a VM's QEMU.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    /// Socket of a monitor.
    Monitor(PathBuf),
    /// UUID of the VM in libvirt, which holds the monitor.
    Libvirt(String),
}

#[derive(Debug)]
struct Vm {
    name: Arc<str>,
    way: Way,
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
        self.known.retain(|pid, _| running.iter().any(|own| own.pid == *pid));
        for own in running {
            if self.known.contains_key(&own.pid) {
                continue;
            }
            let command = std::fs::read(format!("/proc/{}/cmdline", own.pid)).unwrap_or_default();
            let way = way(&command, own.uuid).filter(|way| match way {
                Way::Monitor(_) => true,
                Way::Libvirt(_) => self.libvirt.is_some(),
            });
            if let Some(way) = way {
                self.known.insert(own.pid, Vm::new(own.pid, own.name.into(), way));
            }
        }
        let now = Instant::now();
        let mut found = QemuSample::default();
        let (mut answers, hangs) = self.ask_libvirt(now);
        for vm in self.known.values_mut().filter(|vm| !vm.is_silent(now)) {
            let sampled = match (&vm.way, &self.libvirt) {
                (Way::Monitor(path), _) => {
                    Qmp::attach(path, &vm.name, WITHIN).and_then(|mut monitor| {
                        vm.sample(&mut |name, with| monitor.ask(name, with), &mut found)
                    })
                }
                (Way::Libvirt(uuid), Some(libvirt)) => {
                    let uuid = uuid.clone();
                    let Some(statistics) = answers.remove(&uuid) else {
                        vm.silent_until = hangs.contains(&uuid).then(|| now + AGAIN);
                        continue;
                    };
                    let mut statistics = Some(statistics);
                    let mut ask = |name: &str, with: &Value| match statistics.take() {
                        Some(known) => Ok(known),
                        None => libvirt.ask(&uuid, name, with),
                    };
                    vm.sample(&mut ask, &mut found)
                }
                (Way::Libvirt(_), None) => Ok(()),
            };
            vm.silent_until = sampled.is_err().then(|| now + AGAIN);
        }
        found
    }

    /// Asks the VMs of libvirt for their counters. Returns the answers by UUID, and the VMs that
    /// hang.
    fn ask_libvirt(&self, now: Instant) -> (BTreeMap<String, Value>, BTreeSet<String>) {
        let Some(libvirt) = &self.libvirt else { return <_>::default() };
        let asked = self.known.values().filter(|vm| !vm.is_silent(now));
        let uuids = asked.filter_map(|vm| match &vm.way {
            Way::Libvirt(uuid) => Some(uuid.as_str()),
            Way::Monitor(_) => None,
        });
        libvirt.statistics(&uuids.collect::<Vec<_>>())
    }
}

impl Vm {
    fn new(pid: u32, name: Arc<str>, way: Way) -> Self {
        let (before, network) = (BTreeMap::new(), BTreeMap::new());
        Self { name, way, before, pid, network, samples: 0, silent_until: None }
    }

    fn is_silent(&self, now: Instant) -> bool {
        self.silent_until.is_some_and(|until| now < until)
    }

    /// Adds the I/O since the previous sample. A monitor is released afterwards, because it serves
    /// one client at a time, and other programs also need it.
    fn sample(
        &mut self,
        ask: &mut dyn FnMut(&str, &Value) -> Result<Value, VmError>,
        found: &mut QemuSample,
    ) -> Result<(), VmError> {
        let all = ask("query-blockstats", &json!({}))?;
        let disks = || all.as_array().into_iter().flatten();
        let is_new = |disk| names(disk).is_some_and(|(name, _)| !self.before.contains_key(&name));
        if self.samples.is_multiple_of(FILES_EVERY) || disks().any(is_new) {
            let blocks = ask("query-block", &json!({}))?;
            let mounts = std::fs::read_to_string(format!("/proc/{}/mountinfo", self.pid));
            self.network = network_disks(&blocks, &mounts.unwrap_or_default());
        }
        self.samples = self.samples.wrapping_add(1);
        for disk in disks() {
            let Some((name, id)) = names(disk) else { continue };
            let stats = &disk["stats"];
            if stats.get("rd_latency_histogram").is_none() {
                ask("block-latency-histogram-set", &histograms(&id))?;
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
    // libvirt gives its devices names, of which QEMU shows the whole path.
    let short = name.strip_prefix("/machine/peripheral/").unwrap_or(name);
    let short = short.strip_suffix("/virtio-backend").unwrap_or(short);
    Some((short.to_owned(), qdev.unwrap_or(name).to_owned()))
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

/// Finds the way to a QEMU by its command line. A monitor of libvirt is only used through libvirt,
/// which is always connected to it: a client that waits for the monitor could get the connection
/// instead of libvirt.
fn way(command: &[u8], uuid: Option<String>) -> Option<Way> {
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
        // libvirt passes the socket as an open file.
        part(&device, "path").or_else(|| part(&device, "fd").map(|_| "libvirt".to_owned()))
    };
    let path = direct.or_else(by_device)?;
    if path.contains("libvirt") {
        return uuid.filter(|uuid| is_uuid(uuid)).map(Way::Libvirt);
    }
    let path = Path::new(&path);
    path.is_absolute().then(|| Way::Monitor(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monitors_are_found_and_those_of_libvirt_by_the_uuid_of_the_vm() {
        const ID: &str = "d52a8823-afa1-4c51-990f-c430ecf6e298";
        let with =
            |words: &[&str], uuid: &str| way(words.join("\0").as_bytes(), Some(uuid.to_owned()));
        let found = |words: &[&str]| with(words, ID);
        let path = |text: &str| Some(Way::Monitor(PathBuf::from(text)));
        assert_eq!(
            found(&["qemu", "-qmp", "unix:/run/a.qmp,server=on,wait=off"]),
            path("/run/a.qmp")
        );
        let device = "socket,id=qmp,path=/var/run/qemu-server/101.qmp,server=on,wait=off";
        let proxmox = ["kvm", "-chardev", device, "-mon", "chardev=qmp,mode=control"];
        assert_eq!(found(&proxmox), path("/var/run/qemu-server/101.qmp"));
        let libvirt = device.replace("/var/run/qemu-server", "/var/lib/libvirt/qemu");
        let fd = "socket,id=qmp,fd=22,server=on,wait=off";
        for device in [&libvirt, fd] {
            let words = ["qemu", "-chardev", device, "-mon", "chardev=qmp,mode=control"];
            assert_eq!(found(&words), Some(Way::Libvirt(ID.to_owned())));
            assert_eq!(with(&words, "web1; shutdown web2"), None, "it would become a command");
        }
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

    /// Answers like `virsh`: two VMs run, of which the second hangs. Each look at the first has four
    /// more reads, and it has histograms once they were set.
    const VIRSH: &str = r#"#!/bin/sh
cd "${0%/*}" || exit 1
case "$*" in
*block-latency-histogram-set*) touch set; echo '{"return":{}}' ;;
*query-block\"*) echo '{"return":[]}' ;;
*echo*)
    echo x >>looks
    n=$(($(wc -l <looks) * 4))
    [ ! -e set ] || h=",\"rd_latency_histogram\":{\"boundaries\":[1000000],\"bins\":[$n,0]}"
    d='"device":"","qdev":"/machine/peripheral/virtio-disk1/virtio-backend"'
    s="\"rd_total_time_ns\":${n}000,\"rd_bytes\":$((n * 4096)),\"failed_rd_operations\":0"
    printf '%s{"return":[{%s,"stats":{%s%s}}]}\n' "00000000-afa1-4c51-990f-c430ecf6e298" "$d" "$s" "$h"
    echo "00000000-afa1-4c51-990f-c430ecf6e299"
    case "$*" in *e299*) exec sleep 60 ;; esac ;;
esac
"#;

    /// Starts a process with the words of a QEMU that libvirt started. It ends when its standard
    /// input is closed.
    fn like_qemu(name: &str, uuid: &str) -> std::process::Child {
        let words = format!(
            "exec -a qemu-system-x86_64 sh -c 'read -r line; :' x -name guest={name} -uuid {uuid} \
             -chardev socket,id=m,fd=22,server=on -mon chardev=m,mode=control"
        );
        let mut command = std::process::Command::new("bash");
        command.args(["-c", &words]).stdin(std::process::Stdio::piped()).spawn().expect("bash")
    }

    #[test]
    fn vms_of_libvirt_are_asked_through_it() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("a directory");
        let program = place.path().join("virsh");
        std::fs::write(&program, VIRSH).expect("a script");
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("permitted");
        let name = |end: &str| format!("tilemark-test-{}-{end}", std::process::id());
        let vms = [
            like_qemu(&name("web"), "00000000-afa1-4c51-990f-c430ecf6e298"),
            like_qemu(&name("gone"), "00000000-afa1-4c51-990f-c430ecf6e299"),
        ];
        let program = program.display().to_string();
        let libvirt =
            Some(Libvirt::by(program, "qemu:///system".to_owned(), Duration::from_secs(1)));
        let mut all = Vms { known: BTreeMap::new(), libvirt };
        let is_own = |vm: &&Vm| vm.name.starts_with(&name(""));
        let until = Instant::now() + Duration::from_secs(60);
        while all.known.values().filter(is_own).count() < 2 {
            assert!(Instant::now() < until, "the VMs are not found: {all:?}");
            std::thread::sleep(Duration::from_millis(10));
            all.sample();
        }
        (0..3).for_each(|_| drop(all.sample()));
        let found = all.sample();
        let mut own = found.cells.iter().filter(|(key, _)| key.vm.starts_with(&name("")));
        let (key, cell) = own.next().expect("the VM's reads");
        assert!(own.next().is_none(), "{found:?}");
        let disk = format!("{}:virtio-disk1", name("web"));
        assert_eq!((key.vm.to_string(), key.disk.to_string()), (name("web"), disk.clone()));
        assert_eq!((cell.count, cell.bytes, cell.latency_ns), (4, 16_384, 4_000));
        assert!(found.disks.contains(&(disk, None)), "the kernel does not see it: {found:?}");
        let silent = all.known.values().filter(is_own).filter(|vm| vm.silent_until.is_some());
        assert_eq!(silent.count(), 1, "the other is left out");
        for mut vm in vms {
            drop(vm.stdin.take());
            vm.wait().expect("ended");
        }
    }
}
