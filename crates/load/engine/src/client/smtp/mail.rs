//! Mail that the text of a call describes: envelope and text.

use std::io::Write;

use state_machine::SplitMix;

/// Domain of all addresses. It is reserved for tests (RFC 6761, section 6.2), so no mail of a
/// workload can reach a person, whichever server the user's address names.
const DOMAIN: &str = "tile.test";
/// Name that the client sends in its greeting.
pub(super) const CLIENT: &str = "client.tile.test";
/// Maximum number of recipients of a mail. Every service must accept that many (RFC 5321, section
/// 4.5.3.1.8).
pub(super) const RECIPIENTS_MAX: usize = 100;
/// Maximum length of a user's name, in characters: RFC 5321 (section 4.5.3.1.1).
const NAME_MAX: usize = 64;
/// Minimum size of a text, in bytes: an end of line.
pub(super) const BYTES_MIN: usize = 2;
/// Maximum size of a text, in bytes. Our choice: a text is generated in memory on the worker's own
/// thread.
pub(super) const BYTES_MAX: usize = 1 << 20;
/// Characters per line. With its end, a line stays within the limit of RFC 5322 (section 2.1.1).
pub(super) const LINE: usize = 76;

/// Mail with the names of its sender and recipients.
#[derive(Debug)]
pub(super) struct Mail {
    from: String,
    to: Vec<String>,
    bytes: usize,
}

impl Mail {
    /// Parses `FROM TO[,TO...] BYTES`; `None` if the text is anything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (from, to, bytes) = (words.next()?, words.next()?, words.next()?);
        let to: Vec<String> = to.split(',').take(RECIPIENTS_MAX + 1).map(str::to_owned).collect();
        let is_number = bytes.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = bytes.parse().ok().filter(|_| is_number)?;
        let is_known = words.next().is_none()
            && is_name(from)
            && to.iter().all(|name| is_name(name))
            && to.len() <= RECIPIENTS_MAX
            && (BYTES_MIN..=BYTES_MAX).contains(&bytes);
        is_known.then(|| Self { from: from.to_owned(), to, bytes })
    }

    pub(super) fn recipients(&self) -> usize {
        self.to.len()
    }

    pub(super) fn write_sender(&self, out: &mut Vec<u8>) {
        let _ = write!(out, "MAIL FROM:<{}@{DOMAIN}>\r\n", self.from);
    }

    pub(super) fn write_recipient(&self, at: usize, out: &mut Vec<u8>) {
        let _ = write!(out, "RCPT TO:<{}@{DOMAIN}>\r\n", self.to[at]);
    }

    /// Writes the header, and a text of exactly the requested size. Equal seeds give equal mails.
    ///
    /// There is no date, because a client has no clock. The service records the time of receipt.
    pub(super) fn write_text(&self, seed: u64, out: &mut Vec<u8>) {
        let _ = write!(out, "From: <{}@{DOMAIN}>\r\nTo:", self.from);
        for (at, name) in self.to.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(out, "{comma}\r\n <{name}@{DOMAIN}>");
        }
        let _ = write!(
            out,
            "\r\nSubject: mail {seed:016x}\r\nMessage-ID: <{seed:016x}@{CLIENT}>\r\n\r\n"
        );
        let mut left = self.bytes;
        let mut letters = Letters::new(seed);
        while left > 0 {
            let mut line = left.saturating_sub(2).min(LINE);
            // One byte would be left, which is too little for the end of a line.
            line -= usize::from(left - line == 3 && line > 0);
            letters.write_line(line, out);
            left -= line + 2;
        }
    }
}

/// Generator of random characters of 6 bits each. Compression saves at most the two bits per byte
/// that text encoding wastes.
struct Letters {
    numbers: SplitMix,
    number: u64,
    /// Characters left in the current random number.
    left: u32,
}

impl Letters {
    const fn new(seed: u64) -> Self {
        Self { numbers: SplitMix(seed), number: 0, left: 0 }
    }

    fn next(&mut self) -> u8 {
        // The dot makes lines begin with one, as those of people do.
        const ALPHABET: &[u8; 64] =
            b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
        if self.left == 0 {
            (self.number, self.left) = (self.numbers.next().unwrap_or_default(), 10);
        }
        let letter = ALPHABET[(self.number & 63) as usize];
        (self.number, self.left) = (self.number >> 6, self.left - 1);
        letter
    }

    /// Writes a line of `letters` characters. A leading dot is doubled, and the service removes it
    /// again (RFC 5321, section 4.5.2).
    fn write_line(&mut self, letters: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend((0..letters).map(|_| self.next()));
        if out.get(start) == Some(&b'.') {
            out.insert(start, b'.');
        }
        out.extend_from_slice(b"\r\n");
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(is_letter)
}
