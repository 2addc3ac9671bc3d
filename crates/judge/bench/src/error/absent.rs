/// Reason why a figure or a verdict is absent. It is only shown, so there is no variant for each.
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
