use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use super::RunDirError;
use crate::files;

/// Difference between a stored run and its `SHA256SUMS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChecksumProblem {
    /// The content differs from what was written.
    Changed {
        /// Name of the file.
        name: String,
    },
    /// `SHA256SUMS` lists a file that does not exist.
    Missing {
        /// Name of the file.
        name: String,
    },
    /// The file did not exist when the run was finished.
    Added {
        /// Name of the file.
        name: String,
    },
    /// A line of `SHA256SUMS` cannot be parsed.
    Unreadable {
        /// Number of the line, from 1.
        line: usize,
    },
}

/// Returns the SHA-256 of `bytes`, in hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
        text
    })
}

fn of_file(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (untrusted::open(path)?, Sha256::new());
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&digest.finalize())),
            length => digest.update(&buffer[..length]),
        }
    }
}

/// Lists the names of all files with checksums, sorted: all but `SHA256SUMS` and the lock.
fn names(directory: &Path) -> Result<Vec<String>, RunDirError> {
    let mut names = Vec::new();
    let listing = || RunDirError::io("listing", directory);
    for entry in fs::read_dir(directory).map_err(listing())? {
        let entry = entry.map_err(listing())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_file = entry.file_type().map_err(listing())?.is_file();
        if is_file && name != files::SUMS && name != files::LOCK {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Computes the content of `SHA256SUMS`. Every file is first flushed to its device.
pub(super) fn of_directory(directory: &Path) -> Result<String, RunDirError> {
    let mut sums = String::new();
    for name in names(directory)? {
        let path = directory.join(&name);
        untrusted::open(&path)
            .and_then(|file| file.sync_all())
            .map_err(RunDirError::io("flushing", &path))?;
        let sum = of_file(&path).map_err(RunDirError::io("reading", &path))?;
        writeln!(sums, "{sum}  {name}").expect("writing to a string cannot fail");
    }
    Ok(sums)
}

/// Compares the files of a directory with its `SHA256SUMS`.
pub(super) fn check(directory: &Path) -> Result<Vec<ChecksumProblem>, RunDirError> {
    let path = directory.join(files::SUMS);
    let text = untrusted::read_text(&path).map_err(RunDirError::io("reading", &path))?;
    let (mut problems, mut unlisted) = (Vec::new(), names(directory)?);
    for (line, content) in text.lines().enumerate() {
        let Some((sum, name)) = content.split_once("  ") else {
            problems.push(ChecksumProblem::Unreadable { line: line + 1 });
            continue;
        };
        let found = unlisted.iter().position(|other| other == name);
        let Some(position) = found else {
            problems.push(ChecksumProblem::Missing { name: name.to_owned() });
            continue;
        };
        unlisted.remove(position);
        let path = directory.join(name);
        if of_file(&path).map_err(RunDirError::io("reading", &path))? != sum {
            problems.push(ChecksumProblem::Changed { name: name.to_owned() });
        }
    }
    problems.extend(unlisted.into_iter().map(|name| ChecksumProblem::Added { name }));
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_sha256_of_fips_180() {
        // FIPS 180-4, example SHA-256("abc").
        assert_eq!(
            sha256_hex(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
