use std::path::PathBuf;

use super::*;

/// Fake `/proc`.
struct Proc(tempfile::TempDir);

impl Proc {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    fn thread(&self, thread: u32, process: u32) {
        let path = self.path().join(thread.to_string());
        fs::create_dir_all(&path).expect("made");
        let status = format!("Name:\tx\nTgid:\t{process}\nPid:\t{thread}\n");
        fs::write(path.join("status"), status).expect("written");
    }

    fn process(&self, id: u32, comm: &str, command: &[&str], cgroup: &str) {
        self.thread(id, id);
        let path = self.path().join(id.to_string());
        fs::write(path.join("comm"), format!("{comm}\n")).expect("written");
        fs::write(path.join("cmdline"), command.join("\0") + "\0").expect("written");
        fs::write(path.join("cgroup"), cgroup).expect("written");
    }
}

fn comm(name: &str) -> Comm {
    let mut comm = [0; 16];
    comm[..name.len()].copy_from_slice(name.as_bytes());
    comm
}

#[test]
fn a_worker_thread_of_qemu_is_its_machine() {
    let proc = Proc::new();
    let command =
        ["/usr/bin/qemu-system-x86_64", "-name", "guest=web,,1,debug-threads=on", "-uuid", "ab-cd"];
    proc.process(10, "qemu-system-x86", &command, "0::/machine.slice/x.scope\n");
    proc.thread(11, 10);
    let found = look_up(&proc.path(), 11, &comm("iou-wrk-10"));
    assert_eq!(found.id, 10);
    assert_eq!(found.name, "qemu-system-x86");
    assert_eq!(found.vm, Some(Vm { name: Some("web,1".into()), uuid: Some("ab-cd".into()) }));
}

#[test]
fn a_machine_without_a_name_is_named_by_its_scope() {
    let proc = Proc::new();
    let cgroup = "0::/machine.slice/machine-qemu\\x2d12\\x2ddata\\x2dbase.scope/libvirt/emulator\n";
    proc.process(10, "qemu-kvm", &["/usr/libexec/qemu-kvm", "-m", "4"], cgroup);
    let found = look_up(&proc.path(), 10, &comm("qemu-kvm"));
    assert_eq!(found.vm.and_then(|vm| vm.name).as_deref(), Some("data-base"));
    let without_systemd = ["/machine/qemu-3-web-1.libvirt-qemu/emulator".to_owned()];
    assert_eq!(scope(&without_systemd).as_deref(), Some("web-1"));
    assert_eq!(scope(&["/machine.slice/machine-lxc\\x2d1\\x2dweb.scope".to_owned()]), None);
}

#[test]
fn a_control_group_is_named_by_its_directory_in_any_hierarchy() {
    let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                  cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n\
                  cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
    for (path, wanted) in [
        ("/sys/fs/cgroup/blkio/a/b/", "/a/b"),
        ("/sys/fs/cgroup/unified/a", "/a"),
        ("/sys/fs/cgroup/unified", "/"),
        ("/sys/fs/cgroup/machine.slice", "/machine.slice"),
        ("machine.slice/x.scope", "/machine.slice/x.scope"),
        ("/sys/fs/cgroups/a", "/sys/fs/cgroups/a"),
    ] {
        assert_eq!(group_at(path, mounts), wanted, "{path}");
    }
}

#[test]
fn cgroup_is_taken_from_v2_or_else_from_blkio() {
    let both = "4:memory:/user/some/very/long/name\n7:cpu,blkio:/disk\n0::/unified\n";
    assert_eq!(process(1, both).cgroup(), Some("/unified"));
    let first = "4:memory:/user/some/very/long/name\n7:cpu,blkio:/disk\n0::/\n";
    assert_eq!(process(1, first).cgroup(), Some("/disk"));
}

