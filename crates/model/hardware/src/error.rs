/// A parameter outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {parameter} {value} is not {allowed}")]
pub struct ParameterError {
    /// Kind of the component.
    pub part: &'static str,
    /// Name of the parameter in the code.
    pub parameter: &'static str,
    /// Value seen, with its unit.
    pub value: String,
    /// Allowed values.
    pub allowed: &'static str,
}

/// Checks the parameters of one kind of component.
pub struct Check(pub &'static str);

impl Check {
    /// Returns an error that names the parameter, unless the condition is true.
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
