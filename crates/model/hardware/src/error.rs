/// A parameter outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {parameter} {value} is not {allowed}")]
pub struct ParameterError {
    /// The kind of component.
    pub part: &'static str,
    /// The parameter, as the code names it.
    pub parameter: &'static str,
    /// The value seen, with its unit.
    pub value: String,
    /// The values that would have been allowed.
    pub allowed: &'static str,
}

/// Checks the parameters of one kind of component.
pub struct Check(pub &'static str);

impl Check {
    /// An error naming the parameter, unless it holds.
    pub fn that(
        &self,
        holds: bool,
        parameter: &'static str,
        value: impl ToString,
        allowed: &'static str,
    ) -> Result<(), ParameterError> {
        if holds {
            return Ok(());
        }
        Err(ParameterError { part: self.0, parameter, value: value.to_string(), allowed })
    }
}
