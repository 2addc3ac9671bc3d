//! The state file of one virtual disk: which writes were submitted and acknowledged, block by
//! block (drawn in `docs/formats/verification.md`).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use units::Bytes;

use super::map::Map;
use super::sector::{Identity, SECTOR};

/// Bytes judged together: the unit of the main table, and of torn writes.
pub const BLOCK: usize = 4096;
/// Sectors of a block.
pub const SECTORS: u64 = CELLS as u64;
const CELLS: usize = BLOCK / SECTOR;

/// Ends the name of every state file.
pub const SUFFIX: &str = ".verify";

const MAGIC: [u8; 8] = *b"TMverify";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 4096;
const HEADER_WORDS: usize = HEADER_BYTES / 8;
const SEQUENCE_WORD: usize = 6;
const NAME_AT: usize = 64;
const NAME_BYTES_MAX: usize = HEADER_BYTES - NAME_AT;
/// The cell of a block whose sectors have cells of their own.
const SPLIT: u64 = u64::MAX;

/// Why a state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system refused.
    #[error("{attempt} verification state {path}: {source}", path = path.display())]
    Io {
        /// What was attempted.
        attempt: &'static str,
        /// The state file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process works on this disk.
    #[error("verification state {path} is in use by another process", path = path.display())]
    Locked {
        /// The state file.
        path: PathBuf,
    },
    /// The file is not a state file, or of a format this program does not know.
    #[error("{path} is not verification state of format {FORMAT}: {reason}", path = path.display())]
    Format {
        /// The state file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file belongs to another disk or to another run.
    #[error(
        "verification state {path} is of {found}, not of {wanted}\nhint: remove it together \
         with the disk it belongs to",
        path = path.display()
    )]
    Other {
        /// The state file.
        path: PathBuf,
        /// What it says it belongs to.
        found: Owner,
        /// What it should belong to.
        wanted: Owner,
    },
}

/// Whose state it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The disk's name.
    pub disk: String,
    /// The disk's size.
    pub size: Bytes,
    /// The verification's seed.
    pub seed: u64,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "disk \"{}\" ({} B, seed {})", self.disk, self.size.get(), self.seed)
    }
}

/// Low halves of two versions: what was acknowledged last and submitted last.
///
/// Versions are 64 bits in sectors and 32 bits here, so comparisons wrap: a stale block goes
/// unnoticed if it is exactly a multiple of 2^32 writes old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Window {
    /// Low half of the last acknowledged version; zero if there is none.
    pub acknowledged: u32,
    /// Low half of the last submitted version; zero if there is none.
    pub issued: u32,
}

impl Window {
    fn unpack(cell: u64) -> Self {
        Self { acknowledged: low(cell >> 32), issued: low(cell) }
    }

    fn pack(self) -> u64 {
        u64::from(self.acknowledged) << 32 | u64::from(self.issued)
    }

    /// Whether a sector may hold this version.
    #[inline]
    pub fn admits(self, version: u64) -> bool {
        low(version).wrapping_sub(self.acknowledged) <= self.issued.wrapping_sub(self.acknowledged)
    }
}

/// The low 32 bits.
#[inline]
pub const fn low(version: u64) -> u32 {
    (version & 0xffff_ffff) as u32
}

/// The latest version up to `newest` with these low bits.
pub const fn widen(bits: u32, newest: u64) -> u64 {
    newest.saturating_sub(low(newest).wrapping_sub(bits) as u64)
}

/// An open, locked state file.
#[derive(Debug)]
pub struct State {
    map: Map,
    file: File,
    path: PathBuf,
    owner: Owner,
    identity: Identity,
    blocks: usize,
}

impl State {
    /// Opens the state of this disk, or makes it if there is none.
    pub fn open_or_create(directory: &Path, owner: Owner) -> Result<Self, StateError> {
        let path = directory.join(file_name(&owner.disk));
        match Self::open(&path) {
            Ok(state) if state.owner == owner => Ok(state),
            Ok(state) => Err(StateError::Other { path, found: state.owner, wanted: owner }),
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::create(&path, &owner)?;
                Self::open(&path)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens an existing state file.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(failed("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => {
                return Err(StateError::Locked { path: path.to_owned() });
            }
            Err(std::fs::TryLockError::Error(error)) => return Err(failed("lock", path)(error)),
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0).map_err(failed("read", path))?;
        let owner = parse(&header)
            .map_err(|reason| StateError::Format { path: path.to_owned(), reason })?;
        let blocks = blocks_of(owner.size);
        let map = Map::new(&file, words_of(blocks)).map_err(failed("map", path))?;
        let identity = Identity::new(&owner.disk, owner.seed);
        Ok(Self { map, file, path: path.to_owned(), owner, identity, blocks })
    }

    /// Writes a new state file under a temporary name, so that a file of the final name is
    /// always whole.
    fn create(path: &Path, owner: &Owner) -> Result<(), StateError> {
        let header =
            draw(owner).map_err(|reason| StateError::Format { path: path.to_owned(), reason })?;
        let draft = path.with_extension("verify.partial");
        let blocks = blocks_of(owner.size);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&draft)
            .map_err(failed("create", &draft))?;
        file.set_len((words_of(blocks) * 8) as u64)
            .and_then(|()| reserve(&file, ((HEADER_WORDS + blocks) * 8) as u64))
            .and_then(|()| file.write_all_at(&header, 0))
            .and_then(|()| std::fs::rename(&draft, path))
            .map_err(failed("create", &draft))
    }

