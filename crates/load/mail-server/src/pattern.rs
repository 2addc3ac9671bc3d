//! Mailboxes that are filled once, by deliveries, and copied for each tile.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::{Account, Tree, release_cache};
use state_machine::{SplitMix, mix};

use crate::error::failed;
use crate::server::{Parts, own_directory};
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
    /// of the mails depend on the seed. Some hundred mails a second are made, so `go_on` is asked
    /// before each.
    ///
    /// # Errors
    /// If Dovecot cannot be started or refuses a mail, or `go_on` returns false.
    pub fn make(
        programs: &Programs,
        setup: &Setup<'_>,
        (seed, mails): (u64, u32),
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self, MailServerError> {
        within("the number of mails", mails, MAILS_MAX, "0 to 100000")?;
        let mut server = MailServer::start_parts(programs, setup, Parts::Dovecot)?;
        server.ready(READY_MAX)?;
        let mut session = Session::lmtp(server.ports().lmtp)?;
        let mut numbers = SplitMix(mix(seed));
        for mailbox in 1..=PATTERN_MAILBOXES {
            for _ in 0..mails {
                if !go_on() {
                    return Err(MailServerError::Stopped);
                }
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
    /// number of bytes. `go_on` is asked before each mailbox.
    ///
    /// # Errors
    /// If the tile already has mailboxes, a file cannot be copied, or `go_on` returns false.
    pub fn copy(
        &self,
        data: &Path,
        account: &Account,
        count: u32,
        seed: u64,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<u64, MailServerError> {
        within("the number of mailboxes", count, MAILBOXES_MAX, "0 to 100000")?;
        let target = data.join("mail");
        // The user gets the whole at its end: until then nobody else can put anything into it.
        DirBuilder::new().mode(0o700).create(&target).map_err(failed("make", &target))?;
        let pattern = Tree::open(&self.mailboxes)?;
        let copy = |&mailbox: &u32| {
            if !go_on() {
                return Err(MailServerError::Stopped);
            }
            let from = PathBuf::from(format!("u{}", (mailbox - 1) % PATTERN_MAILBOXES + 1));
            let to = target.join(format!("u{mailbox}"));
            let seed = mix(mix(seed) ^ u64::from(mailbox));
            // Other content of Dovecot's files stays.
            let change = |name: &OsStr, bytes: &mut Vec<u8>| {
                if name.as_encoded_bytes().starts_with(b"m.") {
                    replace_text(bytes, seed);
                }
            };
            Ok(pattern.copy(&from, &to, account, &change)?)
        };
        // Most of the time is the kernel's, which makes some ten thousand files.
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mailboxes: Vec<u32> = (1..=count).collect();
        let copied = parallel::map(&mailboxes, threads, copy).into_iter();
        let bytes = copied.sum::<Result<u64, _>>()?;
        release_cache(&target).map_err(failed("write back", &target))?;
        own_directory(account, &target)?;
        Ok(bytes)
    }
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
