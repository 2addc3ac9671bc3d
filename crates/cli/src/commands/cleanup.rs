//! Removes what runs left in a datastore, and nothing else.

use datastore::{Cleaned, CleanupOptions, Owned, OwnerState, Target, cleanup, find_owned};

use crate::args::CleanupArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::target;

/// Removes, or with `--dry-run` lists.
pub fn run(args: &CleanupArgs) -> Result<Exit, Failure> {
    let target: Target = target::parse(&args.target)?;
    if args.dry_run {
        let found = find_owned(&target).map_err(target::failure)?;
        output::print(&listing(&found))?;
        return Ok(Exit::Success);
    }
    let options = CleanupOptions { run_id: None, destroy_data: args.destroy_data.clone() };
    let cleaned = cleanup(&target, &options).map_err(target::failure)?;
    match host::throttle::remove_stale() {
        0 => {}
        count => crate::say!("removed {count} control group(s) of killed runs"),
    }
    match capture::remove_stale() {
        0 => {}
        count => crate::say!("switched off {count} tracing instance(s) of killed recordings"),
    }
    output::print(&report(&cleaned))?;
    for error in &cleaned.failed {
        crate::say!("not removed: {}", super::run::chain(error));
    }
    Ok(match (cleaned.failed.is_empty(), cleaned.kept.is_empty()) {
        (false, _) => Exit::NotRemoved,
        (true, false) => Exit::Failure,
        (true, true) => Exit::Success,
    })
}

fn listing(found: &[Owned]) -> String {
    let lines = found.iter().map(|owned| {
        let what =
            if owned.state == OwnerState::Dead { "would remove" } else { "would keep (in use)" };
        format!("{what} {}", describe(owned))
    });
    lines_or(lines.collect(), "nothing of Tilemark's is there")
}

fn report(cleaned: &Cleaned) -> String {
    let removed = cleaned.removed.iter().map(|owned| format!("removed {}", describe(owned)));
    let kept =
        cleaned.kept.iter().map(|kept| format!("kept {}: {}", describe(&kept.owned), kept.reason));
    lines_or(removed.chain(kept).collect(), "nothing of Tilemark's is there")
}

fn describe(owned: &Owned) -> String {
    let run = if owned.run_id.is_empty() { "no run id" } else { &owned.run_id };
    format!("{} ({run}, {})", owned.path.display(), owned.bytes)
}

fn lines_or(lines: Vec<String>, nothing: &str) -> String {
    if lines.is_empty() { format!("{nothing}\n") } else { lines.join("\n") + "\n" }
}
