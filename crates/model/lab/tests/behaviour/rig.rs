//! Small array, files with direct I/O, and a way to skip where FUSE is not allowed.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use spec::array::Array;
use tilemark_lab::{LabError, Mounted, Options, Schedule};
use units::Bytes;

/// Disk with 200 us per request, four at once, without a link.
pub fn array() -> Array {
    let text = r#"
        name = "plain"
        title = "One disk that takes 200 us"
        source = "ours"
        [[pool]]
        name = "pool"
        disk = "disk"
        count = 1
        [disk.disk.ssd]
        like = "ssd-sata-enterprise"
        capacity = "64GB"
    "#;
    spec::load_array("plain.toml", text).expect("a valid array")
}

/// Options for a lab of 256 MiB in memory with these faults.
pub fn options(faults: &str) -> Options {
    let schedule = Schedule::parse("faults.toml", faults).expect("a valid schedule");
    Options { schedule, size: Some(Bytes::MIB * 256), ..Options::new(array()) }
}

/// Mounts on a temporary directory, or prints why not.
pub fn mount(options: &Options) -> Option<Mounted> {
    match Mounted::temporary(options) {
        Ok(mounted) => Some(mounted),
        Err(LabError::Mount { source, .. }) => {
            eprintln!("skipped: FUSE is not there or not allowed: {source}");
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// File of the lab, opened for direct I/O; created if absent.
pub fn direct(path: &Path) -> File {
    let flags = i32::try_from(OFlags::DIRECT.bits()).expect("a flag");
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).custom_flags(flags).open(path);
    file.expect("direct I/O is possible")
}

/// Bytes at an address suitable for direct I/O.
pub struct Aligned(Vec<u8>, usize);

impl Aligned {
    pub fn filled(byte: u8, length: usize) -> Self {
        let bytes = vec![byte; length + 4096];
        let skip = bytes.as_ptr().align_offset(4096);
        Self(bytes, skip)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0[self.1..self.0.len() - 4096 + self.1]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let end = self.0.len() - 4096 + self.1;
        &mut self.0[self.1..end]
    }
}

pub fn write(file: &File, offset: u64, byte: u8, length: usize) -> std::io::Result<usize> {
    file.write_at(Aligned::filled(byte, length).bytes(), offset)
}

pub fn read(file: &File, offset: u64, length: usize) -> std::io::Result<Vec<u8>> {
    let mut buffer = Aligned::filled(0xee, length);
    let count = file.read_at(buffer.bytes_mut(), offset)?;
    Ok(buffer.bytes()[..count].to_vec())
}
