use std::cmp::Ordering;
use std::fmt;
use std::io::{self, Read};

use jiff::Timestamp;

/// Identifier of a run: `20261121T184207Z-datacenter-k3f9qa`. Sorted identifiers are in the order
/// in which the runs started: the first three of the six letters encode the time within the second.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunId(String);

const LETTERS: usize = 6;
/// Number of letters for the time within the second. They encode 32^3 intervals of 31 us, shorter
/// than the time between two starts of a program. The other letters are random, and distinguish
/// runs of several hosts.
const TIME_LETTERS: usize = 3;
/// Alphabet of 32 letters and digits that are hard to confuse, in sort order.
const ALPHABET: &[u8; 32] = b"023456789abcdefghjkmnpqrstuvwxyz";
const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl RunId {
    /// Creates an identifier for a run of `tile` that starts at `now`. Its random letters come from
    /// the operating system, not from the run's seed, so that equal plans get different
    /// identifiers.
    pub fn new(tile: &str, now: Timestamp) -> io::Result<Self> {
        let mut random = [0; LETTERS - TIME_LETTERS];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let part = subsecond_ns(now) << (5 * TIME_LETTERS);
        let mut letters = letters_of((part / NANOS_PER_SECOND) << (5 * random.len()));
        letters[TIME_LETTERS..].copy_from_slice(&random);
        Ok(Self::from_parts(tile, now, letters))
    }

    /// Derives an identifier for an object without its own, such as a recorded trace. It depends
    /// only on the name and the start, in nanoseconds since 1970, so it is always the same.
    pub fn following(name: &str, began_unix_ns: i64) -> Self {
        let began = Timestamp::from_nanosecond(began_unix_ns.into()).unwrap_or_default();
        // 32^6 is slightly more than the nanoseconds of a second.
        Self::from_parts(name, began, letters_of(subsecond_ns(began)))
    }

    fn from_parts(tile: &str, now: Timestamp, letters: [u8; LETTERS]) -> Self {
        let time = now.strftime("%Y%m%dT%H%M%SZ");
        let safe: String = tile
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .take(40)
            .collect();
        let letters = letters.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        Self(format!("{time}-{safe}-{}", String::from_iter(letters)))
    }

    /// Parses an identifier; `None` if the text is not an identifier.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, rest) = text.split_at_checked(16)?;
        let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
        let (tile, letters) = rest.strip_prefix('-')?.rsplit_once('-')?;
        let is_word = |text: &str| {
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        (is_time && is_word(tile) && is_word(letters) && letters.len() == LETTERS)
            .then(|| Self(text.to_owned()))
    }

    /// Returns the start of the run, to the second.
    pub fn started(&self) -> Timestamp {
        let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", &self.0[..16]);
        let time = time.ok().and_then(|time| time.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok());
        time.map_or(Timestamp::UNIX_EPOCH, |time| time.timestamp())
    }

    /// Returns the sort key: the second of the start, and then the time within it. In the text, the
    /// tile's name is between the two; it must not affect the order.
    fn order(&self) -> (&str, &str, &str) {
        let letters = self.0.rsplit_once('-').map_or("", |(_, letters)| letters);
        (&self.0[..16], letters, &self.0)
    }

    /// Returns the identifier as text. It is the name of the run's directory.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for RunId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for RunId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the nanoseconds within the second.
fn subsecond_ns(time: Timestamp) -> u64 {
    u64::try_from(time.subsec_nanosecond()).unwrap_or(0)
}

/// Converts a number below 32^6 to digits of base 32, the most significant first.
fn letters_of(number: u64) -> [u8; LETTERS] {
    std::array::from_fn(|at| {
        let shift = 5 * (LETTERS - 1 - at);
        u8::try_from((number >> shift) & 31).unwrap_or(0)
    })
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
        assert_eq!(id.as_str(), "20261121T184207Z-micro-read-4k-02z0z8");
        assert_eq!(id.started(), now);
        assert_eq!(RunId::parse(id.as_str()), Some(id));
    }

    #[test]
    fn ids_of_one_moment_differ() {
        let new = |_| RunId::new("t", Timestamp::UNIX_EPOCH).expect("random");
        let ids: std::collections::HashSet<RunId> = (0..8).map(new).collect();
        assert!(ids.len() > 1, "{ids:?}");
    }

    /// Regression: `latest` and `previous` were swapped if two runs started in the same second.
    #[test]
    fn ids_of_one_second_sort_by_their_begin_whatever_the_tile_is() {
        let second: Timestamp = "2026-11-21T18:42:07Z".parse().expect("a time");
        let at = |tile, us: i64| {
            let now = second + jiff::SignedDuration::from_micros(us);
            RunId::new(tile, now).expect("random")
        };
        for (us, tile) in (0..999_900).step_by(997).zip(["zoo", "ant"].into_iter().cycle()) {
            let (first, then) = (at(tile, us), at("middle", us + 62));
            assert!(first < then, "{first} {then}");
        }
        assert!(at("zoo", 999_999) < at("ant", 1_000_000));
        let of = |ns| RunId::following("r", second.as_second() * 1_000_000_000 + ns);
        assert!(of(31) < of(32) && of(32) < of(1_000_000));
    }

    #[test]
    fn id_from_a_time_is_stable_and_differs_by_nanosecond() {
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
