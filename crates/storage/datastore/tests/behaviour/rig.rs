//! Devices, mounts and hashes for the tests, taken down even when a test fails.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tilemark_datastore::{
    BlockDevice, Datastore, DatastoreError, Directory, DiskRequest, Options, Refusal, Target,
    examine,
};
use units::Bytes;

/// Checks that loop devices and mounts can be made here; prints the reason when not.
pub fn can_make_devices(tools: &[&str]) -> bool {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: loop devices need root");
        return false;
    }
    if !Path::new("/dev/loop-control").exists() {
        eprintln!("skipped: there is no /dev/loop-control");
        return false;
    }
    for tool in ["losetup"].iter().chain(tools) {
        let found = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"]
            .iter()
            .any(|dir| Path::new(dir).join(tool).exists());
        if !found {
            eprintln!("skipped: {tool} is not installed");
            return false;
        }
    }
    true
}

/// Runs a command and returns its output; panics when it fails.
pub fn run(command: &str, arguments: &[&str]) -> String {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(command).args(arguments).env("PATH", path).output().expect("started");
    assert!(
        output.status.success(),
        "{command} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A loop device over a sparse file of its own.
pub struct Loop {
    pub path: PathBuf,
    pub image: PathBuf,
    pub dir: TempDir,
}

impl Loop {
    pub fn new(mib: u64) -> Self {
        let dir = tempfile::tempdir().expect("temporary directory");
        let image = dir.path().join("image");
        File::create(&image).expect("image").set_len(mib << 20).expect("size");
        let path = attach(&image);
        Self { path, image, dir }
    }

    pub fn text(&self) -> &str {
        self.path.to_str().expect("plain")
    }

    pub fn part(&self, number: u32) -> PathBuf {
        PathBuf::from(format!("{}p{number}", self.text()))
    }

    pub fn target(&self) -> Target {
        Target::new(&BlockDevice, self.path.clone())
    }

    /// Options that would be right for this device.
    pub fn options(&self) -> Options {
        Options {
            write: true,
            run_id: "test".to_owned(),
            destroy_data: Some(self.image.to_str().expect("plain").to_owned()),
            ..Options::default()
        }
    }
}

fn attach(file: &Path) -> PathBuf {
    run("losetup", &["-P", "-f", "--show", file.to_str().expect("plain")]).into()
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").arg("-d").arg(&self.path).status();
    }
}

/// A loop device over something that exists.
pub struct Attached(pub PathBuf);

impl Attached {
    pub fn new(file: &Path) -> Self {
        Self(attach(file))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup").arg("-d").arg(&self.0).status();
    }
}

/// A command run when the test ends, however it ends.
pub struct Undo(pub &'static str, pub Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
        let _ = Command::new(self.0).args(&self.1).env("PATH", path).status();
    }
}

/// Mounts read-only, so that the file system itself changes nothing.
pub fn mount(device: &Path, at: &Path) -> Undo {
    let (device, at) = (device.to_str().expect("plain"), at.to_str().expect("plain"));
    run("mount", &["-o", "ro", device, at]);
    Undo("umount", vec![at.to_owned()])
}

pub fn hash(path: &Path) -> String {
    let mut file = File::open(path).expect("open for hashing");
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer).expect("read for hashing");
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
    }
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn ids(target: &Target, options: &Options) -> Vec<&'static str> {
    examine(target, Bytes::MIB, options).refusals.iter().map(Refusal::id).collect()
}

/// The device must be refused with all of `expected`, on examination and on opening, and its
/// content must be the same before and after.
pub fn assert_refused(target: &Target, options: &Options, expected: &[&str]) {
    let before = hash(target.path());
    let found = ids(target, options);
    for id in expected {
        assert!(found.contains(id), "{target}: {id} is missing in {found:?}");
    }
    match Datastore::open(target, Bytes::MIB, options) {
        Err(DatastoreError::Refused(refusal)) => {
            assert!(found.contains(&refusal.id()), "{refusal}");
            eprintln!("{target}: {refusal}");
        }
        Err(other) => panic!("{target}: not a refusal: {other}"),
        Ok(_) => panic!("{target} was opened"),
    }
    assert_eq!(before, hash(target.path()), "{target} was changed");
}

pub fn disk(name: &str, size: Bytes) -> DiskRequest {
    DiskRequest { name: name.to_owned(), size }
}

/// Options for a temporary directory, which may well be on the root file system.
pub fn anywhere(run_id: &str) -> Options {
    Options { write: true, run_id: run_id.to_owned(), allow_root_fs: true, ..Options::default() }
}

/// A temporary directory with room for small disks; `None`, with the reason printed, where
/// the space rule leaves none.
pub fn roomy() -> Option<TempDir> {
    let dir = tempfile::tempdir().expect("temporary directory");
    let examination = examine(
        &Target::new(&Directory, dir.path().to_owned()),
        Bytes::MIB * 64,
        &anywhere("room"),
    );
    match examination.refusals.first() {
        None => Some(dir),
        Some(refusal) => {
            eprintln!("skipped: {refusal}");
            None
        }
    }
}

pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .expect("list")
        .map(|entry| entry.expect("entry").file_name().into_string().expect("plain"))
        .collect();
    names.sort();
    names
}

/// The block device behind `/`, if the kernel names one.
pub fn root_device() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let source = mounts.lines().rev().find(|line| line.split(' ').nth(1) == Some("/"))?;
    let path = PathBuf::from(source.split(' ').next()?);
    fs::metadata(&path).ok()?.file_type().is_block_device().then_some(path)
}
