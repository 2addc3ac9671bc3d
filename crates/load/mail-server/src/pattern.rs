//! Mailboxes that are filled once, by deliveries, and copied for each tile.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::Account;
use rustix::fs::{Advice, Mode, OFlags, ResolveFlags, fadvise, openat2, syncfs};
use state_machine::{SplitMix, mix};

use crate::error::failed;
use crate::server::{Existing, Parts, make_directory};
use crate::text::replace_text;
use crate::{MailServer, MailServerError, Programs, Session, Setup};

/// Number of mailboxes in a pattern. Our choice: deliveries take a thousand times as long as
/// copies.
pub const PATTERN_MAILBOXES: u32 = 8;
/// Maximum number of mailboxes of a tile, and maximum number of mails in a mailbox. Our choice.
const MAILBOXES_MAX: u32 = 100_000;
const MAILS_MAX: u32 = 100_000;
/// Maximum time until Dovecot accepts mail.
const READY_MAX: Duration = Duration::from_secs(30);

/// Sizes of mails in kB, with their weights: LoadSim's mix of messages (Compaq ECG082/0898, mean
/// 3.9 kB).
const SIZES: [Size; 7] = [
    Size { kilobytes: 1, weight: 60 },
    Size { kilobytes: 2, weight: 16 },
    Size { kilobytes: 4, weight: 4 },
    Size { kilobytes: 10, weight: 6 },
    Size { kilobytes: 15, weight: 4 },
    Size { kilobytes: 16, weight: 4 },
    Size { kilobytes: 43, weight: 2 },
];

struct Size {
    kilobytes: u32,
    weight: u32,
}

/// Directory with the filled mailboxes `u1` to `u8`, from which tiles are copied. No server uses
/// it.
#[derive(Debug)]
pub struct Pattern {
    mailboxes: PathBuf,
}

impl Pattern {
    /// Creates a pattern. Dovecot runs in `setup` meanwhile, and gets each mail by LMTP. The sizes
    /// of the mails depend on the seed.
    ///
    /// # Errors
    /// If Dovecot cannot be started or refuses a mail.
    pub fn make(
        programs: &Programs,
        setup: &Setup<'_>,
        seed: u64,
        mails: u32,
    ) -> Result<Self, MailServerError> {
        within("the number of mails", mails, MAILS_MAX, "0 to 100000")?;
        let mut server = MailServer::start_parts(programs, setup, Parts::Dovecot)?;
        server.ready(READY_MAX)?;
        let mut session = Session::lmtp(server.ports().lmtp)?;
        let mut numbers = SplitMix(mix(seed));
        for mailbox in 1..=PATTERN_MAILBOXES {
            for _ in 0..mails {
                let bytes = size_of(numbers.next().unwrap_or_default());
                session.call(&format!("u0 u{mailbox} {bytes}"))?;
            }
        }
        // Closed first, since Dovecot waits for its clients before it ends.
        drop(session);
        server.stop()?;
        Ok(Self { mailboxes: setup.data.join("mail") })
    }

    /// Copies the pattern to the mailboxes `u1` to `u<count>` of a tile, in its data directory.
    /// Each mailbox gets its own text, generated from the seed, in mails of the same sizes.
    /// Finally, all data is written to the storage and evicted from the page cache. Returns the
    /// number of bytes.
    ///
    /// # Errors
    /// If the tile already has mailboxes, or a file cannot be copied.
    pub fn copy(
        &self,
        data: &Path,
        account: &Account,
        count: u32,
        seed: u64,
    ) -> Result<u64, MailServerError> {
        within("the number of mailboxes", count, MAILBOXES_MAX, "0 to 100000")?;
        let target = data.join("mail");
        // The user gets the whole at its end: until then nobody else can put anything into it.
        DirBuilder::new().mode(0o700).create(&target).map_err(failed("make", &target))?;
        let pattern = File::open(&self.mailboxes).map_err(failed("open", &self.mailboxes))?;
        let mut bytes = 0;
        for mailbox in 1..=count {
            let from = PathBuf::from(format!("u{}", (mailbox - 1) % PATTERN_MAILBOXES + 1));
            let to = target.join(format!("u{mailbox}"));
            let seed = mix(mix(seed) ^ u64::from(mailbox));
            let copy = Copy { pattern: &pattern, root: &self.mailboxes, account, seed };
            bytes += copy.directory(&from, &to)?;
        }
        let directory = File::open(&target).map_err(failed("open", &target))?;
        syncfs(&directory).map_err(|source| failed("write back", &target)(source.into()))?;
        forget(&target)?;
        account.own_directory(&target).map_err(failed("change the owner of", &target))?;
        Ok(bytes)
    }
}

/// Copy of one mailbox in progress.
struct Copy<'a> {
    /// Directory of the pattern, open, and its path.
    pattern: &'a File,
    root: &'a Path,
    account: &'a Account,
    seed: u64,
}

