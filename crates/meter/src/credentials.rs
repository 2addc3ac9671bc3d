//! Names and passwords: from a file or the environment only.

use std::path::Path;

use crate::Fault;

/// What is secret. It has no text of its own, so that it cannot be told by accident.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// What `credentials` names: a file, or `env:VARIABLE`. Its first line counts.
    pub fn read(named: &str) -> Result<Self, Fault> {
        let text = match named.strip_prefix("env:") {
            Some(variable) => std::env::var(variable).map_err(|_| {
                Fault::Unfit(format!("there is no variable {variable} for credentials"))
            })?,
            None => plain::read_named_text(Path::new(named)).map_err(|error| {
                Fault::Unfit(format!("reading credentials from {named}: {error}"))
            })?,
        };
        let line = text.lines().next().unwrap_or_default().trim().to_owned();
        if line.is_empty() {
            return Err(Fault::Unfit(format!("the credentials of {named} are empty")));
        }
        Ok(Self(line))
    }

    /// The text itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Name and password.
    pub fn pair(&self) -> Result<(&str, &str), Fault> {
        let wrong = || Fault::Unfit("credentials are no NAME:PASSWORD".to_owned());
        self.0.split_once(':').ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_from_a_file_and_never_shown() {
        let own = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(own.path(), "root:hunter2\nnot this\n").expect("writes");
        let secret = Secret::read(&own.path().display().to_string()).expect("there");
        assert_eq!(secret.pair().expect("a pair"), ("root", "hunter2"));
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(Secret::read("/nowhere/secret").is_err());
        assert!(Secret::read("env:TILEMARK_NO_SUCH_VARIABLE").is_err());
    }
}
