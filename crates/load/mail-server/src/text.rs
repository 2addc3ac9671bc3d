//! Replacement of a mail's text by other text of the same length.

use state_machine::{SplitMix, mix};

/// Length of a full line of a mail's text, in characters, as the SMTP client writes it.
const LINE: usize = 76;

const ALPHABET: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Replaces every full line of text by other characters of the same alphabet. All other content of
/// a mailbox (headers, lengths, numbers) stays.
///
/// Storage that deduplicates would remove equal copies of a mailbox, and the tiles on it would
/// share data that they must not share.
pub(crate) fn replace_text(bytes: &mut [u8], seed: u64) {
    let values = values();
    let mut keys = SplitMix(mix(seed));
    for line in bytes.split_mut(|byte| *byte == b'\n') {
        let letters = line.strip_suffix(b"\r").map_or(line.len(), <[u8]>::len);
        let line = &mut line[..letters];
        if letters != LINE || line.iter().any(|byte| values[usize::from(*byte)] == NONE) {
            continue;
        }
        for part in line.chunks_mut(10) {
            let mut key = keys.next().unwrap_or_default();
            for letter in part {
                let value = usize::from(values[usize::from(*letter)]);
                *letter = ALPHABET[value ^ (key & 63) as usize];
                key >>= 6;
            }
        }
    }
}

const NONE: u8 = u8::MAX;

/// Returns the value of each character; [`NONE`] for characters outside the alphabet.
fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    for (value, letter) in (0..).zip(ALPHABET) {
        values[usize::from(*letter)] = value;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_change_and_nothing_else_does() {
        let line = "x".repeat(LINE);
        let text = format!(
            "Subject: {line}\r\n\r\n{line}\r\n{line}\n{}\n{line}y\n{} {line}\0",
            &line[1..],
            &line[1..]
        );
        let replaced = |seed| {
            let mut bytes = text.clone().into_bytes();
            replace_text(&mut bytes, seed);
            String::from_utf8(bytes).expect("text")
        };
        let (one, other) = (replaced(1), replaced(2));
        assert_eq!(one, replaced(1));
        assert_eq!(one.len(), text.len());
        let is_kept = |(own, before): (&str, &str)| own == before;
        let kept: Vec<bool> = one.split('\n').zip(text.split('\n')).map(is_kept).collect();
        assert_eq!(kept, [true, true, false, false, true, true, true]);
        let lines = |text: &str| text.split('\n').skip(2).take(2).map(str::to_owned).collect();
        let mut all: Vec<String> = lines(&one);
        let more: Vec<String> = lines(&other);
        all.extend(more.iter().map(|line| line.trim_end().to_owned()));
        all.iter_mut().for_each(|line| line.truncate(LINE));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4, "each line by its own key");
    }
}
