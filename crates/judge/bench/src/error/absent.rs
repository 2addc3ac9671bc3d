/// Reason why a figure or a verdict is absent. The text is only displayed, so reasons are not
/// distinguished by variants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Absent(pub String);

impl From<&str> for Absent {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<String> for Absent {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}
