//! Eviction of newly created data from the page cache.

use std::fs;
use std::path::Path;

use process_home::careful;

/// Writes all files of a directory to the storage and evicts them from the page cache. The kernel
/// charges a page to the group that first read it, so cached pages would not count against the
/// application's limit.
pub(crate) fn release_cache(directory: &Path) -> std::io::Result<()> {
    // One call for all files: a flush for each of a thousand takes seconds on a slow storage.
    rustix::fs::syncfs(fs::File::open(directory)?)?;
    forget_pages(directory)
}

fn forget_pages(directory: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_pages(&entry.path())?;
        } else if kind.is_file() {
            let file = careful::read(&entry.path())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}
