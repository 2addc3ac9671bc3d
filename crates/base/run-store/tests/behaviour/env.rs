use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use tilemark_run_store::env::{self, Environment};
use tilemark_run_store::run::ToolFacts;

fn tool() -> ToolFacts {
    ToolFacts { version: "0.1.0".to_owned(), commit: None }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
    fs::write(path, text).expect("writes");
}

/// Makes the files of a host with one partitioned disk that holds `target`.
fn machine(root: &Path, target: &Path) {
    let device = fs::metadata(target).expect("metadata").dev();
    // This is the kernel's encoding; the code under test must agree with it.
    let number = format!("{}:{}", device >> 8 & 0xfff, device & 0xff);
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.9\n"),
        ("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 13\"\n"),
        ("proc/cpuinfo", "model name\t: Fast 9000\nflags\t\t: fpu hypervisor\n"),
        ("proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n"),
        ("proc/loadavg", "0.50 1.00 1.50 1/99 7\n"),
        ("proc/self/cgroup", "0::/a/b\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/a/memory.max", "max\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/memory.max", "1048576\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
        ("sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_id", "0\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpufreq/other", "1\n"),
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("sys/devices/pci/sda/sda1/partition", "1\n"),
        ("sys/devices/pci/sda/sda1/size", "2048\n"),
        ("sys/devices/pci/sda/queue/rotational", "1\n"),
        ("sys/devices/pci/sda/queue/scheduler", "none [mq-deadline] kyber\n"),
        ("sys/devices/pci/sda/queue/max_sectors_kb", "1280\n"),
        ("sys/devices/pci/sda/device/model", "SPINNER 9   \n"),
        ("sys/devices/pci/sda/device/rev", "1.2b\n"),
    ] {
        write(root, path, text);
    }
    let mounts = format!("30 1 {number} / / rw,noatime - ext4 /dev/sda1 rw\n");
    write(root, "proc/self/mountinfo", &mounts);
    fs::create_dir_all(root.join("sys/class/block")).expect("creates");
    fs::create_dir_all(root.join("sys/dev/block")).expect("creates");
    let link = |from: &str, to: &str| symlink(root.join(to), root.join(from)).expect("links");
    link("sys/class/block/sda", "sys/devices/pci/sda");
    link("sys/class/block/sda1", "sys/devices/pci/sda/sda1");
    link(&format!("sys/dev/block/{number}"), "sys/devices/pci/sda/sda1");
}

#[test]
fn a_machine_is_described_from_its_files() {
    let root = tempfile::tempdir().expect("a directory");
    machine(root.path(), root.path());
    let env = env::capture_below(root.path(), root.path(), tool());
    assert_eq!(env.system.kernel.as_deref(), Some("6.12.9"));
    assert_eq!(env.system.distribution.as_deref(), Some("Debian GNU/Linux 13"));
    assert_eq!(env.system.virtualisation.as_deref(), Some("QEMU"));
    assert_eq!((env.cpu.logical, env.cpu.cores, env.cpu.sockets), (Some(2), Some(1), Some(1)));
    assert_eq!(env.cpu.governors, ["powersave"]);
    assert_eq!(env.memory.total_bytes, Some(16 << 20));
    assert_eq!(env.memory.swap_bytes, None);
    assert_eq!(env.cgroup.cpu_ns_per_s, Some(500_000_000), "the tightest on the way up");
    assert_eq!(env.cgroup.memory_bytes, Some(1 << 20));
    assert_eq!(env.load_average, Some([0.5, 1.0, 1.5]));

    let file_system = env.storage.file_system.expect("found");
    assert_eq!(
        (file_system.kind.as_str(), file_system.options.as_str()),
        ("ext4", "rw,noatime,rw")
    );
    let [part, disk] = env.storage.devices.as_slice() else {
        panic!("a partition and its disk, not {:?}", env.storage.devices)
    };
    assert_eq!((part.partition_of.as_deref(), part.size_bytes), (Some("sda"), Some(1 << 20)));
    assert_eq!((disk.model.as_deref(), disk.rotational), (Some("SPINNER 9"), Some(true)));
    let queue = disk.queue.as_ref().expect("a queue");
    assert_eq!(queue.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(queue.request_bytes_max, Some(1280 << 10));
}

#[test]
fn a_machine_that_tells_nothing_is_unknown_and_not_an_error() {
    let root = tempfile::tempdir().expect("a directory");
    let env = env::capture_below(root.path(), root.path(), tool());
    assert_eq!((env.system.kernel, env.cpu.logical, env.load_average), (None, None, None));
    assert_eq!(env.storage.devices, []);
}

#[test]
fn this_machine_is_described_and_reads_back() {
    let env = env::capture(Path::new("."), tool());
    assert!(env.system.kernel.is_some() && env.cpu.logical.is_some(), "{env:?}");
    assert!(env.storage.file_system.is_some(), "{:?}", env.storage);
    let text = serde_json::to_string(&env).expect("serialises");
    let back: Environment = serde_json::from_str(&text).expect("reads");
    assert_eq!(back, env);
}
