//! `tier attach` and `tier detach`: disks of a running server.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tier_service::{Coming, Command, Elsewhere, ElsewhereReport};
use units::Bytes;

use super::{LOOK, ask};
use crate::args::{TierAttachArgs, TierDiskArgs, TierMode};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::count;

/// Interval of progress lines.
const SAID: Duration = Duration::from_secs(1);

/// Makes a running server serve one more disk.
pub fn attach(args: &TierAttachArgs) -> Result<Exit, Failure> {
    let name = args.disk.name.clone();
    let coming = Coming {
        disk: name.clone(),
        backing: absolute(&args.disk.backing)?,
        back: args.mode == TierMode::Back,
        sidecar: args.safety.sidecar_of(&name).as_deref().map(absolute).transpose()?,
        copies: args.safety.copies,
        reserve: args.safety.reserve,
        accepted: args.safety.accept_identity.clone(),
        peers: args
            .safety
            .peers
            .iter()
            .map(|peer| format!("{}={}", peer.name, peer.address))
            .collect(),
        elsewhere: args.from.clone().zip(args.at.clone()).map(|(from, at)| Elsewhere { from, at }),
    };
    let report = ask(&args.door, &Command::Attach(Box::new(coming)))?;
    for sentence in report.iter().flat_map(|report| &report.said) {
        crate::say!("{sentence}");
    }
    let socket = args.door.socket.display();
    match &args.from {
        None => crate::say!("serving nbd+unix:///{name}?socket={socket}"),
        Some(from) => crate::say!(
            "serving nbd+unix:///{name}?socket={socket}; {from} owns it until the first write here"
        ),
    }
    Ok(Exit::Success)
}

/// Makes the path absolute, because the server may have another working directory.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path)
        .map_err(|error| Failure::new(Exit::Failure, format!("{}: {error}", path.display())))
}

/// Detaches a disk, and meanwhile prints the bytes left to write.
pub fn detach(args: &TierDiskArgs) -> Result<Exit, Failure> {
    let command = Command::Detach { disk: args.disk.clone() };
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&args.door, &command));
        let (mut last, mut at) = (None, Instant::now() + SAID);
        while !asked.is_finished() {
            std::thread::sleep(LOOK / 10);
            if at <= Instant::now() {
                at += SAID;
                last = say_left(args, last);
            }
        }
        asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    crate::say!("{} is detached: its backing store holds all of its data", args.disk);
    Ok(Exit::Success)
}

/// Prints the bytes left if they changed since the last line, and returns the new line.
fn say_left(args: &TierDiskArgs, last: Option<String>) -> Option<String> {
    // A failure is reported by the detach request itself.
    let report = ask(&args.door, &Command::Pulse).ok().flatten()?;
    let disk = report.disks.iter().find(|disk| disk.name == args.disk)?;
    let refused =
        if disk.is_refused { "; its backing store refuses, and is tried again" } else { "" };
    let words = format!("{} to go{refused}", Bytes::new(disk.dirty_bytes));
    if last.as_ref() != Some(&words) {
        crate::say!("{}: {words}", args.disk);
    }
    Some(words)
}

/// Describes the owner of a disk that clients can open here although another server owns it.
pub fn elsewhere_text(disk: &ElsewhereReport) -> String {
    let (name, waiting) = (&disk.name, count(disk.waiting as u64, "request"));
    match &disk.owner {
        Some(owner) if disk.is_pulled => {
            format!("{name}: asking {owner} to release it; {waiting} waiting\n")
        }
        Some(owner) => format!("{name}: {owner} owns it\n"),
        None => format!("{name}: being released to another server; {waiting} waiting\n"),
    }
}
