use crate::{SCHEMA, StudyResult};

const NAME: &str = "tilemark.study";
const MAJOR: &str = "1";

/// Why a text is not a result that this version reads.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not JSON, or a field is missing or of the wrong type.
    #[error("reading the result of a study: {0}")]
    Json(#[from] serde_json::Error),
    /// It is something else, or of another major version.
    #[error("the document has the schema \"{found}\", and this tool reads {SCHEMA} and later 1.x")]
    OtherSchema {
        /// What it says.
        found: String,
    },
}

/// Reads a result of any minor version of the known major one; unknown fields are ignored.
///
/// # Errors
///
/// When it is no result, or one of another major version.
pub fn parse(text: &str) -> Result<StudyResult, ReadError> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    let found = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
    let is_ours =
        |(name, version): (&str, &str)| name == NAME && version.split('.').next() == Some(MAJOR);
    if !found.split_once('/').is_some_and(is_ours) {
        return Err(ReadError::OtherSchema { found: found.to_owned() });
    }
    Ok(serde_json::from_value(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_and_what_lacks_a_field_are_refused() {
        let error = |text: &str| parse(text).expect_err("it is refused").to_string();
        assert!(error("{\"schema\": \"tilemark.study/2.0\"}").contains("tilemark.study/2.0"));
        assert!(error("{\"schema\": \"tilemark.run/1.0\"}").contains("tilemark.run/1.0"));
        assert!(error("{}").contains("the schema \"\""));
        assert!(error("{\"schema\": \"tilemark.study/1.7\"}").contains("missing field"));
        assert!(error("# A page").contains("reading the result of a study"));
    }
}
