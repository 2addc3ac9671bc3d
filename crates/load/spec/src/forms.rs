//! Values that a file may give either as a plain text or as a table.
//!
//! serde's untagged enums try one form after the other. If none fits, they only report that. These
//! readers choose the form by the type of the value, so the message is about the form that the
//! author meant.

use std::fmt;

use indexmap::IndexMap;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::workload::{RandomTime, Size, Time};

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Time;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a time such as \"3ms\", { exponential = \"3ms\" } or \
                     { uniform = [\"1ms\", \"5ms\"] }",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                text.parse().map(Time::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Time, E> {
                bare(&number.to_string())
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Time, E> {
                bare(&number.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Time, A::Error> {
                RandomTime::deserialize(MapAccessDeserializer::new(map)).map(Time::Random)
            }
        }
        from.deserialize_any(Form)
    }
}

fn bare<E: Error>(number: &str) -> Result<Time, E> {
    Err(E::custom(format_args!("\"{number}\" has no unit; write for example \"{number}s\"")))
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = Size;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a block size such as \"8k\", or several by weight such as \
                     { \"8k\" = 90, \"32k\" = 10 }",
                )
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map(Size::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Size, E> {
                Err(E::custom(format_args!(
                    "\"{number}\" has no unit; write for example \"{number}B\""
                )))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Size, A::Error> {
                IndexMap::deserialize(MapAccessDeserializer::new(map)).map(Size::Mix)
            }
        }
        from.deserialize_any(Form)
    }
}
