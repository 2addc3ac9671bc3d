//! Page cache of made data.

use std::fs;
use std::path::Path;

use mail_server::careful;

/// Writes all files of a directory to the storage and takes them out of the page cache: a page is
/// charged to the group that read it first, and that would be nobody's.
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
