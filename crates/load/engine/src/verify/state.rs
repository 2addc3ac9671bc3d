//! State file of one virtual disk: submitted and acknowledged writes by block (drawn in
//! `docs/formats/verification.md`).

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use datastore::{HeldDir, OwnDir};
use rustix::fs::{FallocateFlags, fallocate};

use super::error::StateError;
use super::layout::{
    CELLS, HEADER_BYTES, HEADER_WORDS, Owner, SECTORS, SEQUENCE_WORD, blocks_of, draw, file_name,
    parse, word, words_of,
};
use super::map::Map;
use super::sector::Identity;
use super::window::{Window, low};

/// Value of a block's cell if its sectors have separate cells.
const SPLIT: u64 = u64::MAX;

/// An open, locked state file.
#[derive(Debug)]
pub struct State {
    map: Map,
    file: File,
    directory: HeldDir,
    path: PathBuf,
    owner: Owner,
    identity: Identity,
    blocks: usize,
}

impl State {
    /// Opens the state of this disk, or creates it if there is none.
    pub fn open_or_create(directory: &OwnDir, owner: Owner) -> Result<Self, StateError> {
        match Self::open(directory, &owner.disk) {
            Ok(state) if state.owner == owner => Ok(state),
            Ok(state) => Err(StateError::Other {
                path: state.path.clone(),
                found: state.owner.clone(),
                wanted: owner,
            }),
            Err(StateError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::create(directory, &owner)?;
                Self::open(directory, &owner.disk)
            }
            Err(error) => Err(error),
        }
    }

    /// Opens the state file of a disk in a directory.
    pub fn open(directory: &HeldDir, disk: &str) -> Result<Self, StateError> {
        let name = entry_name(disk);
        let path = shown(directory, &name);
        let path = path.as_path();
        let file = directory.open_file(&name).map_err(failed("open", path))?;
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
        let (directory, path) = (directory.clone(), path.to_owned());
        Ok(Self { map, file, directory, path, owner, identity, blocks })
    }

    /// Writes a new state file under a temporary name, so that a file with the final name is always
    /// complete.
    fn create(directory: &OwnDir, owner: &Owner) -> Result<(), StateError> {
        let name = entry_name(&owner.disk);
        let path = &shown(directory, &name);
        let header =
            draw(owner).map_err(|reason| StateError::Format { path: path.clone(), reason })?;
        let draft = draft_name(&name);
        // A kill may have left an earlier draft.
        let _ = directory.unmake(&draft);
        let blocks = blocks_of(owner.size);
        let file = directory.create(&draft).map_err(failed("create", path))?;
        file.set_len((words_of(blocks) * 8) as u64)
            .and_then(|()| reserve(&file, ((HEADER_WORDS + blocks) * 8) as u64))
            .and_then(|()| file.write_all_at(&header, 0))
            .and_then(|()| directory.publish(&file, &draft, &name))
            .inspect_err(|_| drop(directory.unmake(&draft)))
            .map_err(failed("create", path))
    }

    /// Makes all stores durable, so that another host sees them.
    pub fn sync(&self) -> io::Result<()> {
        // A sync writes all dirty pages of the file, those of the mapping too.
        self.file.sync_data()
    }

    /// Returns an error if the file is shorter than its mapping, because the next access would then
    /// end the program (SIGBUS). Called before each use, because a lock does not prevent others
    /// from shortening a file.
    pub fn check_length(&self) -> Result<(), StateError> {
        let length = self.file.metadata().map(|found| found.len());
        let bytes = length.map_err(failed("look at", &self.path))?;
        let wanted = (words_of(self.blocks) * 8) as u64;
        if bytes < wanted {
            return Err(StateError::Short { path: self.path.clone(), bytes, wanted });
        }
        Ok(())
    }

    /// Returns the disk and verification to which the state belongs.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns the identity that every sector of the disk carries.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the directory of the state file.
    pub fn directory(&self) -> &HeldDir {
        &self.directory
    }

    /// Returns the last version issued; zero if none was.
    pub fn sequence(&self) -> u64 {
        self.map.load(SEQUENCE_WORD)
    }

    /// Issues the next version. Skips values whose low half has another meaning in the tables.
    pub fn next_version(&self) -> u64 {
        let mut version = self.sequence() + 1;
        while matches!(low(version), 0 | u32::MAX) {
            version += 1;
        }
        self.map.store(SEQUENCE_WORD, version);
        version
    }

    /// Returns the versions that the sector may hold. `sector` counts 512 B units from the start of
    /// the disk.
    #[inline]
    pub fn window(&self, sector: u64) -> Window {
        Window::unpack(self.map.load(self.cell_of(sector)))
    }

    /// Gives each sector of a partly covered first or last block a separate cell. Allocates the
    /// file blocks by a write, so that a full file system is an error here and not a SIGBUS at a
    /// later store.
    pub fn separate(&self, first: u64, count: u64) -> Result<(), StateError> {
        self.check_length()?;
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

    /// Changes the windows of a range whose edge blocks have been separated.
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

impl Drop for State {
    /// Unlocks the file explicitly. Closing it is not enough: a child process that was forked at
    /// this moment, and has not yet executed its program, would keep the lock.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Returns the file name of a disk's state, as a C string.
pub fn entry_name(disk: &str) -> CString {
    CString::new(file_name(disk)).expect("all special bytes are encoded")
}

/// Returns the temporary name of a state file that is being written.
fn draft_name(name: &CStr) -> CString {
    CString::new([name.to_bytes(), b".partial"].concat()).expect("a name holds no NUL")
}

fn shown(directory: &HeldDir, name: &CStr) -> PathBuf {
    directory.path().join(name.to_string_lossy().as_ref())
}

fn failed<'a>(attempt: &'static str, path: &'a Path) -> impl Fn(io::Error) -> StateError + 'a {
    move |source| StateError::Io { attempt, path: path.to_owned(), source }
}

/// Allocates zeroed blocks for the first bytes of a new file.
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
