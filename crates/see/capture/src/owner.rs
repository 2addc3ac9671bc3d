//! Finds the initiator of an I/O: a virtual machine, a control group or a process.
//!
//! Sources: `proc_pid_status(5)`, `proc_pid_cgroup(5)`; qemu(1) on `-name` and `-uuid`;
//! systemd.unit(5) on escaped names; libvirt "Control Groups resource management" (names of scopes
//! are `machine-qemu\x2dID\x2dNAME.scope`, without systemd `qemu-ID-NAME.libvirt-qemu`).

use std::fs;
use std::path::Path;

use rustc_hash::FxHashMap;
use trace::VmIndex;
use trace::store::Machine;

use crate::decode::{Comm, Event};
use crate::error::CaptureError;

/// Maximum number of names; later initiators share the last one.
const NAMES_MAX: usize = 60_000;
/// Name of all initiators beyond the limit.
const OTHERS: &str = "others";

/// Initiator of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sender {
    pub vm: VmIndex,
    /// True if the initiator's I/O is recorded.
    pub is_wanted: bool,
    /// True for a kernel thread, which may work for others.
    pub is_kernel: bool,
}

/// Property that distinguishes initiators that are not virtual machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// Process name; all processes of one name are one initiator.
    #[default]
    Name,
    /// Process; each is an initiator.
    Process,
    /// Control group; all its processes are one initiator.
    Cgroup,
}

/// Initiators whose I/O is recorded; all if none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SenderFilter {
    /// Name or UUID of a virtual machine.
    pub vm: Option<String>,
    /// Process with its threads.
    pub process: Option<u32>,
    /// Control group with all groups below it, as in `/proc/PID/cgroup`, or its directory where
    /// control groups are mounted.
    pub cgroup: Option<String>,
}

/// Facts about a process.
#[derive(Debug, Clone, Default)]
struct Process {
    id: u32,
    name: String,
    cgroups: Vec<String>,
    vm: Option<Vm>,
    /// True for a kernel thread.
    is_kernel: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Vm {
    name: Option<String>,
    uuid: Option<String>,
}

impl Vm {
    /// Returns true if `wanted` is the VM's name or UUID.
    fn has_name(&self, wanted: &str) -> bool {
        [&self.name, &self.uuid].into_iter().flatten().any(|have| have == wanted)
    }
}

/// Checks that a QEMU virtual machine with this name or UUID runs.
///
/// # Errors
/// [`CaptureError::NoVm`], with a list of the running virtual machines, if no running QEMU has this
/// name or UUID.
pub fn find_running_vm(wanted: &str) -> Result<(), CaptureError> {
    find_vm_in(Path::new("/proc"), wanted)
}

fn find_vm_in(proc: &Path, wanted: &str) -> Result<(), CaptureError> {
    let vms: Vec<Vm> = vms_in(proc).into_iter().map(|(_, vm)| vm).collect();
    if vms.iter().any(|vm| vm.has_name(wanted)) {
        return Ok(());
    }
    let mut running: Vec<String> = vms.into_iter().filter_map(|vm| vm.name.or(vm.uuid)).collect();
    running.sort();
    Err(CaptureError::NoVm { wanted: wanted.to_owned(), running })
}

/// Running QEMU virtual machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningVm {
    /// Id of the QEMU process.
    pub pid: u32,
    /// Name under which a capture records the VM's I/O.
    pub name: String,
    /// UUID, if the VM has one.
    pub uuid: Option<String>,
}

/// Returns the QEMU virtual machines that run on this host.
pub fn running_vms() -> Vec<RunningVm> {
    let found = vms_in(Path::new("/proc")).into_iter();
    found
        .map(|(process, vm)| RunningVm {
            pid: process.id,
            name: vm_name(&process, &vm),
            uuid: vm.uuid,
        })
        .collect()
}

/// Returns the QEMU virtual machines among the processes of this `/proc`.
fn vms_in(proc: &Path) -> Vec<(Process, Vm)> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let process = |id| {
        let process = look_up(proc, id, &Comm::default());
        process.vm.clone().map(|vm| (process, vm))
    };
    ids.filter_map(process).collect()
}

/// Returns the name under which a VM's I/O is recorded.
fn vm_name(process: &Process, vm: &Vm) -> String {
    let name = vm.name.clone().or_else(|| vm.uuid.clone());
    name.unwrap_or_else(|| format!("{}[{}]", process.name, process.id))
}

