//! Control groups that are made for a test, and a program that reads in one of them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Reads that are seen for sure.
pub const READS: usize = 600;
/// Blocks that a program may have read before it is asked for more: 64 KiB in the pipe (pipe(7)),
/// and the one that it waits to write.
pub const AHEAD: usize = 17;
const BLOCK: usize = 4096;

/// A control group; it and those above it that were made for it go with it.
pub struct Group {
    /// Its directory, in the hierarchy's mount point.
    pub path: PathBuf,
    /// As `/proc/PID/cgroup` has it.
    pub name: String,
    made: Vec<PathBuf>,
}

impl Group {
    /// None, with the reason printed, where there is no such hierarchy or it cannot be used.
    pub fn new(version: u8, name: &str) -> Option<Self> {
        let Some(mount) = mount_of(version) else {
            eprintln!("skipped: control groups of version {version} are not mounted");
            return None;
        };
        let (mut path, mut made) = (mount, Vec::new());
        for part in name.split('/') {
            path.push(part);
            match fs::create_dir(&path) {
                Ok(()) => made.push(path.clone()),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    eprintln!("skipped: {}: {error}", path.display());
                    drop(Self { path, name: String::new(), made });
                    return None;
                }
            }
        }
        Some(Self { path, name: format!("/{name}"), made })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for path in self.made.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// Where version 2, or the hierarchy of block I/O of version 1, is mounted.
fn mount_of(version: u8) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_it = match version {
            2 => words.get(2) == Some(&"cgroup2"),
            _ => {
                words.get(2) == Some(&"cgroup")
                    && words.get(3)?.split(',').any(|option| option == "blkio")
            }
        };
        is_it.then(|| PathBuf::from(words[1]))
    })
}

/// A program that has read [`READS`] blocks and then waits until it is dropped: it is there when
/// it is asked for.
pub struct Reader(Child);

impl Reader {
    /// In a control group, or where this process is; under the name of `program`, a path.
    pub fn new(program: &Path, disk: &Path, group: Option<&Group>) -> Self {
        // A shell enters the group and becomes the program.
        let enter = group.map_or_else(
            || "exec \"$0\" \"$@\"".to_owned(),
            |group| {
                format!("echo $$ > '{}/cgroup.procs' && exec \"$0\" \"$@\"", group.path.display())
            },
        );
        let child = Command::new("sh")
            .args(["-c", &enter])
            .arg(program)
            .arg(format!("if={}", disk.display()))
            .args(["bs=4k", "iflag=direct", "status=none"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut reader = Self(child);
        reader.more();
        reader
    }

    /// Lets it read as many blocks again. What it writes next fills the pipe, where it waits.
    pub fn more(&mut self) {
        let mut blocks = vec![0; READS * BLOCK];
        let output = self.0.stdout.as_mut().expect("it is piped");
        output.read_exact(&mut blocks).expect("it reads the disk");
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
