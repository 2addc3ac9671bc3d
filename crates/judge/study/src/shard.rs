use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several equal shares of a study's runs, counted from 1: `3/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: NonZeroU32,
    of: NonZeroU32,
}

/// Error for a text that is not a shard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a shard is N/COUNT, such as 3/16, with N from 1 to COUNT")]
pub struct ShardError;

impl Shard {
    /// Returns the number of the shard.
    pub const fn number(self) -> u32 {
        self.number.get()
    }

    /// Returns the total number of shards.
    pub const fn of(self) -> u32 {
        self.of.get()
    }

    /// Returns every n-th item of a list. If a list is sorted by size, its shards have equal sizes.
    pub(super) fn deal<T>(self, list: Vec<T>) -> Vec<T> {
        let size = |number: NonZeroU32| usize::try_from(number.get()).unwrap_or(usize::MAX);
        list.into_iter().skip(size(self.number) - 1).step_by(size(self.of)).collect()
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (number, of) = text.split_once('/').ok_or(ShardError)?;
        let parse = |text: &str| text.parse().map_err(|_| ShardError);
        let shard = Self { number: parse(number)?, of: parse(of)? };
        if shard.number <= shard.of { Ok(shard) } else { Err(ShardError) }
    }
}

impl TryFrom<String> for Shard {
    type Error = ShardError;

    fn try_from(text: String) -> Result<Self, ShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

/// Formats ascending numbers as a list of ranges, as for a job array: `1,4-6`.
pub(super) fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last)| {
        if first == last { format!("{first}") } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_from_1_of_a_count() {
        for text in ["1/1", "3/16", "16/16"] {
            assert_eq!(text.parse::<Shard>().map(String::from), Ok(text.to_owned()));
        }
        for text in ["", "3", "0/16", "17/16", "1/0", "-1/4", "1/4/5", "a/b", "1 / 4"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
        assert!(serde_json::from_str::<Shard>("\"5/4\"").is_err(), "files are held to the same");
    }

    #[test]
    fn every_item_is_in_one_share_and_shares_differ_by_one_item() {
        for of in [1, 3, 7, 20] {
            let share = |number| {
                let shard: Shard = format!("{number}/{of}").parse().expect("a shard");
                shard.deal((0..10).collect::<Vec<u32>>())
            };
            let shares: Vec<_> = (1..=of).map(share).collect();
            let mut all = shares.concat();
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<u32>>(), "of {of}");
            let sizes = || shares.iter().map(Vec::len);
            assert!(sizes().max() <= sizes().min().map(|least| least + 1), "of {of}");
        }
    }

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        for (numbers, text) in [(&[][..], ""), (&[3], "3"), (&[1, 2, 4, 6, 7, 8], "1-2,4,6-8")] {
            assert_eq!(ranges(numbers.iter().copied()), text);
        }
    }
}