impl Copy<'_> {
    /// Copies a directory below the pattern's directory. Returns the number of bytes.
    fn directory(&self, from: &Path, to: &Path) -> Result<u64, MailServerError> {
        make_directory(to, self.account, Existing::Refused)?;
        let mut bytes = 0;
        for entry in sorted(&self.root.join(from))? {
            let (source, target) = (from.join(&entry.name), to.join(&entry.name));
            bytes += match entry.is_directory {
                true => self.directory(&source, &target)?,
                false => self.file(&source, &target)?,
            };
        }
        Ok(bytes)
    }

    /// Copies a file by reading and writing, because a clone would share its blocks with the
    /// pattern. Dovecot's files have at most 10 MB plus one mail.
    fn file(&self, from: &Path, to: &Path) -> Result<u64, MailServerError> {
        // The servers' user owns the pattern: no link of theirs leads this process elsewhere.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let path = self.root.join(from);
        let file = openat2(self.pattern, from, flags, Mode::empty(), within);
        let file = file.map_err(|source| failed("open", &path)(source.into()))?;
        let mut bytes = Vec::new();
        File::from(file).read_to_end(&mut bytes).map_err(failed("read", &path))?;
        let is_mails =
            from.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"m."));
        if is_mails {
            replace_text(&mut bytes, self.seed);
        }
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
        let mut file = file.map_err(failed("create", to))?;
        file.write_all(&bytes).map_err(failed("write", to))?;
        self.account.own_file(&file).map_err(failed("change the owner of", to))?;
        Ok(bytes.len() as u64)
    }
}

struct Entry {
    name: std::ffi::OsString,
    is_directory: bool,
}

/// Returns the files and directories in a directory, sorted by name. Other entries are skipped.
fn sorted(path: &Path) -> Result<Vec<Entry>, MailServerError> {
    let entries = || {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_file() || kind.is_dir() {
                all.push(Entry { name: entry.file_name(), is_directory: kind.is_dir() });
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    };
    entries().map_err(failed("list", path))
}

/// Evicts the written pages of a directory from the page cache. Otherwise they would be charged to
/// this process and not to the servers, and their first reads would not reach the storage.
fn forget(path: &Path) -> Result<(), MailServerError> {
    for entry in sorted(path)? {
        let path = path.join(&entry.name);
        if entry.is_directory {
            forget(&path)?;
        } else {
            let file = File::open(&path).map_err(failed("open", &path))?;
            let dropped = fadvise(&file, 0, None, Advice::DontNeed);
            dropped.map_err(|source| failed("drop cached pages of", &path)(source.into()))?;
        }
    }
    Ok(())
}

fn size_of(number: u64) -> u32 {
    let sum: u32 = SIZES.iter().map(|size| size.weight).sum();
    let mut at = u32::try_from(number % u64::from(sum)).unwrap_or_default();
    for Size { kilobytes, weight } in SIZES {
        if at < weight {
            return kilobytes * 1000;
        }
        at -= weight;
    }
    1000
}

fn within(
    what: &'static str,
    seen: u32,
    most: u32,
    allowed: &'static str,
) -> Result<(), MailServerError> {
    let seen = u64::from(seen);
    if seen > u64::from(most) {
        return Err(MailServerError::Amount { what, seen, allowed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_leaves_links_behind_and_follows_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        fs::create_dir_all(path("pattern/u1/storage")).expect("made");
        fs::write(path("secret"), "of somebody else").expect("written");
        fs::write(path("pattern/u1/storage/m.1"), "mails").expect("written");
        std::os::unix::fs::symlink(path("secret"), path("pattern/u1/m.2")).expect("linked");
        std::os::unix::fs::symlink(directory.path(), path("pattern/u1/more")).expect("linked");
        fs::create_dir(path("tile")).expect("made");
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let account = Account { uid, gid, user: "u".into(), group: "g".into() };
        let pattern = Pattern { mailboxes: path("pattern") };
        assert_eq!(pattern.copy(&path("tile"), &account, 1, 1).expect("copied"), 5);
        let entries = sorted(&path("tile/mail/u1")).expect("listed");
        assert_eq!(entries.iter().map(|own| &own.name).collect::<Vec<_>>(), ["storage"]);
        // A link that comes after the list was made: the file itself is refused.
        let opened = File::open(path("pattern")).expect("opened");
        let root = path("pattern");
        let copy = Copy { pattern: &opened, root: &root, account: &account, seed: 1 };
        for name in ["u1/m.2", "u1/more/secret", "../secret"] {
            let error = copy.file(Path::new(name), &path("stolen")).expect_err(name);
            assert!(matches!(error, MailServerError::Io { attempt: "open", .. }), "{error}");
        }
        assert!(!path("stolen").exists());
    }

    #[test]
    fn sizes_have_the_published_mean_and_weights() {
        let mut numbers = SplitMix(1);
        let sizes: Vec<u32> =
            (0..96_000).map(|_| size_of(numbers.next().expect("endless"))).collect();
        let mean = sizes.iter().map(|size| f64::from(*size)).sum::<f64>() / 96_000.0;
        assert!((mean - 3937.5).abs() < 100.0, "{mean}");
        let small = sizes.iter().filter(|size| **size == 1000).count();
        assert!((58_000..62_000).contains(&small), "{small}");
        let all: std::collections::BTreeSet<u32> = sizes.into_iter().collect();
        assert_eq!(
            all.into_iter().collect::<Vec<_>>(),
            [1000, 2000, 4000, 10_000, 15_000, 16_000, 43_000]
        );
    }
}
