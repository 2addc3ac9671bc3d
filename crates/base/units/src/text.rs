//! Helpers to parse and print quantities, and the serde code that all quantities share.

use crate::ParseError;

/// Splits a text into number and unit: "1.5GiB" into 1.5 and "GiB". Underscores in the number are
/// ignored.
pub(crate) fn split(text: &str) -> Result<(f64, &str), ParseError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let number = number.replace('_', "").parse::<f64>();
    match number {
        Ok(value) => Ok((value, unit.trim())),
        Err(_) => Err(ParseError::NoNumber { text: text.to_owned() }),
    }
}

/// Formats a number with at most three decimals and without trailing zeros.
pub(crate) fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Makes the error for a number where a quantity is expected. It is the error for the number as
/// text, so that `3` and `"3"` both report the missing unit. If that text is valid (`0`), it
/// reports the expected type.
pub(crate) fn bare<T, E>(number: &str, expected: &dyn serde::de::Expected) -> E
where
    T: std::str::FromStr<Err = ParseError>,
    E: serde::de::Error,
{
    match number.parse::<T>() {
        Err(error) => E::custom(error),
        Ok(_) => {
            E::invalid_type(serde::de::Unexpected::Other(&format!("number `{number}`")), expected)
        }
    }
}

/// Implements serde and JSON Schema as text, for a quantity with `FromStr` and an exact `to_text`.
macro_rules! as_text {
    ($type:ty, $pattern:literal, $what:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.to_text())
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$type, E> {
                        Err(crate::text::bare::<$type, E>(&number.to_string(), &self))
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$type, E> {
                        Err(crate::text::bare::<$type, E>(&number.to_string(), &self))
                    }
                    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<$type, E> {
                        Err(crate::text::bare::<$type, E>(&number.to_string(), &self))
                    }
                }
                from.deserialize_str(Visitor)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "description": $what })
            }
        }
    };
}
pub(crate) use as_text;
