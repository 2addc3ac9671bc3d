//! `tier set`: changes how disks of a running server are cached.

use tier_service::{COMMON, Command};

use super::ask;
use crate::args::{TierMode, TierPolicy, TierSetArgs};
use crate::exit::Exit;
use crate::failure::Failure;

/// Sends the changes to the running server.
pub fn set(args: &TierSetArgs) -> Result<Exit, Failure> {
    let policy = args.change.policy;
    let Some(disk) = &args.disk else {
        // Without a disk only the policy can be set.
        return policy.map_or(Ok(Exit::Success), |policy| set_policy(args, policy));
    };
    let change = &args.change;
    // A disk returns to the common policy before its share changes, and gets its own policy after.
    if let Some(TierPolicy::Common) = policy {
        set_policy(args, TierPolicy::Common)?;
    }
    if let Some(on) = change.populate {
        let for_s = args.time.map(|time| time.0.div_ceil(1_000_000_000));
        ask(&args.door, &Command::Populate { disk: disk.clone(), on, for_s })?;
        let words = if on { "come in" } else { "stay out" };
        let until = args.time.map(|time| format!(" for {time}")).unwrap_or_default();
        crate::say!("{disk}: new pages {words}{until}");
    }
    if let Some(percent) = change.share {
        ask(&args.door, &Command::Share { disk: disk.clone(), percent })?;
        crate::say!("{disk}: its pages take at most {percent} % of all");
    }
    if let Some(policy @ TierPolicy::Kind(_)) = policy {
        set_policy(args, policy)?;
    }
    if let Some(access) = change.admission {
        ask(&args.door, &Command::Admission { disk: disk.clone(), access })?;
        crate::say!("{disk}: a page is admitted at access {access}");
    }
    if let Some(mode) = change.mode {
        let back = mode == TierMode::Back;
        ask(&args.door, &Command::Mode { disk: disk.clone(), back })?;
        crate::say!(
            "{disk}: writes are acknowledged by {}",
            if back { "the log" } else { "the backing store" }
        );
    }
    Ok(Exit::Success)
}

/// Sets the policy of a disk, or of all disks without a policy of their own.
fn set_policy(args: &TierSetArgs, policy: TierPolicy) -> Result<Exit, Failure> {
    let name = match policy {
        TierPolicy::Kind(kind) => kind.name(),
        TierPolicy::Common => COMMON,
    };
    ask(&args.door, &Command::Policy { disk: args.disk.clone(), name: name.to_owned() })?;
    match (&args.disk, policy) {
        (None, _) => crate::say!("the policy of the tier is {name}"),
        (Some(disk), TierPolicy::Kind(_)) => {
            crate::say!("{disk}: policy {name} chooses its victims, within a share of its own");
        }
        (Some(disk), TierPolicy::Common) => {
            crate::say!(
                "{disk}: the tier's policy chooses its victims, together with the pages of \
                other disks"
            );
        }
    }
    Ok(Exit::Success)
}
