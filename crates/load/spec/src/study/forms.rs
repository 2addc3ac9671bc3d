//! Values of a study that have several text forms.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::LadderSpec;

/// Value that a source states.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Published {
    /// A number, in the claim's unit.
    Number(f64),
    /// Lower and upper bound, both in the claim's unit.
    Range(f64, f64),
    /// Value in words.
    Text(String),
}

impl Published {
    /// Returns the smallest and largest published number; `None` for words.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self {
            Self::Number(number) => Some((*number, *number)),
            Self::Range(low, high) => Some((*low, *high)),
            Self::Text(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Published {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Published;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number such as 26, a range such as [320, 330], or words in quotes")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Published, E> {
                Ok(Published::Text(text.to_owned()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Published, E> {
                Ok(Published::Number(number))
            }
            #[expect(clippy::cast_precision_loss, reason = "published numbers are below 2^53")]
            fn visit_i64<E: Error>(self, number: i64) -> Result<Published, E> {
                Ok(Published::Number(number as f64))
            }
            #[expect(clippy::cast_precision_loss, reason = "published numbers are below 2^53")]
            fn visit_u64<E: Error>(self, number: u64) -> Result<Published, E> {
                Ok(Published::Number(number as f64))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Published, A::Error> {
                let ends = (list.next_element()?, list.next_element()?);
                match (ends, list.next_element::<f64>()?) {
                    ((Some(low), Some(high)), None) => Ok(Published::Range(low, high)),
                    _ => Err(A::Error::custom("a range has two numbers: [low, high]")),
                }
            }
        }
        from.deserialize_any(Form)
    }
}

/// Numbers of tiles in ascending order: `4`, `"1..5"`, `[1, 2, 4]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TileList(Vec<u32>);

impl TileList {
    /// Returns the numbers of tiles in ascending order.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }
}

impl Default for TileList {
    fn default() -> Self {
        Self(vec![1])
    }
}

impl JsonSchema for TileList {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TileList".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Numbers of tiles in rising order: 4, \"1..5\" or [1, 2, 4].",
            "anyOf": [
                { "type": "integer", "minimum": 1 },
                { "type": "string", "pattern": "^[0-9]+( *\\.\\. *[0-9]+)?$" },
                { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 }
            ]
        })
    }
}

/// Maximum number of steps of a study.
const TILES_MAX: u32 = 10_000;

impl<'de> Deserialize<'de> for TileList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = TileList;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers of tiles such as 4, \"1..5\" or [1, 2, 4]")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<TileList, E> {
                let (first, last) = match text.parse().map_err(E::custom)? {
                    LadderSpec::Fixed(tiles) => (tiles, tiles),
                    LadderSpec::Range(first, last) => (first, last),
                    LadderSpec::Search { .. } => {
                        return Err(E::custom("a study must list its numbers of tiles: \"1..5\""));
                    }
                };
                if last > TILES_MAX {
                    return Err(E::custom(format_args!(
                        "{last} tiles are more than the maximum of {TILES_MAX}"
                    )));
                }
                Ok(TileList((first..=last).collect()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<TileList, E> {
                tiles(number).map(|tiles| TileList(vec![tiles]))
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<TileList, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TileList, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = list.next_element()? {
                    let number = tiles(number)?;
                    if numbers.last().is_some_and(|last| *last >= number) {
                        let text = format!("the numbers of tiles do not rise at {number}");
                        return Err(A::Error::custom(text));
                    }
                    numbers.push(number);
                }
                if numbers.is_empty() {
                    return Err(A::Error::custom("the list of numbers of tiles is empty"));
                }
                Ok(TileList(numbers))
            }
        }
        fn tiles<E: Error>(number: i64) -> Result<u32, E> {
            u32::try_from(number).ok().filter(|tiles| (1..=TILES_MAX).contains(tiles)).ok_or_else(
                || E::custom(format_args!("{number} tiles; it must be 1 to {TILES_MAX}")),
            )
        }
        from.deserialize_any(Form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<u32>, toml::de::Error> {
        #[derive(Deserialize)]
        struct File {
            tiles: TileList,
        }
        let file: File = toml::from_str(&format!("tiles = {text}"))?;
        Ok(file.tiles.0)
    }

    #[test]
    fn tiles_are_a_number_a_range_or_a_rising_list() {
        assert_eq!(list("4"), Ok(vec![4]));
        assert_eq!(list("\"4\""), Ok(vec![4]));
        assert_eq!(list("\"2..4\""), Ok(vec![2, 3, 4]));
        assert_eq!(list("[1, 2, 30]"), Ok(vec![1, 2, 30]));
        for wrong in ["0", "-1", "\"search\"", "[]", "[2, 1]", "[1, 1]", "\"1..99999\"", "1.5"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }
}