    /// Whose state it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// What every sector of the disk says about whose it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The directory of the state file.
    pub fn directory(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The last version issued; zero if none was.
    pub fn sequence(&self) -> u64 {
        self.map.load(SEQUENCE_WORD)
    }

    /// Issues the next version. Values whose low half is a mark in the tables are left out.
    pub fn next_version(&self) -> u64 {
        let mut version = self.sequence() + 1;
        while matches!(low(version), 0 | u32::MAX) {
            version += 1;
        }
        self.map.store(SEQUENCE_WORD, version);
        version
    }

    /// What the sector (512 B, counted from the start of the disk) may hold.
    #[inline]
    pub fn window(&self, sector: u64) -> Window {
        Window::unpack(self.map.load(self.cell_of(sector)))
    }

    /// Gives each sector of a partly covered first or last block a cell of its own. Makes room
    /// in the file by a write, so that a full file system is an error here and not a SIGBUS
    /// at a later store.
    pub fn separate(&self, first: u64, count: u64) -> Result<(), StateError> {
        let end = first + count;
        for (edge, block) in [(first, first / SECTORS), (end, end / SECTORS)] {
            if !edge.is_multiple_of(SECTORS) {
                self.split(block).map_err(failed("extend", &self.path))?;
            }
        }
        Ok(())
    }

    fn split(&self, block: u64) -> io::Result<()> {
        let index = HEADER_WORDS + word(block);
        let cell = self.map.load(index);
        if cell != SPLIT {
            let at = (HEADER_WORDS + self.blocks + word(block * SECTORS)) * 8;
            self.file.write_all_at(&[cell.to_le_bytes(); CELLS].concat(), at as u64)?;
            self.map.store(index, SPLIT);
        }
        Ok(())
    }

    /// Changes the windows of a range whose edges are separated.
    pub fn update(&self, first: u64, count: u64, change: impl Fn(Window) -> Window) {
        let mut sector = first;
        while sector < first + count {
            let index = self.cell_of(sector);
            self.map.store(index, change(Window::unpack(self.map.load(index))).pack());
            sector += if index < HEADER_WORDS + self.blocks { SECTORS } else { 1 };
        }
    }

    #[inline]
    fn cell_of(&self, sector: u64) -> usize {
        let index = HEADER_WORDS + word(sector / SECTORS);
        if self.map.load(index) == SPLIT {
            HEADER_WORDS + self.blocks + word(sector)
        } else {
            index
        }
    }
}

/// The name of a disk's state file: bytes other than letters, digits and `-_.` become `%XX`.
pub fn file_name(disk: &str) -> String {
    let mut name = String::with_capacity(disk.len() + SUFFIX.len());
    for byte in disk.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    name + SUFFIX
}

/// The disk whose state file has this name; `None` if it is no such name.
pub fn disk_name(file_name: &str) -> Option<String> {
    let mut rest = file_name.strip_suffix(SUFFIX)?.bytes();
    let mut name = Vec::new();
    while let Some(byte) = rest.next() {
        name.push(if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    String::from_utf8(name).ok()
}

fn failed<'a>(attempt: &'static str, path: &'a Path) -> impl Fn(io::Error) -> StateError + 'a {
    move |source| StateError::Io { attempt, path: path.to_owned(), source }
}

fn word(index: u64) -> usize {
    usize::try_from(index).expect("a mapped table is addressable")
}

fn blocks_of(size: Bytes) -> usize {
    word(size.get().div_ceil(BLOCK as u64))
}

fn words_of(blocks: usize) -> usize {
    HEADER_WORDS + blocks * (1 + CELLS)
}

/// Puts zeroed blocks behind the first bytes of a new file.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => {
            let zeros = vec![0; 1 << 16];
            (0..bytes).step_by(zeros.len()).try_for_each(|at| {
                let length = word((bytes - at).min(zeros.len() as u64));
                file.write_all_at(&zeros[..length], at)
            })
        }
        Err(error) => Err(error.into()),
    }
}

fn draw(owner: &Owner) -> Result<[u8; HEADER_BYTES], String> {
    let name = owner.disk.as_bytes();
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("disk name of {} B, at most {NAME_BYTES_MAX} B fit", name.len()));
    }
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&owner.size.get().to_le_bytes());
    header[24..32].copy_from_slice(&owner.seed.to_le_bytes());
    let length = u32::try_from(name.len()).map_err(|error| error.to_string())?;
    header[32..36].copy_from_slice(&length.to_le_bytes());
    header[NAME_AT..NAME_AT + name.len()].copy_from_slice(name);
    let sum = checksum(&header);
    header[12..16].copy_from_slice(&sum.to_le_bytes());
    Ok(header)
}

fn parse(header: &[u8; HEADER_BYTES]) -> Result<Owner, String> {
    let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| header[at + i]));
    if header[..8] != MAGIC {
        return Err("it does not begin with \"TMverify\"".to_owned());
    }
    if u32_at(8) != FORMAT {
        return Err(format!("its format is {}", u32_at(8)));
    }
    if u32_at(12) != checksum(header) {
        return Err("its header is damaged".to_owned());
    }
    let length = usize::try_from(u32_at(32)).unwrap_or(usize::MAX).min(NAME_BYTES_MAX);
    let name = String::from_utf8_lossy(&header[NAME_AT..NAME_AT + length]);
    Ok(Owner { disk: name.into_owned(), size: Bytes::new(u64_at(16)), seed: u64_at(24) })
}

/// CRC-32 of what never changes: all of the header but the sequence, the checksum itself and
/// what precedes it.
fn checksum(header: &[u8; HEADER_BYTES]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[16..SEQUENCE_WORD * 8]);
    hasher.update(&header[SEQUENCE_WORD * 8 + 8..]);
    hasher.finalize()
}
