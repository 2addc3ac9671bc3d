//! Numbers of persons, tags and events for a given size of data.

use units::Bytes;

/// Numbers of persons, tags and events of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Number of registered persons.
    pub persons: u32,
    /// Number of tags.
    pub tags: u32,
    /// Number of events.
    pub events: u32,
}

/// Size of a person's picture, in bytes, as in Olio. The next constant is the size of a thumbnail.
pub(crate) const PERSON_PICTURE: u64 = 671_000;
pub(crate) const THUMBNAIL: u64 = 6_000;
/// Size of an event's picture, in bytes, as in Olio. The next constant is the size of its document.
/// Its thumbnail is as large as a person's.
pub(crate) const EVENT_PICTURE: u64 = 669_000;
pub(crate) const EVENT_DOCUMENT: u64 = 130_000;
/// Bytes in the tables per person, indexes included. The next constant is for an event with its
/// tags, attendees and comments. Measured: 238 and 6,291 with 1,000 persons, 173 and 6,020 with
/// 40,000.
const PERSON_ROWS: u64 = 180;
const EVENT_ROWS: u64 = 6_100;
/// Minimum number of persons. With it, an event has up to seven of ten tags.
const PERSONS_MIN: u64 = 40;
/// Maximum number of persons. Their numbers are four-byte integers in the database.
const PERSONS_MAX: u64 = 1 << 30;
/// Maximum number of tags, in Olio's formula: 5,000 (1 - e^-x) / (1 + e^-x) tags, where x is a
/// ten-thousandth of the number of persons. There are three events per tag.
const TAGS_MAX: f64 = 5_000.0;
const PERSONS_SCALE: f64 = 10_000.0;
const EVENTS_PER_TAG: u32 = 3;

impl Sizes {
    /// Computes the numbers for data of this total size.
    pub fn of(size: Bytes) -> Self {
        let (mut low, mut high) = (PERSONS_MIN, PERSONS_MAX);
        while low < high {
            let middle = (low + high).div_ceil(2);
            match Self::of_persons(middle).bytes() <= size {
                true => low = middle,
                false => high = middle - 1,
            }
        }
        Self::of_persons(low)
    }

    fn of_persons(persons: u64) -> Self {
        let persons = u32::try_from(persons).unwrap_or(u32::MAX);
        // (1 - e^-x) / (1 + e^-x) is the hyperbolic tangent of x / 2.
        let share = libm::tanh(f64::from(persons) / PERSONS_SCALE / 2.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 5000")]
        let tags = (TAGS_MAX * share).round() as u32;
        Self { persons, tags, events: tags * EVENTS_PER_TAG }
    }

    /// Returns the total size of files and tables.
    pub fn bytes(self) -> Bytes {
        let of_person = PERSON_PICTURE + THUMBNAIL + PERSON_ROWS;
        let of_event = EVENT_PICTURE + EVENT_DOCUMENT + THUMBNAIL + EVENT_ROWS;
        let (persons, events) = (u64::from(self.persons), u64::from(self.events));
        Bytes::new(persons * of_person + events * of_event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_of_olio_have_its_tags_events_and_bytes() {
        // 400 active users: 40,000 registered persons, 4,820 tags, 14,460 events, 38.8 GB of files.
        let sizes = Sizes::of_persons(40_000);
        assert_eq!(sizes, Sizes { persons: 40_000, tags: 4_820, events: 14_460 });
        let gigabytes = sizes.bytes().get() / 100_000_000;
        assert_eq!(gigabytes, 388);
        assert_eq!(Sizes::of(sizes.bytes()), sizes);
    }

    #[test]
    fn any_size_has_enough_to_show_and_no_more_than_fits() {
        let few = Sizes { persons: 40, tags: 10, events: 30 };
        assert_eq!(Sizes::of(Bytes::ZERO), few);
        assert_eq!(Sizes::of(Bytes::new(u64::MAX)).persons, 1 << 30);
        for size in [100 << 20, 1_200_000_000, 44_u64 << 30] {
            let sizes = Sizes::of(Bytes::new(size));
            let more = Sizes::of_persons(u64::from(sizes.persons) + 1);
            assert!(sizes.bytes().get() <= size && more.bytes().get() > size, "{sizes:?}");
        }
    }
}
