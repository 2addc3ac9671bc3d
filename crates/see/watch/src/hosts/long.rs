//! Reads windows of hosts' stores that are longer than an answer may be: question by question, each
//! within the limits of an answer, and all together within a limit of bytes.

use super::check::{Checked, CheckedContent, CheckedSlices};
use super::host::{HostStore, HostTrouble, ask};
use super::wire::Question;
use crate::{LEVELS, SetRow, Slice};

/// Maximum size of all answers to one query, of all hosts together: some 4 million cells, which take
/// about 1 GB in memory.
const BYTES_MAX: usize = 256 << 20;
/// Length of a question about working sets. A week of the most VMs that can have sets fits.
const SETS_S: u64 = 7 * 86_400;

/// Limits of a query to one host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Number of slices in a question. A hundred busy VMs with eight kinds of I/O fill an answer.
    pub slices: u64,
    /// Smallest number of slices in a question. A host whose slices do not fit sends coarser ones.
    pub slices_min: u64,
    /// Maximum size of all answers, in bytes.
    pub bytes: usize,
}

impl Limits {
    /// Returns the limits for each of this number of hosts.
    pub fn of_hosts(number: usize) -> Self {
        Self { slices: 500, slices_min: 50, bytes: BYTES_MAX / number.max(1) }
    }
}

/// Reads the slices of a window from a host, at the finest level with at most `slices_max` slices in
/// it whose answers stay within the limit of bytes.
pub(crate) fn slices(
    host: &dyn HostStore,
    window: (u64, u64),
    slices_max: u64,
    limits: Limits,
) -> Result<Checked, HostTrouble> {
    let length_s = window.1.saturating_sub(window.0);
    let fits = |width_s: u64| length_s.div_ceil(width_s) <= slices_max;
    let last = LEVELS.len() - 1;
    let first = LEVELS.iter().position(|level| fits(level.width_s)).unwrap_or(last);
    for level in &LEVELS[first..] {
        if let Some(found) = slices_of_level(host, window, level.width_s, limits)? {
            return Ok(found);
        }
    }
    Err(too_large(limits.bytes))
}

/// Reads slices of this width; `None` if they exceed the limit of bytes.
fn slices_of_level(
    host: &dyn HostStore,
    (from_s, to_s): (u64, u64),
    width_s: u64,
    limits: Limits,
) -> Result<Option<Checked>, HostTrouble> {
    let mut found = CheckedSlices { width_s, slices: Vec::new(), vms: Vec::new(), unreadable: 0 };
    let (mut at_s, mut slices_max, mut bytes) = (from_s, limits.slices, 0_usize);
    loop {
        let end_s = (at_s - at_s % width_s).saturating_add(slices_max * width_s).min(to_s);
        let (answer, size) =
            ask(host, &Question::Window { from_s: at_s, to_s: end_s, slices_max })?;
        let CheckedContent::Slices(own) = answer.content else { return Err(other()) };
        bytes = bytes.saturating_add(size);
        if bytes > limits.bytes {
            return Ok(None);
        }
        // The host made the slices coarser, because they did not fit in an answer, or because it has
        // no finer ones. Beside the finer slices before, the first of them would count twice or not
        // at all. So the whole window is read again in coarser ones.
        if own.width_s > width_s {
            if slices_max == limits.slices_min {
                return Ok(None);
            }
            slices_max = (slices_max / 2).max(limits.slices_min);
            continue;
        }
        // Only the first slice of the window may begin before it.
        let is_new = |own: &Slice| own.start_s >= at_s || at_s == from_s;
        found.slices.extend(own.slices.into_iter().filter(is_new));
        found.vms.extend(own.vms);
        // A damaged file of a coarse level is met by several questions.
        found.unreadable = found.unreadable.max(own.unreadable);
        // Where only coarser data is left, the last slice ends after the question's window.
        let last_s = found.slices.last().map_or(0, |own| own.start_s.saturating_add(own.width_s));
        at_s = end_s.max(last_s);
        if at_s >= to_s {
            found.vms.sort_unstable();
            found.vms.dedup();
            return Ok(Some(Checked { content: CheckedContent::Slices(found), ..answer }));
        }
    }
}

/// Reads the working sets of all hours that begin in a window from a host.
pub(crate) fn sets(
    host: &dyn HostStore,
    (from_s, to_s): (u64, u64),
    limits: Limits,
) -> Result<Checked, HostTrouble> {
    let (mut found, mut at_s, mut bytes): (Vec<SetRow>, _, _) = (Vec::new(), from_s, 0_usize);
    loop {
        let end_s = at_s.saturating_add(SETS_S).min(to_s);
        let (answer, size) = ask(host, &Question::Sets { from_s: at_s, to_s: end_s, step_s: 1 })?;
        let CheckedContent::Sets(rows) = answer.content else { return Err(other()) };
        bytes = bytes.saturating_add(size);
        if bytes > limits.bytes {
            return Err(too_large(limits.bytes));
        }
        found.extend(rows);
        at_s = end_s;
        if at_s >= to_s {
            return Ok(Checked { content: CheckedContent::Sets(found), ..answer });
        }
    }
}

fn too_large(bytes_max: usize) -> HostTrouble {
    HostTrouble {
        text: format!("its answers exceed {} MiB", bytes_max >> 20),
        hint: Some("request a shorter time".to_owned()),
    }
}

fn other() -> HostTrouble {
    HostTrouble { text: "its answer belongs to another request".to_owned(), hint: None }
}
