//! Identities of 16 bytes: random, or derived from other names.

use std::fs::File;
use std::io::{self, Read};

use tier::Session;
use tier::format::Uuid;

/// Maximum length of a disk's name, in characters. Our choice: enough for a UUID with a word before
/// it.
pub(crate) const NAME_MAX: usize = 64;

/// Returns a random, unique identity.
pub(crate) fn random() -> io::Result<Uuid> {
    let mut uuid = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut uuid)?;
    Ok(uuid)
}

/// Returns a unique number for this opening of a set or disk. Older copies are recognised by it.
pub(crate) fn session() -> io::Result<Session> {
    let random = u128::from_le_bytes(random()?);
    // 0 means that there was no opening.
    let opening = u64::try_from(random >> 64).unwrap_or(0).max(1);
    Ok(Session { boot: boot(), opening })
}

/// Returns the identity of this boot of the host; zero if the kernel does not report one.
pub(crate) fn boot() -> Uuid {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    parse(&text).unwrap_or_default()
}

/// Returns the identity of this host; zero if it has none.
pub(crate) fn host() -> Uuid {
    let text = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    parse(&text).unwrap_or_default()
}

/// Parses sixteen bytes in hexadecimal digits, with or without hyphens.
fn parse(text: &str) -> Option<Uuid> {
    let digits: Vec<u8> = text.trim().bytes().filter(|byte| *byte != b'-').collect();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?))
        .collect();
    bytes?.try_into().ok()
}

/// Returns the identity of a disk in every set: the disk's name if that is shorter than 16 bytes,
/// otherwise a hash of the name.
pub(crate) fn of_disk(name: &str) -> Uuid {
    let mut uuid = [0; 16];
    if name.len() < 16 {
        uuid[..name.len()].copy_from_slice(name.as_bytes());
        return uuid;
    }
    uuid[..8].copy_from_slice(&tier::format::payload_sum(name.as_bytes()).to_be_bytes());
    let backwards: Vec<u8> = name.bytes().rev().collect();
    uuid[8..].copy_from_slice(&tier::format::payload_sum(&backwards).to_be_bytes());
    uuid
}

/// Returns the name of the export with a disk's copy on a holder.
pub(crate) fn copy_name(disk: &str, generation: u64) -> String {
    format!("log/{disk}/{generation}")
}

/// Returns true if a name may be part of paths and addresses.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_what_the_kernel_prints() {
        let expected: Uuid = std::array::from_fn(|at| u8::try_from(at).expect("small") * 17);
        assert_eq!(parse("00112233-4455-6677-8899-aabbccddeeff\n"), Some(expected));
        assert_eq!(parse("0011"), None);
        assert_eq!(parse("zz112233-4455-6677-8899-aabbccddeeff"), None);
    }

    #[test]
    fn disks_of_different_names_have_different_ones() {
        let names = [
            "vm1",
            "vm2",
            "a-name-that-is-rather-long-1",
            "a-name-that-is-rather-long-2",
            "exactly-16-bytes",
        ];
        let mut uuids: Vec<Uuid> = names.iter().map(|name| of_disk(name)).collect();
        uuids.sort_unstable();
        uuids.dedup();
        assert_eq!(uuids.len(), names.len());
    }
}
