//! Disks in a temporary directory, and virtual machines on them.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datastore::VirtualDisk;
use tilemark_vm::qemu::{Accelerator, Limits, Options, Qemu, Version};
use tilemark_vm::{Image, guest::Work};
use units::Bytes;

/// Size of every disk, in bytes.
pub const SIZE: u64 = 16 << 20;

/// True if virtual machines can be moved here; else prints the reason.
pub fn is_usable() -> bool {
    let directory = Image::usual_directory();
    let missing =
        match (Image::load(&directory), tilemark_vm::qemu::Program::find(None, &directory)) {
            (Err(error), _) => error.to_string(),
            (_, Err(error)) => error.to_string(),
            (_, Ok(program)) if program.version < Version(9, 0, 0) => {
                format!("QEMU {} damages guests that it emulates and moves", program.version)
            }
            _ => return true,
        };
    eprintln!("skipped: {missing}\nhint: scripts/vm-guest --qemu makes both, and installs nothing");
    false
}

/// A disk of pseudo-random bytes, which no test mistakes for zeros.
pub fn disk(directory: &Path, name: &str) -> VirtualDisk {
    let mut word = name.bytes().fold(1_u64, |sum, byte| sum * 31 + u64::from(byte));
    let mut bytes = Vec::new();
    for _ in 0..SIZE / 8 {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.extend(word.to_le_bytes());
    }
    std::fs::write(directory.join(name), bytes).expect("written");
    hollow(directory, name)
}

/// Opens a disk, which is sparse if its file is new.
pub fn hollow(directory: &Path, name: &str) -> VirtualDisk {
    let path = directory.join(name);
    let open = |flags| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(flags).open(&path)
    };
    let file = open(0).expect("a file");
    file.set_len(SIZE).expect("its size");
    file.sync_all().expect("synced");
    // O_DIRECT (fcntl.h of x86-64), if the file system supports it.
    let (file, direct) = open(0o40_000).map_or((file, false), |file| (file, true));
    VirtualDisk {
        file: Arc::new(file),
        base: 0,
        size: Bytes::new(SIZE),
        alignment: 4096,
        direct,
        writable: true,
        name: name.to_owned(),
    }
}

/// Small guests, always emulated: the probe for KVM is too slow for a short test.
pub fn options() -> Options {
    let work = Work { still_pages: 256, dirty_pages: 512, pages_s: 1024, ..Work::default() };
    let accelerator = Some(Accelerator::Emulation);
    Options { accelerator, work, run_id: "test".to_owned(), ..Options::default() }
}

/// Short limits for operations that must hang.
pub fn impatient() -> Options {
    let limits = Limits { answer: Duration::from_secs(3), ..Limits::default() };
    Options { limits, ..options() }
}

/// Virtual machines on a template and some disks in `directory`.
pub fn qemu(directory: &Path, options: Options, disks: usize) -> Qemu {
    let disks = (0..disks).map(|at| disk(directory, &format!("disk-{at}"))).collect();
    Qemu::new(options, Some(disk(directory, "template")), disks).expect("QEMU starts")
}
