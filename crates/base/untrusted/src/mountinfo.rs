//! Mounted file systems, as reported by the kernel (`proc_pid_mountinfo(5)`).

/// Mount: one line of `mountinfo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount<'a> {
    /// Identifier of the mount in the kernel.
    pub id: u64,
    /// Major and minor number of the device. For btrfs and some others, no device has this number.
    pub device: (u32, u32),
    /// Directory of the file system that is visible at the mount point.
    pub root: String,
    /// Path of the mount point.
    pub point: String,
    /// Options of this mount, separated by commas.
    pub options: &'a str,
    /// Type of the file system.
    pub kind: &'a str,
    /// Source of the mount: the path of a device, or another text that depends on the type.
    pub source: String,
    /// Options of the file system, shared by all its mounts, separated by commas.
    pub super_options: &'a str,
}

/// Parses the text of `mountinfo`, and iterates over its mounts in order. Lines of any other form
/// are skipped.
pub fn mounts(text: &str) -> impl Iterator<Item = Mount<'_>> {
    text.lines().filter_map(Mount::read)
}

impl<'a> Mount<'a> {
    fn read(line: &'a str) -> Option<Self> {
        // Optional fields in the middle end with a dash.
        let (before, after) = line.split_once(" - ")?;
        let (mut before, mut after) = (before.split(' '), after.split(' '));
        let id = before.next()?.parse().ok()?;
        let (major, minor) = before.nth(1)?.split_once(':')?;
        Some(Self {
            id,
            device: (major.parse().ok()?, minor.parse().ok()?),
            root: unescape(before.next()?),
            point: unescape(before.next()?),
            options: before.next()?,
            kind: after.next()?,
            source: unescape(after.next()?),
            super_options: after.next().unwrap_or_default(),
        })
    }
}

/// Decodes the octal escapes (`\040` is a space) in tables below `/proc`.
pub fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = text.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (bytes[at], octal) {
            (b'\\', Some(byte)) => {
                out.push(byte);
                at += 4;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_with_a_space_and_optional_fields_is_read() {
        let line = "36 35 98:0 /mnt1 /mnt\\040two rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
        let all: Vec<Mount<'_>> = mounts(line).collect();
        let wanted = Mount {
            id: 36,
            device: (98, 0),
            root: "/mnt1".to_owned(),
            point: "/mnt two".to_owned(),
            options: "rw,noatime",
            kind: "ext3",
            source: "/dev/root".to_owned(),
            super_options: "rw,errors=continue",
        };
        assert_eq!(all, [wanted]);
    }

    #[test]
    fn malformed_mount_line_is_skipped_and_options_may_be_missing() {
        let text = "nonsense\n1 0 8:1 / / rw - ext4 /dev/a\n1 0 8:x / / rw - ext4 /dev/a rw\n";
        let all: Vec<Mount<'_>> = mounts(text).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].super_options, "");
    }

    #[test]
    fn escapes_are_undone_once_and_what_is_none_stays() {
        for (text, wanted) in [
            ("a\\040b", "a b"),
            ("\\134040", "\\040"),
            ("\\9", "\\9"),
            ("end\\", "end\\"),
            ("ä\\011", "ä\t"),
        ] {
            assert_eq!(unescape(text), wanted, "{text}");
        }
    }
}