/// Finds and caches the initiators of threads.
#[derive(Debug)]
pub(crate) struct Owners {
    by: By,
    wanted: SenderFilter,
    threads: FxHashMap<(u32, Comm), Sender>,
    names: FxHashMap<String, VmIndex>,
    list: Vec<String>,
    machines: Vec<Machine>,
}

impl Owners {
    pub fn new(by: By, mut wanted: SenderFilter) -> Self {
        let mounts = || fs::read_to_string("/proc/mounts").unwrap_or_default();
        wanted.cgroup = wanted.cgroup.map(|path| group_at(&path, &mounts()));
        Self {
            by,
            wanted,
            threads: FxHashMap::default(),
            names: FxHashMap::default(),
            list: Vec::new(),
            machines: Vec::new(),
        }
    }

    /// Returns the initiators that are virtual machines.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// Returns the names of initiators, by index.
    pub fn names(&self) -> &[String] {
        &self.list
    }

    /// Returns the initiator of an event's I/O.
    pub fn sender(&mut self, event: &Event) -> Sender {
        let thread = (event.pid, event.comm);
        if let Some(sender) = self.threads.get(&thread) {
            return *sender;
        }
        let process = look_up(Path::new("/proc"), event.pid, &event.comm);
        let is_wanted = self.wants(&process);
        let name = self.name(&process);
        let known = self.list.len();
        let is_kernel = process.is_kernel;
        let sender = Sender { vm: self.index(name), is_wanted, is_kernel };
        if let Some(vm) = process.vm.filter(|_| self.list.len() > known) {
            let name = self.list[known].clone();
            self.machines.push(Machine { name, uuid: vm.uuid });
        }
        // A computer may start very many threads, so the cache is cleared now and then.
        if self.threads.len() >= NAMES_MAX {
            self.threads.clear();
        }
        self.threads.insert(thread, sender);
        sender
    }

    fn index(&mut self, name: String) -> VmIndex {
        let name = if self.list.len() < NAMES_MAX { name } else { OTHERS.to_owned() };
        if let Some(index) = self.names.get(&name) {
            return *index;
        }
        let index = VmIndex(u16::try_from(self.list.len()).unwrap_or(u16::MAX));
        self.names.insert(name.clone(), index);
        self.list.push(name);
        index
    }

    fn name(&self, process: &Process) -> String {
        if let Some(vm) = &process.vm {
            return vm_name(process, vm);
        }
        match self.by {
            By::Name => process.name.clone(),
            By::Process => format!("{}[{}]", process.name, process.id),
            By::Cgroup => process.cgroup().unwrap_or(&process.name).to_owned(),
        }
    }

    fn wants(&self, process: &Process) -> bool {
        let is_vm = |wanted: &String| process.vm.as_ref().is_some_and(|vm| vm.has_name(wanted));
        let is_inside = |wanted: &String| {
            let is_below = |have: &str| have.strip_prefix(wanted.as_str()).is_some_and(below);
            wanted == "/" || process.cgroups.iter().any(|have| is_below(have))
        };
        self.wanted.vm.as_ref().is_none_or(is_vm)
            && self.wanted.process.is_none_or(|wanted| wanted == process.id)
            && self.wanted.cgroup.as_ref().is_none_or(is_inside)
    }
}

fn below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

impl Process {
    /// Returns the most specific of the process's control groups: the first that is not the root.
    fn cgroup(&self) -> Option<&str> {
        self.cgroups.iter().find(|path| *path != "/").map(String::as_str)
    }
}

/// Reads the process of a thread. For a thread that has ended, only the thread's own name is known.
fn look_up(proc: &Path, thread: u32, comm: &Comm) -> Process {
    let own_name = printable(comm);
    if thread == 0 {
        return Process { name: "idle".to_owned(), is_kernel: true, ..Process::default() };
    }
    let read = |id: u32, file: &str| fs::read(proc.join(id.to_string()).join(file)).ok();
    let status = read(thread, "status").map(|status| String::from_utf8_lossy(&status).into_owned());
    let Some(status) = status else {
        return Process { id: thread, name: general(&own_name), ..Process::default() };
    };
    let value = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok())
    };
    let id = value("Tgid:").unwrap_or(thread);
    let command = read(id, "cmdline").unwrap_or_default();
    if command.is_empty() {
        let name = general(&own_name);
        return Process { id, name, is_kernel: true, ..Process::default() };
    }
    let cgroups = cgroups(&String::from_utf8_lossy(&read(id, "cgroup").unwrap_or_default()));
    let vm = qemu(&command).map(|vm| Vm { name: vm.name.or_else(|| scope(&cgroups)), ..vm });
    // Before it runs another program, a new process has its parent's name. The event has the name
    // at the time of sending.
    let name = match read(id, "comm") {
        Some(name) if id != thread => printable(name.trim_ascii_end()),
        _ => own_name,
    };
    Process { id, name, cgroups, vm, is_kernel: false }
}

