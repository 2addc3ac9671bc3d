//! Help texts that list kinds, taken from the code's own lists.

use spec::meter::{MeterKind, PowerScope};
use spec::named::MachineKind;

/// Joins words as a list: `a, b or c`.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match &words[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// Returns the long help of `--machine`.
pub(super) fn machines() -> String {
    format!(
        "Your own virtual machine for operations to act on, by its exact name: \
         KIND:NAME[,KEY=VALUE...]\n\nKIND is {}. The first --machine is for the first workload of \
         --operations that needs one, and so on; machines that are not named are never touched. \
         Tokens are read from a file or variable: credentials=FILE or env:NAME. Example: \
         --operations=named-snapshot --machine libvirt:web01,at=qemu:///system",
        listed(MachineKind::ALL.iter().map(|kind| kind.name()))
    )
}

/// Returns the long help of `--meter`.
pub(super) fn meters() -> String {
    format!(
        "A power meter to read during the run: KIND:WHERE[,KEY=VALUE...] (repeat for more)\n\nKIND \
         is {}; scope={} is the part of the system that it measures (default: host). A category \
         has a score per kilowatt if meters cover all of it. Passwords are read from a file or \
         variable: credentials=FILE or env:NAME. Example: --meter shelly:192.168.1.20,scope=host",
        listed(MeterKind::ALL.iter().map(|kind| kind.name())),
        listed(PowerScope::ALL.iter().map(|scope| scope.name()))
    )
}
