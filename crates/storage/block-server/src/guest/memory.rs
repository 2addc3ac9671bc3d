use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FsWord, SealFlags, fcntl_get_seals, fstatfs, readlink};
use vhost::vhost_user::message::VhostUserMemoryRegion;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap};

/// File system type of a memfd of ordinary pages (linux/magic.h, `TMPFS_MAGIC`).
const ORDINARY_PAGES: FsWord = 0x0102_1994;

/// Memory of a VM, with the addresses that its front end uses.
#[derive(Debug)]
pub(crate) struct Memory {
    pub guest: GuestMemoryMmap,
    places: Vec<Region>,
}

/// Region of shared memory: its address in the front end, its address in the guest, and its size in
/// bytes.
#[derive(Debug, Clone, Copy)]
struct Region {
    front_end: u64,
    guest: u64,
    bytes: u64,
}

impl Memory {
    /// Maps the regions that a front end sent.
    pub fn map(regions: &[VhostUserMemoryRegion], files: Vec<File>) -> io::Result<Self> {
        let (mut ranges, mut places) = (Vec::new(), Vec::new());
        for (region, file) in regions.iter().zip(files) {
            check_backed(&file, region.mmap_offset, region.memory_size)?;
            let VhostUserMemoryRegion { guest_phys_addr: guest, memory_size: bytes, .. } = *region;
            places.push(Region { front_end: region.user_addr, guest, bytes });
            let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
            let file = FileOffset::new(file, region.mmap_offset);
            ranges.push((GuestAddress(guest), bytes, Some(file)));
        }
        ranges.sort_by_key(|(start, ..)| *start);
        let guest = GuestMemoryMmap::from_ranges_with_files(ranges).map_err(io::Error::other)?;
        Ok(Self { guest, places })
    }

    /// Translates a front end's address into a guest address; `None` outside all regions.
    pub fn translate(&self, front_end: u64) -> Option<u64> {
        self.places.iter().find_map(|place| {
            let at = front_end.checked_sub(place.front_end).filter(|at| *at < place.bytes)?;
            place.guest.checked_add(at)
        })
    }
}

/// Reason why memory cannot be mapped safely.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub(crate) enum Unsafe {
    #[error("the owner of the VM's memory could shrink it, which would crash the server on access")]
    Shrinks,
    #[error(
        "the VM's memory has huge pages or belongs to a device; a missing page would crash the \
        server on access"
    )]
    Special,
}

impl Unsafe {
    /// Returns a hint on how to solve the problem.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Shrinks => {
                "give it memory of memfd, which QEMU seals (memory-backend-memfd; libvirt: <source type='memfd'/>)"
            }
            Self::Special => {
                "give the VM memory of memfd with ordinary pages (memory-backend-memfd without \
                hugetlb=on)"
            }
        }
    }
}

/// Checks that this range of the file is backed and stays backed. Accessing mapped memory without
/// backing would kill the process.
pub(crate) fn check_backed(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    match fcntl_get_seals(file) {
        Ok(seals) if seals.contains(SealFlags::SHRINK) => {}
        _ => return Err(io::Error::other(Unsafe::Shrinks)),
    }
    // A huge page is allocated on first touch, and none may be free. A mapping that reserves
    // huge pages does not help, because the owner can punch holes. So the types known to be safe
    // are listed, not the unsafe ones.
    if fstatfs(file)?.f_type != ORDINARY_PAGES {
        return Err(io::Error::other(Unsafe::Special));
    }
    let there = file.metadata()?.len();
    match offset.checked_add(bytes) {
        Some(end) if end <= there => Ok(()),
        _ => Err(io::Error::other(format!(
            "{bytes} B of memory at offset {offset} are outside the file of {there} B"
        ))),
    }
}

/// Checks that the file is an eventfd: a write to it never blocks, and a read of it has no effect
/// elsewhere.
pub(crate) fn check_event(file: &File) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    match readlink(link, Vec::new()) {
        Ok(kind) if kind.as_bytes() == b"anon_inode:[eventfd]" => Ok(()),
        _ => Err(io::Error::other("a queue's kick or call is not an eventfd")),
    }
}
