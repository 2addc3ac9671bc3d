use units::Bytes;

use crate::check::finding::Findings;
use crate::locate::DefinitionPath;

/// Reports a service time of zero.
pub(super) fn no_time(place: DefinitionPath, what: &str, found: &mut Findings) {
    found.add_help(
        place,
        format!("{what} is 0 and must be above 0"),
        "users in a closed loop would do infinitely many I/Os at one moment",
    );
}

/// Checks that a size or rate, if given, is above zero.
pub(super) fn some_bytes(
    place: DefinitionPath,
    what: &str,
    bytes: Option<Bytes>,
    found: &mut Findings,
) {
    if bytes == Some(Bytes::ZERO) {
        found.add(place, format!("{what} is 0 and must be above 0"));
    }
}