/// Shortens the name of a kernel thread by its number, because `kworker/u8:3` is one of many with
/// the same work.
fn general(name: &str) -> String {
    let numbered = ["kworker", "ksoftirqd", "kswapd", "migration"];
    let is_numbered = |prefix: &&&str| name.starts_with(**prefix);
    numbered.iter().find(is_numbered).map_or_else(|| name.to_owned(), |name| (*name).to_owned())
}

fn printable(name: &[u8]) -> String {
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let text = String::from_utf8_lossy(&name[..end]);
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

/// Returns the paths in a `/proc/PID/cgroup`: the path in version 2 first, then the path for block
/// I/O. If both versions are in use, a process has a group in each hierarchy.
fn cgroups(text: &str) -> Vec<String> {
    let rank = |controllers: &str| match controllers {
        "" => 0,
        list if list.split(',').any(|one| one == "blkio") => 1,
        _ => 2,
    };
    let line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some((rank(parts.next()?), parts.next()?.to_owned()))
    };
    let mut ranked: Vec<(u8, String)> = text.lines().filter_map(line).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut paths: Vec<String> = Vec::new();
    for (_, path) in ranked {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Converts a path of a control group, which may be its directory, to the form of
/// `/proc/PID/cgroup`. `mounts` is the content of `/proc/mounts`: each hierarchy of version 1 has a
/// mount point.
fn group_at(path: &str, mounts: &str) -> String {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let point = words.next()?.to_owned();
        words.next()?.starts_with("cgroup").then_some(point)
    };
    let known = mounts.lines().filter_map(mount).chain(["/sys/fs/cgroup".to_owned()]);
    let inside = known.filter_map(|point| path.strip_prefix(&point)).filter(|rest| below(rest));
    let path = inside.min_by_key(|rest| rest.len()).unwrap_or(path);
    format!("/{}", path.trim_matches('/'))
}

/// Parses name and UUID from the command line of a QEMU process; `None` for other programs.
fn qemu(command: &[u8]) -> Option<Vm> {
    let words: Vec<String> = command
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    let program = Path::new(words.first()?).file_name()?.to_str()?.to_owned();
    if !(program.starts_with("qemu-system-") || program == "qemu-kvm" || program == "kvm") {
        return None;
    }
    let value = |option: &str| {
        let is_it = |word: &String| word.trim_start_matches('-') == option && word.starts_with('-');
        words.iter().position(is_it).and_then(|place| words.get(place + 1))
    };
    let name = value("name").and_then(|list| guest(list));
    Some(Vm { name, uuid: value("uuid").cloned() })
}

/// Parses the guest name in `-name guest=NAME,debug-threads=on` or `-name NAME,process=...`; two
/// commas stand for one comma in a name.
fn guest(list: &str) -> Option<String> {
    let marked = list.replace(",,", "\u{0}");
    let mut parts = marked.split(',');
    let named = parts.clone().find_map(|part| part.strip_prefix("guest="));
    let first = parts.next().filter(|part| !part.contains('='));
    let name = named.or(first)?.replace('\u{0}', ",");
    (!name.is_empty()).then_some(name)
}

/// Parses the VM's name from the name of its scope.
fn scope(cgroups: &[String]) -> Option<String> {
    cgroups.iter().flat_map(|path| path.split('/')).find_map(|part| {
        let of_systemd = || part.strip_prefix("machine-")?.strip_suffix(".scope").map(unescape);
        let name =
            of_systemd().or_else(|| part.strip_suffix(".libvirt-qemu").map(str::to_owned))?;
        let (number, name) = name.strip_prefix("qemu-")?.split_once('-')?;
        number.bytes().all(|digit| digit.is_ascii_digit()).then(|| name.to_owned())
    })
}

/// Decodes `\x2d` as `-`, and so on.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = rest.get(2..4).filter(|_| rest.starts_with(b"\\x"));
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
