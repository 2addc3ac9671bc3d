//! Conversion between names of disks and names of their files.

use std::ffi::CString;

use crate::DatastoreError;

/// File name suffix of a disk.
const DISK_SUFFIX: &str = ".disk";
/// Maximum length of a file name on all file systems (`NAME_MAX`).
const NAME_MAX: usize = 255;

/// Returns the file name of a disk. `/` becomes `.`, and every character that is not a letter,
/// digit, `-` or `_` becomes `%XX`, so that different disks have different files.
pub(crate) fn disk_file_name(disk: &str) -> Result<CString, DatastoreError> {
    file_name(disk, DISK_SUFFIX)
}

/// Returns the name of a disk's file with another suffix, like [`disk_file_name`].
pub(crate) fn file_name(disk: &str, suffix: &str) -> Result<CString, DatastoreError> {
    let mut name = String::with_capacity(disk.len() + suffix.len());
    for byte in disk.bytes() {
        match byte {
            b'/' => name.push('.'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => name += &format!("%{other:02X}"),
        }
    }
    name += suffix;
    if disk.is_empty() || name.len() > NAME_MAX {
        let length = if disk.is_empty() { 0 } else { name.len() };
        return Err(DatastoreError::BadName { disk: disk.to_owned(), length, max: NAME_MAX });
    }
    Ok(CString::new(name).expect("every byte was encoded"))
}

/// Returns the disk to which a file name belongs; the inverse of `disk_file_name`.
pub(crate) fn disk_name(file_name: &str) -> Option<String> {
    let mut name = Vec::new();
    let mut bytes = file_name.strip_suffix(DISK_SUFFIX)?.bytes();
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'.' => b'/',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_disk_file_cannot_leave_its_directory() {
        let name = disk_file_name("../../etc/passwd").expect("short enough");
        assert_eq!(name.to_str(), Ok("%2E%2E.%2E%2E.etc.passwd.disk"));
        assert!(disk_file_name("").is_err());
        assert!(disk_file_name(&"x".repeat(300)).is_err());
    }

    proptest! {
        #[test]
        fn different_disks_have_different_files(a in ".{1,40}", b in ".{1,40}") {
            if let (Ok(x), Ok(y)) = (disk_file_name(&a), disk_file_name(&b)) {
                prop_assert_eq!(a == b, x == y);
                prop_assert!(!x.to_bytes().contains(&b'/'));
            }
        }

        #[test]
        fn a_disks_name_is_read_back_from_its_file(name in "[a-z0-9/._ -]{1,40}") {
            let file = disk_file_name(&name).expect("short enough");
            prop_assert_eq!(disk_name(file.to_str().expect("plain text")), Some(name));
        }
    }
}
