//! Decodes the letters for operation and flags in the kernel's events.
//!
//! Source: kernel `kernel/trace/blktrace.c`, `blk_fill_rwbs`: `F` for a preceding flush, one
//! letter for the operation (`W`, `R`, `D` discard, `DE` secure erase, `F` flush, `Z` zone
//! commands, `N` anything else), then `F` for FUA, `A` read-ahead, `S` sync, `M` metadata,
//! `U` atomic.

use trace::{Flags, Operation};

/// Parses operation and flags from the letters; `None` for other operations (zone commands).
///
/// `N` is either a command passed through to a device, which has no sectors, or a write of zeroes,
/// of which only the range is sent. The write of zeroes is recorded as a discard, because no data
/// are transferred.
pub(crate) fn parse(letters: &[u8]) -> Option<(Operation, Flags)> {
    let mut letters = letters.iter().copied().take_while(|letter| *letter != 0).peekable();
    let mut flags = Flags::NONE;
    let mut operation = letters.next()?;
    if operation == b'F' && letters.peek().is_some_and(|next| b"WRDFNZ".contains(next)) {
        flags = flags.with(Flags::PREFLUSH);
        operation = letters.next()?;
    }
    let operation = match operation {
        b'R' => Operation::Read,
        b'W' => Operation::Write,
        b'D' | b'N' => Operation::Discard,
        b'F' => Operation::Flush,
        _ => return None,
    };
    for letter in letters {
        flags = flags.with(match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READAHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            _ => Flags::NONE,
        });
    }
    Some((operation, flags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_an_f_has_its_meaning() {
        let both = Flags::PREFLUSH.with(Flags::FUA).with(Flags::SYNC);
        assert_eq!(parse(b"FWFS\0\0"), Some((Operation::Write, both)));
        assert_eq!(parse(b"WFS"), Some((Operation::Write, Flags::FUA.with(Flags::SYNC))));
        assert_eq!(parse(b"FWS"), Some((Operation::Write, Flags::PREFLUSH.with(Flags::SYNC))));
        assert_eq!(parse(b"FF").map(|found| found.0), Some(Operation::Flush));
        assert_eq!(parse(b"F").map(|found| found.0), Some(Operation::Flush));
    }

    #[test]
    fn other_letters_are_flags_or_no_io_of_ours() {
        assert_eq!(parse(b"RA"), Some((Operation::Read, Flags::READAHEAD)));
        assert_eq!(parse(b"RM"), Some((Operation::Read, Flags::META)));
        assert_eq!(parse(b"DE"), Some((Operation::Discard, Flags::NONE)));
        assert_eq!(parse(b"NS"), Some((Operation::Discard, Flags::SYNC)));
        assert_eq!(parse(b"ZR"), None);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"\0W"), None);
    }
}
