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
        "A virtual machine of yours that operations may be carried out on, by its exact name: \
         KIND:NAME[,KEY=VALUE...]\n\nKIND is {}. The first machine is for the first workload of \
         --operations that takes one, and so on; no machine that is not named is touched. Tokens \
         are in a file or variable: credentials=FILE or env:NAME. Example: \
         --operations=named-snapshot --machine libvirt:web01,at=qemu:///system",
        listed(MachineKind::ALL.iter().map(|kind| kind.name()))
    )
}

/// Returns the long help of `--meter`.
pub(super) fn meters() -> String {
    format!(
        "A meter of watts, read beside the run: KIND:WHERE[,KEY=VALUE...]; for each of them once\
         \n\nKIND is {}; scope={} says what it sees (host if absent). The score per kilowatt is told \
         where all of a category was measured. Passwords are in a file or variable: \
         credentials=FILE or env:NAME. Example: --meter shelly:192.168.1.20,scope=host",
        listed(MeterKind::ALL.iter().map(|kind| kind.name())),
        listed(PowerScope::ALL.iter().map(|scope| scope.name()))
    )
}
