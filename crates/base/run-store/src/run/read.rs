use super::Run;

/// Name and version of the format of `run.json`. A minor version only adds optional fields; a major
/// version changes or removes fields.
pub const SCHEMA: &str = "tilemark.run/1.0";

const NAME: &str = "tilemark.run";
const MAJOR: u32 = 1;

/// Reason why a text is not a run that this version can read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or a field is missing or of the wrong type.
    #[error("reading run.json: {0}")]
    Json(#[from] serde_json::Error),
    /// The document names no schema, or another one.
    #[error("run.json has the schema \"{found}\", which is not a \"tilemark.run/1.x\"")]
    NotARun {
        /// Schema that the document names.
        found: String,
    },
    /// A number is implausibly large.
    #[error("run.json has {found} {what} of step {step}, but the maximum is {most}")]
    Count {
        /// Name of the counted objects.
        what: &'static str,
        /// Step, from 1.
        step: u32,
        /// Number in the document.
        found: u32,
        /// Largest accepted number.
        most: u32,
    },
    /// The document is of another major version.
    #[error("run.json has version {found}, but this tool reads 1.x")]
    OtherVersion {
        /// Version in the document.
        found: String,
    },
}

/// Parses a `run.json` of any minor version of the known major version. Unknown fields are ignored.
pub fn parse(text: &str) -> Result<Run, ReadError> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
    let not_a_run = || ReadError::NotARun { found: schema.to_owned() };
    let (name, version) = schema.split_once('/').ok_or_else(not_a_run)?;
    if name != NAME {
        return Err(not_a_run());
    }
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major != Some(MAJOR) {
        return Err(ReadError::OtherVersion { found: version.to_owned() });
    }
    let run: Run = serde_json::from_value(value)?;
    check_counts(&run)?;
    Ok(run)
}

/// Maximum number of tiles of a step that has fewer workload results than tiles.
const TILES_MAX: u32 = 10_000;

/// Checks the numbers that determine memory allocation. The file is untrusted: a number alone must
/// not allocate more memory than the results in the file justify.
fn check_counts(run: &Run) -> Result<(), ReadError> {
    for own in &run.steps {
        let (step, results) = (own.step, u32::try_from(own.workloads.len()).unwrap_or(u32::MAX));
        let most = results.max(TILES_MAX);
        if own.tiles > most {
            let (what, found) = ("tiles", own.tiles);
            return Err(ReadError::Count { what, step, found, most });
        }
        let on_hosts = own.hosts.iter().flat_map(|host| &host.tiles).max();
        if let Some(found) = on_hosts.copied().filter(|tile| *tile >= own.tiles.max(1)) {
            let (what, most) = ("as the number of a tile", own.tiles.saturating_sub(1));
            return Err(ReadError::Count { what, step, found, most });
        }
    }
    Ok(())
}

/// Returns the JSON Schema of `run.json` as a JSON value.
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Run);
    schema.insert("title".to_owned(), SCHEMA.into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_major_version_is_refused_by_its_number() {
        let error = parse(r#"{"schema":"tilemark.run/2.0"}"#).expect_err("version 2");
        assert_eq!(error.to_string(), "run.json has version 2.0, but this tool reads 1.x");
    }

    #[test]
    fn a_document_that_is_not_a_run_is_refused() {
        assert!(matches!(parse(r#"{"schema":"other/1.0"}"#), Err(ReadError::NotARun { .. })));
        assert!(matches!(parse("{}"), Err(ReadError::NotARun { .. })));
    }
}
