//! Direct I/O on an open file, and the alignment that it needs.

use std::fs::File;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl, statx};

use crate::preflight::{DIRECT_REFUSED, Warning};

/// Alignment if the kernel does not report one (statx does since Linux 6.1): the larger of the two
/// usual sector sizes, in bytes.
const UNKNOWN_ALIGNMENT: u32 = 4096;
/// Smallest unit of I/O in Tilemark, in bytes.
const SECTOR: u32 = 512;

/// Mode in which a file is read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub direct: bool,
    pub alignment: u32,
}

/// Sets `O_DIRECT` on the open file, unless `buffered`. The file is not opened again by name,
/// because the name could lead to another file. If the file system refuses, the page cache is used,
/// with a warning.
pub(crate) fn choose(file: &File, name: &str, buffered: bool) -> (Access, Option<Warning>) {
    let through_cache = Access { direct: false, alignment: SECTOR };
    if buffered {
        let text = format!("{name} is read and written through the page cache, as asked");
        return (through_cache, Some(Warning::new("buffered", text)));
    }
    let reported = reported_alignment(file);
    let set = fcntl_getfl(file).and_then(|flags| fcntl_setfl(file, flags | OFlags::DIRECT));
    match (set, reported) {
        (Ok(()), Some(alignment)) if alignment > 0 => {
            (Access { direct: true, alignment: alignment.max(SECTOR) }, None)
        }
        (Ok(()), None) => (Access { direct: true, alignment: UNKNOWN_ALIGNMENT }, None),
        (set, _) => {
            if set.is_ok() {
                let _ = fcntl_getfl(file)
                    .and_then(|flags| fcntl_setfl(file, flags.difference(OFlags::DIRECT)));
            }
            let text = format!(
                "the file system of {name} refuses O_DIRECT, so the page cache is measured too"
            );
            (through_cache, Some(Warning::new(DIRECT_REFUSED, text)))
        }
    }
}

/// Returns the alignment for direct I/O that statx reports; 0 if direct I/O is impossible, `None`
/// if nothing is reported.
fn reported_alignment(file: &File) -> Option<u32> {
    let found = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
    let known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN);
    known.then(|| {
        if found.stx_dio_mem_align == 0 {
            0
        } else {
            found.stx_dio_mem_align.max(found.stx_dio_offset_align)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_direct_io_falls_back_to_the_page_cache_and_warns() {
        let file = File::open("/proc/self/status").expect("proc");
        let (access, warning) = choose(&file, "here", false);
        assert!(!access.direct);
        assert_eq!(warning.map(|warning| warning.id).as_deref(), Some("direct-refused"));
        assert!(!fcntl_getfl(&file).expect("flags").contains(OFlags::DIRECT));
    }

    #[test]
    fn buffered_on_request_never_sets_direct_io() {
        let file = File::open("/proc/self/exe").expect("executable");
        let (access, warning) = choose(&file, "here", true);
        assert_eq!(access, Access { direct: false, alignment: SECTOR });
        assert_eq!(warning.map(|warning| warning.id).as_deref(), Some("buffered"));
    }
}
