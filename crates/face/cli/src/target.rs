//! Targets on the command line, and the failures for their errors.

use datastore::{DatastoreError, Target};

use crate::exit::Exit;
use crate::failure::Failure;

/// Parses a target.
pub fn parse(text: &str) -> Result<Target, Failure> {
    text.parse::<Target>().map_err(|error| {
        let hint = error.hint();
        Failure::from_error(Exit::Usage, &error).hint(Some(hint))
    })
}

/// Makes the failure for a datastore that refused or failed.
pub fn failure(error: DatastoreError) -> Failure {
    let exit =
        if matches!(error, DatastoreError::Refused(_)) { Exit::Refused } else { Exit::Failure };
    let hint = error.hint();
    Failure::from_error(exit, &error).hint(hint)
}
