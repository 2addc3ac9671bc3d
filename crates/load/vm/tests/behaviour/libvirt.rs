//! Real libvirt: two session daemons that the test starts in directories of their own, with QEMU
//! under emulation. They run as a user without rights, and each sees its own directory under the
//! same name, as two hosts would.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use spec::named::NamedMachine;
use tempfile::TempDir;
use tilemark_vm::named::{self, Limits, ledger};
use tilemark_vm::qemu::{Program, Version};
use tilemark_vm::{After, DeployKind, Image, Operation, Report, VmError, VmOperations, Watch};

use crate::proxmox::kill;

const DAEMON: &str = "/usr/sbin/libvirtd";
const NOBODY: u32 = 65534;
const DEPLOY: Operation = Operation::Deploy(DeployKind::Full);

/// Two hosts on one computer.
struct Hosts {
    daemons: Vec<Child>,
    place: TempDir,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in ["a", "b"] {
            // Guests end together with their libvirt.
            let names = virsh(&self.uri(name), &["list", "--name"]).unwrap_or_default();
            for domain in names.lines().filter(|own| !own.trim().is_empty()) {
                let _ = virsh(&self.uri(name), &["destroy", domain.trim()]);
            }
        }
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn virsh(uri: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("virsh").args(["--quiet", "--connect", uri]).args(arguments).output();
    let output = output.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

impl Hosts {
    /// Starts the daemons; `None`, with the reason on the terminal, if that is impossible here.
    fn start() -> Option<Self> {
        let skipped = |why: &str| {
            eprintln!("skipped: {why}");
            None
        };
        if rustix::process::geteuid().as_raw() != 0 {
            return skipped("two daemons with a file system of their own each need root");
        }
        if !Path::new(DAEMON).exists() || virsh("test:///default", &["list"]).is_err() {
            return skipped(
                "libvirtd or virsh is missing: apt-get install libvirt-daemon-system libvirt-clients",
            );
        }
        let directory = Image::usual_directory();
        if let Err(error) = Image::load(&directory) {
            return skipped(&format!("{error}; scripts/vm-guest --qemu makes it"));
        }
        match Program::find(None, &directory) {
            Ok(program) if program.version >= Version(9, 0, 0) => {
                Self::with(&directory, &program.path)
            }
            Ok(program) => {
                skipped(&format!("QEMU {} damages what it emulates and moves", program.version))
            }
            Err(error) => skipped(&error.to_string()),
        }
    }

    fn with(image: &Path, program: &Path) -> Option<Self> {
        let place = tempfile::tempdir_in("/tmp").expect("a directory");
        let at = |name: &str| place.path().join(name);
        std::fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("permitted");
        // The daemons' user can read neither root's home directory nor its files.
        let copied = Command::new("cp").arg("-r").args([image, &at("image")]).status().expect("cp");
        assert!(copied.success());
        let own =
            program.strip_prefix(image).map_or(program.to_owned(), |rest| at("image").join(rest));
        let mut hosts = Self { daemons: Vec::new(), place };
        for name in ["a", "b"] {
            hosts.daemon(name, program.starts_with(image));
        }
        hosts.describe(&own);
        Some(hosts)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn uri(&self, host: &str) -> String {
        format!("qemu+unix:///session?socket={}/libvirt-sock", self.at(host).join("run").display())
    }

    /// Starts a daemon. `is_unpacked` means that QEMU differs from that of the system, whose
    /// modules libvirt would make it load, and it would crash.
    fn daemon(&mut self, name: &str, is_unpacked: bool) {
        let own = self.at(name);
        for part in ["run", "config/libvirt", "cache", "data", "store", "pool"] {
            std::fs::create_dir_all(own.join(part)).expect("made");
        }
        std::fs::create_dir_all(self.at("store")).expect("made");
        let digit = if name == "a" { 'a' } else { 'b' };
        let uuid = "11111111-2222-4333-8444-55555555555".to_owned() + &digit.to_string();
        let config =
            format!("host_uuid = \"{uuid}\"\nunix_sock_dir = \"{}\"\n", own.join("run").display());
        std::fs::write(own.join("config/libvirt/libvirtd.conf"), config).expect("written");
        let config = "security_driver = \"none\"\nremember_owner = 0\n";
        std::fs::write(own.join("config/libvirt/qemu.conf"), config).expect("written");
        let script = format!(
            "modules=/usr/lib/x86_64-linux-gnu/qemu
             if {is_unpacked} && [ -d $modules ]; then mount -t tmpfs none $modules || exit 1; fi
             mount --bind {}/store {} && exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups {DAEMON}",
            own.display(),
            self.at("store").display()
        );
        let owned =
            Command::new("chown").arg("-R").arg(NOBODY.to_string()).arg(self.place.path()).status();
        assert!(owned.expect("chown").success());
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).env("HOME", &own).process_group(0);
        for (key, part) in [
            ("RUNTIME_DIR", "run"),
            ("CONFIG_HOME", "config"),
            ("CACHE_HOME", "cache"),
            ("DATA_HOME", "data"),
        ] {
            command.env(format!("XDG_{key}"), own.join(part));
        }
        let log = std::fs::File::create(own.join("log")).expect("a log");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        self.daemons.push(command.spawn().expect("unshare"));
        let until = Instant::now() + Duration::from_secs(60);
        while virsh(&self.uri(name), &["list"]).is_err() {
            assert!(
                Instant::now() < until,
                "{}",
                std::fs::read_to_string(own.join("log")).unwrap_or_default()
            );
            std::thread::yield_now();
        }
        let (pool, store) =
            (own.join("pool").display().to_string(), self.at("store").display().to_string());
        for (pool, target) in [("fast", pool), ("store", store)] {
            virsh(&self.uri(name), &["pool-create-as", pool, "dir", "--target", &target])
                .expect("a pool");
        }
    }

    /// Three domains on the first host: one with a disk, one without, and one that is off.
    fn describe(&self, program: &Path) {
        let image = self.at("image");
        for (name, has_disk) in
            [("web01", true), ("bare", false), ("golden", true), ("web011", true)]
        {
            let disk = self.at("store").join(format!("{name}.qcow2"));
            if has_disk {
                let size = "67108864";
                let volume = format!("{name}.qcow2");
                let words = ["vol-create-as", "store", &volume, size, "--format", "qcow2"];
                virsh(&self.uri("a"), &words).expect("a volume");
            }
            let disk = format!(
                "<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='{}'/>\
                 <target dev='vda' bus='virtio'/></disk>",
                disk.display()
            );
            let xml = format!(
                "<domain type='qemu'><name>{name}</name><memory unit='MiB'>128</memory><vcpu>1</vcpu>\
                 <os><type arch='x86_64' machine='pc'>hvm</type><kernel>{0}/vmlinuz</kernel>\
                 <initrd>{0}/initrd.gz</initrd><cmdline>console=ttyS0 quiet</cmdline></os>\
                 <features><acpi/></features><devices><emulator>{1}</emulator>{2}</devices></domain>",
                image.display(),
                program.display(),
                if has_disk { disk } else { String::new() }
            );
            let file = self.at(&format!("{name}.xml"));
            std::fs::write(&file, xml).expect("written");
            virsh(&self.uri("a"), &["define", &file.display().to_string()]).expect("a domain");
            if name != "golden" {
                virsh(&self.uri("a"), &["start", name]).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    fn machine(&self, name: &str) -> NamedMachine {
        let via = self.at("b").join("run/move").display().to_string();
        let text = format!(
            "libvirt:{name},at={},to={},via=unix://{via},storage=fast",
            self.uri("a"),
            self.uri("b")
        );
        text.parse().expect("a machine")
    }

    fn open(&self, name: &str) -> Result<Box<dyn VmOperations>, VmError> {
        let limits = Limits { look: Duration::from_millis(20), ..Limits::default() };
        named::open(&self.machine(name), "test", &self.at("state"), limits)
    }

    fn files(&self, host: &str, part: &str) -> usize {
        std::fs::read_dir(self.at(host).join(part)).expect("there").count()
    }
}

fn done(machine: &mut Box<dyn VmOperations>, operation: Operation) -> Report {
    let report = machine.perform(operation, &mut ()).unwrap_or_else(|failure| panic!("{failure}"));
    eprintln!(
        "{operation}: {:?}, stood still {:?}; {}",
        report.ended, report.stood_still, report.checked
    );
    report
}

/// Stops the operation when a number of phases have ended.
struct StopAt(usize);

impl Watch for StopAt {
    fn ended(&mut self, _: tilemark_vm::Phase) {
        self.0 = self.0.saturating_sub(1);
    }

    fn is_stopped(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn real_libvirt_moves_saves_and_clones_only_named_domains() {
    let Some(hosts) = Hosts::start() else { return };
    let before = virsh(&hosts.uri("a"), &["dumpxml", "web011"]).expect("its description");

    let mut bare = hosts.open("bare").expect("it is there");
    eprintln!("{}", bare.about());
    let there = done(&mut bare, Operation::LiveMigration);
    assert!(there.stood_still.is_some() && there.copied_bytes > 0, "{there:?}");
    assert!(there.checked.contains(&hosts.uri("b")), "{}", there.checked);
    let back = done(&mut bare, Operation::LiveMigration);
    assert!(back.checked.contains(&hosts.uri("a")), "{}", back.checked);
    drop(bare);

    let mut web = hosts.open("web01").expect("it is there");
    done(&mut web, Operation::Snapshot { keep: Duration::from_millis(100) });
    let away = done(&mut web, Operation::StorageMigration);
    assert!(away.checked.contains("/pool/tilemark-"), "{}", away.checked);
    let home = done(&mut web, Operation::StorageMigration);
    assert!(home.checked.contains("/store/web01.qcow2"), "{}", home.checked);
    assert_eq!(hosts.files("a", "pool"), 0, "our volume is gone");
    for phases in 0..2 {
        let failure = web.perform(Operation::StorageMigration, &mut StopAt(phases));
        match failure {
            Err(failure) => assert_eq!(failure.after, After::Runs, "{failure}"),
            // An operation past its switch-over is not stopped.
            Ok(report) => assert!(report.checked.contains("running"), "{report:?}"),
        }
    }
    drop(web);
    assert_eq!(hosts.files("a", "pool"), 0, "it was brought home");
    let mut web = hosts.open("web01").expect("it is there");
    let there = done(&mut web, Operation::UnifiedMigration);
    assert!(there.checked.contains(&hosts.uri("b")), "{}", there.checked);
    assert_eq!(hosts.files("b", "store"), 1, "its disk came, too");
    drop(web);

    let mut golden = hosts.open("golden").expect("it is there");
    done(&mut golden, DEPLOY);
    done(&mut golden, Operation::Deploy(DeployKind::Linked));
    assert_eq!(
        virsh(&hosts.uri("a"), &["list", "--name"]).expect("asked").matches("tilemark-").count(),
        2
    );
    done(&mut golden, Operation::Destroy);
    drop(golden);
    let all = virsh(&hosts.uri("a"), &["list", "--all", "--name"]).expect("asked");
    assert!(!all.contains("tilemark-"), "{all}");
    let left = std::fs::read_dir(hosts.at("a").join("store")).expect("there").flatten();
    assert!(left.into_iter().all(|own| !own.file_name().to_string_lossy().contains("tilemark")));
    assert_eq!(
        std::fs::read_dir(hosts.at("state")).expect("there").count(),
        0,
        "no ledger is left"
    );
    assert_eq!(virsh(&hosts.uri("a"), &["dumpxml", "web011"]).expect("its description"), before);
}

#[test]
fn libvirt_names_are_exact_and_leftovers_are_removed() {
    let Some(hosts) = Hosts::start() else { return };
    // To virsh, 1 is the domain that was started first.
    for name in ["web0", "1", "WEB01"] {
        let error = hosts.open(name).err().expect(name);
        assert!(matches!(error, VmError::Missing { .. }), "{error}");
    }
    let mut golden = hosts.open("golden").expect("it is there");
    let failure = golden.perform(Operation::LiveMigration, &mut ()).expect_err("it is off");
    assert!(failure.to_string().contains("is \"shut off\", but must be \"running\""), "{failure}");
    let mut web = hosts.open("web01").expect("it is there");
    let failure = web.perform(DEPLOY, &mut ()).expect_err("it runs");
    assert!(failure.to_string().contains("must be \"shut off\""), "{failure}");
    // Killed while its disk is away, and while a clone exists.
    done(&mut web, Operation::StorageMigration);
    done(&mut golden, DEPLOY);
    std::mem::forget((web, golden));
    let state = hosts.at("state");
    std::fs::read_dir(&state).expect("ledgers").flatten().for_each(|own| kill(&own.path()));
    let swept = ledger::sweep(&state, true, Limits::default());
    assert_eq!(swept.len(), 2, "{swept:?}");
    assert!(swept.iter().all(|own| own.stays.is_empty()), "{swept:?}");
    assert_eq!(hosts.files("a", "pool"), 0);
    let all = virsh(&hosts.uri("a"), &["list", "--all", "--name"]).expect("asked");
    assert!(!all.contains("tilemark-"), "{all}");
    let disk = virsh(&hosts.uri("a"), &["domblklist", "web01"]).expect("asked");
    assert!(disk.contains("/store/web01.qcow2"), "{disk}");
}
