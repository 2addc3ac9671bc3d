//! `tier takeover` and `tier stale`: a disk whose owner is gone, and what is left in a log that counts no more.

use std::path::Path;
use std::process::{Command, Stdio};

use block_server::ClientTls;
use tier_service::{Proof, Reserve, Stale, TakeOver, TakeOverFailure};
use units::Bytes;

use crate::args::{
    FenceProof, TierStaleAction, TierStaleArgs, TierStaleLogArgs, TierTakeoverArgs, sidecar_in,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::count;

/// What helps where no copy can be had.
const LOST: &str =
    "start the peers that hold copies, say with --peer where they are, or --accept-loss";

/// Takes a disk over.
pub fn takeover(args: &TierTakeoverArgs) -> Result<Exit, Failure> {
    let name = &args.disk.name;
    let beside = args.sidecar.as_deref().map(|directory| sidecar_in(directory, name));
    let tls = args.tls.as_deref().map(client_tls).transpose()?;
    let proof = match args.fence_proof {
        Some(FenceProof::Reservation) => Proof::Reservation,
        _ => Proof::Word,
    };
    let (backing, accepted) = (args.disk.backing.clone(), &args.accept_identity);
    let mut disk =
        TakeOver::open(name, backing, beside, proof, accepted).map_err(|error| refused(&error))?;
    fence(args, &mut disk)?;
    match disk.carry_out(&args.peers, tls.as_ref()) {
        Ok(taken) => {
            crate::say!(
                "{name} is yours, generation {}: {} ({}) of the log put into {}",
                taken.generation,
                count(taken.writes as u64, "write"),
                Bytes::new(taken.bytes),
                args.disk.backing.display()
            );
            Ok(Exit::Success)
        }
        Err(error) if args.accept_loss && is_lost(&error) => {
            disk.give_up().map_err(|error| refused(&error))?;
            crate::say!("{error}");
            crate::say!(
                "{name} is yours without what its log had: {} is an older state of it, and no log or copy that returns is used",
                args.disk.backing.display()
            );
            Ok(Exit::Success)
        }
        Err(error) => {
            let refused = refused(&error);
            // Some say themselves what helps.
            let is_bare = is_lost(&error) && !error.to_string().contains("\nhint: ");
            Err(if is_bare { refused.hint(Some(LOST)) } else { refused })
        }
    }
}

pub(super) fn refused(error: &dyn std::error::Error) -> Failure {
    let text = error.to_string();
    match text.split_once("\nhint: ") {
        Some((message, hint)) => Failure::new(Exit::Refused, message).hint(Some(hint)),
        None => Failure::new(Exit::Refused, text),
    }
}

/// Whether giving up would help.
fn is_lost(error: &TakeOverFailure) -> bool {
    use tier::TakeOverError::{BackingOlder, Damaged, NoCopy, Older, SidecarOlder};
    let TakeOverFailure::Refused { source, .. } = error else { return false };
    matches!(
        source,
        NoCopy { .. } | Damaged(_) | Older { .. } | SidecarOlder { .. } | BackingOlder { .. }
    )
}

/// Sees to it that the old owner can write no more, and that the backing device takes what this host writes.
fn fence(args: &TierTakeoverArgs, disk: &mut TakeOver) -> Result<(), Failure> {
    prove(args, disk)?;
    if !disk.is_reserved() && args.fence_proof != Some(FenceProof::Reservation) {
        return Ok(());
    }
    if !args.accept_loss {
        disk.look_for_copies().map_err(|error| refused(&error).hint(Some(LOST)))?;
    }
    let reserve = Reserve::of_this_host().map_err(|error| refused(&error))?;
    disk.reserve(&reserve).map_err(|error| refused(&error))
}

/// Whether the old owner can write no more: on this machine, because nobody has the disk; elsewhere, because
/// somebody has seen to it.
fn prove(args: &TierTakeoverArgs, disk: &TakeOver) -> Result<(), Failure> {
    if disk.is_of_this_machine() || args.i_fenced.is_some() {
        return Ok(());
    }
    let command = match &args.fence_proof {
        // It is had when the device says so.
        Some(FenceProof::Reservation) => return Ok(()),
        Some(FenceProof::Agent(command)) => Some(command),
        None => None,
    };
    let Some(command) = command else {
        let text = format!(
            "{}: its owner ran on another machine, or before this one was started, and may still write",
            args.disk.name
        );
        return Err(Failure::new(Exit::Refused, text).hint(Some(
            "--fence-proof agent:COMMAND that switches it off, or --i-fenced HOST once you have; \
             --fence-proof pr where it was served with --reserve",
        )));
    };
    // What it prints is for people, and stdout is data.
    let status = Command::new("sh").arg("-c").arg(command).stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            let text = format!("the fence agent says no ({status}): {command}");
            Err(Failure::new(Exit::Refused, text))
        }
        Err(error) => Err(Failure::new(Exit::Refused, format!("running {command}: {error}"))),
    }
}

/// What a log has that counts no more.
pub fn stale(args: &TierStaleArgs) -> Result<Exit, Failure> {
    let log = match &args.action {
        TierStaleAction::List(log) | TierStaleAction::Forget(log) => log,
        TierStaleAction::Export(export) => &export.log,
    };
    let mut stale = open_stale(log)?;
    let (done, found) = match &args.action {
        TierStaleAction::List(_) => ("", stale.look()),
        TierStaleAction::Export(export) => (", exported", stale.export(&export.out)),
        TierStaleAction::Forget(_) => (", forgotten", stale.forget()),
    };
    let found = found.map_err(|error| refused(&error))?;
    crate::output::show(&format!(
        "{}: {} ({}) of generation {}, which went on to {} without them{done}\n",
        log.disk.name,
        count(found.writes as u64, "write"),
        Bytes::new(found.bytes),
        found.generation,
        found.disk_generation,
    ))?;
    if let Some(damage) = found.damage {
        crate::say!("{}: {damage}", log.disk.name);
    }
    Ok(Exit::Success)
}

fn open_stale(log: &TierStaleLogArgs) -> Result<Stale, Failure> {
    let name = &log.disk.name;
    let beside = log.sidecar.as_deref().map(|directory| sidecar_in(directory, name));
    Stale::open(&log.file, name, &log.disk.backing, beside).map_err(|error| refused(&error))
}

/// No certificate is longer, nor a list of authorities that one host should believe.
const PEM_BYTES_MAX: u64 = 1 << 20;

/// The three files of a directory of certificates.
pub(super) fn pems(directory: &Path) -> Result<[Vec<u8>; 3], Failure> {
    let read = |name: &str| {
        let path = directory.join(name);
        untrusted::read(&path, PEM_BYTES_MAX).map_err(|error| {
            Failure::new(Exit::Refused, format!("reading {}: {error}", path.display()))
                .hint(Some("--tls DIR has ca.pem, cert.pem and key.pem"))
        })
    };
    Ok([read("ca.pem")?, read("cert.pem")?, read("key.pem")?])
}

pub(super) fn client_tls(directory: &Path) -> Result<ClientTls, Failure> {
    let [authority, certificate, key] = pems(directory)?;
    ClientTls::new(&authority, &certificate, &key)
        .map_err(|error| Failure::from_error(Exit::Refused, &error))
}