#[test]
fn the_short_form_of_a_name_is_read_and_other_options_are_none() {
    assert_eq!(guest("web"), Some("web".into()));
    assert_eq!(guest("web,process=q"), Some("web".into()));
    assert_eq!(guest("debug-threads=on,guest=db"), Some("db".into()));
    assert_eq!(guest("process=q"), None);
    assert_eq!(qemu(b"/bin/bash\0-name\0x\0"), None);
}

#[test]
fn a_thread_that_has_ended_is_known_by_its_name() {
    let found = look_up(&Proc::new().path(), 5, &comm("dd"));
    assert_eq!((found.id, found.name.as_str()), (5, "dd"));
}

#[test]
fn kernel_threads_that_do_the_same_are_one() {
    let proc = Proc::new();
    proc.process(3, "kworker/u8:3", &[], "0::/\n");
    fs::write(proc.path().join("3/cmdline"), "").expect("written");
    assert_eq!(look_up(&proc.path(), 3, &comm("kworker/u8:3-ev")).name, "kworker");
    assert_eq!(general("jbd2/vda-8"), "jbd2/vda-8");
}

#[test]
fn a_new_process_has_the_name_under_which_it_sent() {
    let proc = Proc::new();
    proc.process(8, "dd", &["dd"], "0::/\n");
    assert_eq!(look_up(&proc.path(), 8, &comm("bash")).name, "bash");
}

fn process(id: u32, cgroup: &str) -> Process {
    Process { id, name: "p".into(), cgroups: cgroups(cgroup), vm: None, is_kernel: false }
}

#[test]
fn a_control_group_holds_those_below_it_and_not_those_beside_it() {
    let wanted = SenderFilter {
        cgroup: Some("/sys/fs/cgroup/user.slice/".into()),
        ..SenderFilter::default()
    };
    let owners = Owners::new(By::Cgroup, wanted);
    assert!(owners.wants(&process(1, "0::/user.slice/user-1.slice\n")));
    assert!(owners.wants(&process(1, "3:cpu:/\n0::/user.slice\n")));
    assert!(!owners.wants(&process(1, "0::/user.slice2\n")));
    assert_eq!(owners.name(&process(1, "3:cpu:/\n0::/user.slice\n")), "/user.slice");
}

#[test]
fn a_wanted_machine_is_named_by_name_or_uuid() {
    let vm = Vm { name: Some("web".into()), uuid: Some("ab".into()) };
    let machine = Process { vm: Some(vm), ..process(1, "") };
    for (name, is_wanted) in [("web", true), ("ab", true), ("db", false)] {
        let owners = Owners::new(
            By::Name,
            SenderFilter { vm: Some(name.into()), ..SenderFilter::default() },
        );
        assert_eq!(owners.wants(&machine), is_wanted, "{name}");
        assert!(!owners.wants(&process(1, "")));
    }
    let owners =
        Owners::new(By::Process, SenderFilter { process: Some(4), ..SenderFilter::default() });
    assert!(owners.wants(&process(4, "")) && !owners.wants(&machine));
    assert_eq!(owners.name(&process(4, "")), "p[4]");
}

#[test]
fn unknown_vm_is_refused_with_the_running_ones() {
    let proc = Proc::new();
    let none = find_vm_in(&proc.path(), "web").expect_err("nothing runs");
    assert!(none.to_string().ends_with("no QEMU virtual machine is running"), "{none}");
    proc.process(10, "kvm", &["/usr/bin/kvm", "-name", "web,debug-threads=on"], "0::/\n");
    proc.process(11, "kvm", &["/usr/bin/kvm", "-name", "guest=db", "-uuid", "ab-cd"], "0::/\n");
    proc.process(12, "bash", &["/bin/bash", "-name", "mail"], "0::/\n");
    for known in ["web", "db", "ab-cd"] {
        assert!(find_vm_in(&proc.path(), known).is_ok(), "{known}");
    }
    let error = find_vm_in(&proc.path(), "mail").expect_err("a shell is no VM");
    assert_eq!(error.to_string(), "no virtual machine \"mail\" runs here; running: db, web");
    assert!(error.hint().is_some_and(|hint| hint.contains("--vm")), "{:?}", error.hint());
}
