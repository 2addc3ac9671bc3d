//! Queue and deliveries, according to Exim. An accepted mail is not delivered yet.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use process_home::careful;

/// Maximum number of log bytes read per call.
const READ_MAX: u64 = 16 << 20;

/// Deliveries since the previous call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delivered {
    /// Time from a mail's arrival at the server to its delivery into a mailbox, for each recipient.
    /// Exim reports it with a resolution of 1 ms below 5 s, and of 1 s above.
    pub delays: Vec<Duration>,
    /// Mails that were accepted.
    pub accepted: u64,
    /// Recipients whose delivery failed for good. The sender gets an error instead.
    pub failed: u64,
    /// Attempts that failed temporarily and are repeated.
    pub deferred: u64,
}

impl Delivered {
    /// Parses lines of Exim's main log (The Exim Specification, chapter 52).
    pub(crate) fn read(lines: &str) -> Self {
        let mut all = Self::default();
        lines.lines().for_each(|line| all.add(line));
        all
    }

    /// Parses and adds a line `DATE TIME ID FLAG ...`.
    fn add(&mut self, line: &str) {
        let mut words = line.split(' ').skip(3);
        match words.next() {
            // A sender <> is the server's own error message.
            Some("<=") if words.next() != Some("<>") => self.accepted += 1,
            Some("=>" | "->") => {
                let delay = words.filter_map(|word| word.strip_prefix("QT=")).last();
                self.delays.extend(delay.and_then(parse_time));
            }
            Some("**") => self.failed += 1,
            Some("==") => self.deferred += 1,
            _ => {}
        }
    }
}

/// Parses a time as Exim prints it: `0.251s`, or `1h2m5s` from 5 s up.
fn parse_time(text: &str) -> Option<Duration> {
    let (mut rest, mut sum) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|own: char| own.is_ascii_alphabetic())?);
        let unit = match behind.as_bytes()[0] {
            b's' => 1.0,
            b'm' => 60.0,
            b'h' => 3600.0,
            b'd' => 86_400.0,
            b'w' => 604_800.0,
            _ => return None,
        };
        let seconds = number.parse::<f64>().ok()? * unit;
        sum = sum.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = &behind[1..];
    }
    Some(sum)
}

/// Returns the number of mails in a queue, counted by their header files. The queue may have
/// subdirectories.
pub(crate) fn queue_length(spool: &Path) -> io::Result<u64> {
    let mut length = 0;
    for entry in entries(&spool.join("input"))? {
        length += match entry.file_type()?.is_dir() {
            true => entries(&entry.path())?.iter().filter(|own| is_header(own)).count() as u64,
            false => u64::from(is_header(&entry)),
        };
    }
    Ok(length)
}

/// Returns the entries of a directory; empty if the server has not created it yet.
fn entries(path: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found?.collect(),
    }
}

fn is_header(entry: &fs::DirEntry) -> bool {
    entry.file_name().as_encoded_bytes().ends_with(b"-H")
}

/// Log of a server, read from the end of the previous read.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    offset: u64,
}

impl Log {
    pub(crate) const fn new(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// Returns new complete lines, at most 16 MiB; empty while the log does not exist.
    pub(crate) fn new_lines(&mut self) -> io::Result<String> {
        let mut file = match careful::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut bytes = Vec::new();
        file.take(READ_MAX).read_to_end(&mut bytes)?;
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.offset += end as u64;
        bytes.truncate(end);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_of_exim_gives_delays_failures_and_accepted_mails() {
        let log = "\
2026-11-29 12:15:06.825 exim 4.96 daemon started: pid=13601, -q1m
2026-11-29 12:15:18.605 1xXdoM-0003Yv-1w <= u1@tile.test H=([127.0.0.1]) [127.0.0.1] P=esmtp S=3670
2026-11-29 12:15:18.653 1xXdoM-0003Z3-1x <= <> R=1xXdoM-0003Yv-1o U=nobody P=local S=1562
2026-11-29 12:15:18.618 1xXdoM-0003Yv-1w ** u17@tile.test R=all T=lmtp: too long DT=0.000s
2026-11-29 12:15:18.618 1xXdoM-0003Yv-1w == u18@tile.test R=all T=lmtp defer (-44): x
2026-11-29 12:15:18.830 1xXdoM-0003Yy-1r => u1@tile.test R=all C=\"250 QT=9s Saved\" QT=0.251s DT=0.1s
2026-11-29 12:15:18.830 1xXdoM-0003Yy-1r -> u2@tile.test R=all T=lmtp QT=1m5s
2026-11-29 12:15:18.834 1xXdoM-0003Yy-1r Completed QT=0.257s
";
        let delays = vec![Duration::from_millis(251), Duration::from_secs(65)];
        let all = Delivered { delays, accepted: 1, failed: 1, deferred: 1 };
        assert_eq!(Delivered::read(log), all);
    }

    #[test]
    fn time_of_exim_is_read_in_all_its_units() {
        for (text, seconds) in
            [("0.251s", 0.251), ("5s", 5.0), ("1m5s", 65.0), ("1w1d1h", 694_800.0)]
        {
            assert_eq!(parse_time(text), Some(Duration::from_secs_f64(seconds)), "{text}");
        }
        for text in ["5", "s", "5x", "-5s", "1e999s"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn log_is_read_on_in_whole_lines() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let mut log = Log::new(path.clone());
        assert_eq!(log.new_lines().expect("none yet"), "");
        for (whole, expected) in
            [("a\nb", "a\n"), ("a\nb", ""), ("a\nbc\nd\ne", "bc\nd\n"), ("a\nbc\nd\ne\n", "e\n")]
        {
            fs::write(&path, whole).expect("written");
            assert_eq!(log.new_lines().expect("read"), expected);
        }
    }

    #[test]
    fn queue_is_counted_by_headers_at_both_depths() {
        let directory = tempfile::tempdir().expect("a directory");
        assert_eq!(queue_length(directory.path()).expect("no queue yet"), 0);
        let input = directory.path().join("input");
        fs::create_dir_all(input.join("a")).expect("made");
        for name in ["1-H", "1-D", "1-J", "a/2-H", "a/2-D", "3-D"] {
            fs::write(input.join(name), "").expect("written");
        }
        assert_eq!(queue_length(directory.path()).expect("counted"), 2);
    }
}
