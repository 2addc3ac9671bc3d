//! Control groups for a test, and a program that reads in one of them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Reads that are certainly seen.
pub const READS: usize = 600;
/// Blocks that a program may have read ahead: 64 KiB in the pipe (pipe(7)), and the block that it
/// waits to write.
pub const AHEAD: usize = 17;
const BLOCK: usize = 4096;

/// Control group; removed when dropped, with the parents that were made for it.
pub struct Group {
    /// Directory below the hierarchy's mount point.
    pub path: PathBuf,
    /// Name as in `/proc/PID/cgroup`.
    pub name: String,
    made: Vec<PathBuf>,
}

impl Group {
    /// Makes a group; `None`, with the reason printed, if there is no such hierarchy or it cannot
    /// be used.
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

/// Mount point of version 2, or of version 1's hierarchy of block I/O.
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

/// Program that reads [`READS`] blocks and then waits until it is dropped, so that it exists when
/// its sender is looked up.
pub struct Reader(Child);

impl Reader {
    /// Starts the reader in a control group, or in that of this process; under the name of
    /// `program`, a path.
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

    /// Lets it read as many blocks again. Its next output fills the pipe, where it waits.
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
