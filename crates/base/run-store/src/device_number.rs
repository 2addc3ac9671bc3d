//! Device numbers of Linux.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

/// Returns the device number (`st_dev`) of the device on which a path lies, or on which it would be
/// created.
pub fn device_of(path: &Path) -> io::Result<u64> {
    let absolute = std::path::absolute(path)?;
    let mut last = None;
    for ancestor in absolute.ancestors() {
        match fs::metadata(ancestor) {
            Ok(metadata) => return Ok(metadata.dev()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

/// Converts a device number as Linux encodes it into `major:minor` (`include/linux/kdev_t.h`,
/// `new_encode_dev`, and glibc's `gnu_dev_major`).
pub(crate) fn major_minor(device: u64) -> String {
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & !0xff & 0xffff_ffff);
    format!("{major}:{minor}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_print_as_the_kernel_does() {
        assert_eq!(major_minor(0x0801), "8:1");
        assert_eq!(major_minor(0x0010_0301), "3:257");
    }
}
