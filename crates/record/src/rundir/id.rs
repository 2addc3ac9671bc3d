use std::fmt;
use std::io::{self, Read};

use jiff::Timestamp;

/// A run's id: `20261121T184207Z-datacenter-k3f9qa`. Sorting ids sorts runs by start.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(String);

const RANDOM_LENGTH: usize = 6;
/// 32 letters and digits that are hard to mistake for each other.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

impl RunId {
    /// A new id for a run of this tile that starts now. Random letters come from the
    /// operating system, not from the run's seed, so that equal plans get different ids.
    pub fn new(tile: &str, now: Timestamp) -> io::Result<Self> {
        let mut random = [0; RANDOM_LENGTH];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        Ok(Self::from_parts(tile, now, random))
    }

    /// The id of what has none of its own, such as a recorded trace: it follows from a name and
    /// from when it began, to the nanosecond (since 1970), so that it is always the same.
    pub fn following(name: &str, began_unix_ns: i64) -> Self {
        let began = Timestamp::from_nanosecond(began_unix_ns.into()).unwrap_or_default();
        // 32^6 is just more than the nanoseconds of a second.
        let mut rest = u32::try_from(began.subsec_nanosecond()).unwrap_or(0);
        let letters = [0; RANDOM_LENGTH].map(|_: u8| {
            let letter = u8::try_from(rest % 32).unwrap_or(0);
            rest /= 32;
            letter
        });
        Self::from_parts(name, began, letters)
    }

    fn from_parts(tile: &str, now: Timestamp, random: [u8; RANDOM_LENGTH]) -> Self {
        let time = now.strftime("%Y%m%dT%H%M%SZ");
        let safe: String = tile
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(40)
            .collect();
        let letters = random.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        Self(format!("{time}-{safe}-{}", String::from_iter(letters)))
    }

    /// Reads an id; none if the text is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, rest) = text.split_at_checked(16)?;
        let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
        let (tile, random) = rest.strip_prefix('-')?.rsplit_once('-')?;
        let is_word = |text: &str| {
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        (is_time && is_word(tile) && is_word(random) && random.len() == RANDOM_LENGTH)
            .then(|| Self(text.to_owned()))
    }

    /// When the run started, to the second.
    pub fn started(&self) -> Timestamp {
        let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", &self.0[..16]);
        let time = time.ok().and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC).ok());
        time.map_or(Timestamp::UNIX_EPOCH, |time| time.timestamp())
    }

    /// The id as text: the name of the run's directory.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_time_tile_and_six_letters_and_reads_back() {
        let now: Timestamp = "2026-11-21T18:42:07Z".parse().expect("a time");
        let id = RunId::from_parts("micro/Read 4k", now, [0, 1, 31, 32, 255, 7]);
        assert_eq!(id.as_str(), "20261121T184207Z-micro-read-4k-ab9a9h");
        assert_eq!(id.started(), now);
        assert_eq!(RunId::parse(id.as_str()), Some(id));
    }

    #[test]
    fn two_ids_of_one_second_differ() {
        let now = Timestamp::UNIX_EPOCH;
        assert_ne!(RunId::new("t", now).expect("random"), RunId::new("t", now).expect("random"));
    }

    #[test]
    fn an_id_that_follows_from_a_time_is_always_the_same_and_tells_nanoseconds_apart() {
        let began = 1_795_286_527_000_000_000;
        let id = RunId::following("record-a", began + 999_999_999);
        assert_eq!(id, RunId::following("record-a", began + 999_999_999));
        assert_ne!(id, RunId::following("record-a", began + 999_999_998));
        assert_eq!(RunId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(id.started().as_second(), began / 1_000_000_000);
    }

    #[test]
    fn other_names_are_not_ids() {
        for name in ["", "notes", "20261121T184207Z", "20261121T184207Z-../x-abcdef", "é-abcdef"] {
            assert_eq!(RunId::parse(name), None, "{name}");
        }
    }
}
