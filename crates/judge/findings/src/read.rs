use crate::{SCHEMA, StudyResult};

const NAME: &str = "tilemark.study";
const MAJOR: &str = "1";

/// Reason why a text is not a readable result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or has a missing or invalid field.
    #[error("reading the result of a study: {0}")]
    Json(#[from] serde_json::Error),
    /// The text is another document, or has another major version.
    #[error("the document has the schema \"{found}\", but this tool reads {SCHEMA} and later 1.x")]
    OtherSchema {
        /// Schema of the document.
        found: String,
    },
}

/// Parses a result of any minor version of the known major version. Unknown fields are ignored.
///
/// # Errors
///
/// If it is not a result, or has another major version.
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
