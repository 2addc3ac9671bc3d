//! Removes what runs left in a datastore, and nothing else.

use datastore::{Cleaned, CleanupOptions, Owned, OwnerState, cleanup, find_owned};
use vm::named::Limits;
use vm::named::ledger::{self, LeftObjects};

use crate::args::CleanupArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{exports, output, target};

/// Outcome of a cleanup.
pub struct Swept {
    /// Text for people.
    pub text: String,
    /// Paths that could not be removed, each with the reason.
    pub not_removed: Vec<String>,
    pub exit: Exit,
}

/// Removes the leftovers, or with `--dry-run` lists them.
pub fn run(args: &CleanupArgs) -> Result<Exit, Failure> {
    let swept = sweep(&args.target, args.dry_run, args.destroy_data.as_deref())?;
    output::show(&swept.text)?;
    for error in &swept.not_removed {
        crate::say!("not removed: {error}");
    }
    Ok(swept.exit)
}

/// Removes what runs left in a target on this host, or with `dry_run` lists it.
pub fn sweep(target: &str, dry_run: bool, destroy_data: Option<&str>) -> Result<Swept, Failure> {
    if dry_run {
        let (target, _export) = exports::target(target)?;
        let found = find_owned(&target).map_err(target::failure)?;
        let text = listing(&found);
        for found in vm::home::sweep(false) {
            crate::say!("would end {}", machines(&found));
        }
        for found in over::sweep(false) {
            crate::say!("would end {}", servers(&found));
        }
        for found in applications::sweep(false) {
            crate::say!("would end {}", mail(&found));
        }
        for found in on_platforms(false) {
            crate::say!("would undo {}", left(&found));
        }
        return Ok(Swept { text, not_removed: Vec::new(), exit: Exit::Success });
    }
    // A wrong text is refused before anything is ended.
    exports::check(target)?;
    let destroy_data = destroy_data.map(str::to_owned);
    let options = CleanupOptions { run_id: None, destroy_data };
    // These VMs and servers still write to the files that are removed next.
    let mut stay = Vec::new();
    for found in vm::home::sweep(true) {
        crate::say!("ended {}", machines(&found));
        stay.extend(found.stays);
    }
    for found in over::sweep(true) {
        crate::say!("ended {}", servers(&found));
        stay.extend(found.stays);
    }
    for found in applications::sweep(true) {
        crate::say!("ended {}", mail(&found));
        stay.extend(found.stays);
    }
    for found in on_platforms(true) {
        crate::say!("took back {}", left(&found));
        stay.extend(found.stays);
    }
    let (target, _export) = exports::target(target)?;
    let cleaned = cleanup(&target, &options).map_err(target::failure)?;
    match bystanders::throttle::remove_stale() {
        0 => {}
        count => crate::say!("removed {count} control group(s) of killed runs"),
    }
    match capture::remove_stale() {
        0 => {}
        count => crate::say!("switched off {count} tracing instance(s) of killed recordings"),
    }
    #[cfg(feature = "hosts")]
    match many_hosts::remove_stale() {
        0 => {}
        count => crate::say!("removed {count} private directory(ies) of killed runs over hosts"),
    }
    let failed = cleaned.failed.iter().map(|error| super::run::chain(error));
    let not_removed: Vec<String> = failed.chain(stay).collect();
    let exit = match (cleaned.kept.is_empty(), not_removed.is_empty()) {
        (false, _) => Exit::Failure,
        (true, false) => Exit::NotRemoved,
        (true, true) => Exit::Success,
    };
    Ok(Swept { text: report(&cleaned), not_removed, exit })
}

/// Finds, or removes if `is_real`, leftovers on the user's own virtual machines. They are found by
/// the ledgers on this host.
fn on_platforms(is_real: bool) -> Vec<LeftObjects> {
    let state = ledger::usual_state();
    state.map_or_else(|_| Vec::new(), |own| ledger::sweep(&own, is_real, Limits::default()))
}

fn left(found: &LeftObjects) -> String {
    let made = if found.made.is_empty() { "nothing".to_owned() } else { found.made.join(", ") };
    format!("{made} of {} ({}, {})", found.machine, found.run_id, found.path.display())
}

fn machines(found: &process_home::Swept) -> String {
    let run = if found.run_id.is_empty() { "no run id" } else { &found.run_id };
    format!("{} VM process(es) of {} ({run})", found.processes, found.path.display())
}

fn servers(found: &process_home::Swept) -> String {
    let run = if found.run_id.is_empty() { "no run id" } else { &found.run_id };
    format!("{} server process(es) for --over of {} ({run})", found.processes, found.path.display())
}

fn mail(found: &process_home::Swept) -> String {
    let run = if found.run_id.is_empty() { "no run id" } else { &found.run_id };
    format!("{} mail server process(es) of {} ({run})", found.processes, found.path.display())
}

fn listing(found: &[Owned]) -> String {
    let lines = found.iter().map(|owned| {
        let what =
            if owned.state == OwnerState::Dead { "would remove" } else { "would keep (in use)" };
        format!("{what} {}", describe(owned))
    });
    lines_or(lines.collect(), "no files of Tilemark are there")
}

fn report(cleaned: &Cleaned) -> String {
    let removed = cleaned.removed.iter().map(|owned| format!("removed {}", describe(owned)));
    let kept =
        cleaned.kept.iter().map(|kept| format!("kept {}: {}", describe(&kept.owned), kept.reason));
    lines_or(removed.chain(kept).collect(), "no files of Tilemark are there")
}

fn describe(owned: &Owned) -> String {
    let run = if owned.run_id.is_empty() { "no run id" } else { &owned.run_id };
    format!("{} ({run}, {})", owned.path.display(), owned.bytes)
}

fn lines_or(lines: Vec<String>, nothing: &str) -> String {
    if lines.is_empty() { format!("{nothing}\n") } else { lines.join("\n") + "\n" }
}
