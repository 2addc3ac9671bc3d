//! `tier takeover` and `tier stale`: a disk with a lost owner, and the log that the old owner still
//! has.

use std::path::Path;

use block_server::ClientTls;
use tier_service::{Proof, Refusal, Stale, TakeOver, TakeOverFailure};
use units::Bytes;

use crate::args::{TierStaleAction, TierStaleArgs, TierStaleLogArgs, TierTakeoverArgs, sidecar_in};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::count;

/// Hint for a log without a reachable copy.
const LOST: &str =
    "start the peers that hold copies and name their addresses with --peer, or give --accept-loss";

/// Takes a disk over.
pub fn takeover(args: &TierTakeoverArgs) -> Result<Exit, Failure> {
    let name = &args.disk.name;
    let beside = args.sidecar.as_deref().map(|directory| sidecar_in(directory, name));
    let tls = args.tls.as_deref().map(client_tls).transpose()?;
    let word = || if args.i_fenced.is_some() { Proof::Word } else { Proof::Absent };
    let proof = args.fence_proof.clone().unwrap_or_else(word);
    let (backing, accepted) = (args.disk.backing.clone(), &args.accept_identity);
    let mut disk = TakeOver::open(name, backing, beside, proof, accepted).map_err(refused)?;
    disk.fence(args.accept_loss).map_err(without_copy)?;
    match disk.carry_out(&args.peers, tls.as_ref()) {
        Ok(taken) => {
            crate::say!(
                "took over {name}, generation {}: {} ({}) of its log written to {}",
                taken.generation,
                count(taken.writes as u64, "write"),
                Bytes::new(taken.bytes),
                args.disk.backing.display()
            );
            Ok(Exit::Success)
        }
        Err(error) if args.accept_loss && is_lost(&error) => {
            disk.give_up().map_err(refused)?;
            crate::say!("{error}");
            crate::say!(
                "took over {name} without its log: {} is an older state of the disk, and no log or \
                copy that returns is used",
                args.disk.backing.display()
            );
            Ok(Exit::Success)
        }
        Err(error) => Err(without_copy(error)),
    }
}

/// Returns the refusal, with a hint for a log without a reachable copy. Some errors have a hint of
/// their own.
fn without_copy(error: TakeOverFailure) -> Failure {
    let is_bare = is_lost(&error) && error.hint().is_none();
    let refused = refused(error);
    if is_bare { refused.hint(Some(LOST)) } else { refused }
}

pub(super) fn refused(error: impl Into<Refusal>) -> Failure {
    let Refusal { text, hint } = error.into();
    Failure::new(Exit::Refused, text).hint(hint)
}

/// Returns true if `--accept-loss` would help.
fn is_lost(error: &TakeOverFailure) -> bool {
    use tier::TakeOverError::{BackingOlder, Damaged, NoCopy, Older, SidecarOlder};
    let TakeOverFailure::Refused { source, .. } = error else { return false };
    matches!(
        source,
        NoCopy { .. } | Damaged(_) | Older { .. } | SidecarOlder { .. } | BackingOlder { .. }
    )
}

/// Runs the subcommands for a log whose disk another host took over.
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
    let found = found.map_err(refused)?;
    crate::output::show(&format!(
        "{}: {} ({}) of generation {}, without which generation {} continued{done}\n",
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
    Stale::open(&log.file, name, &log.disk.backing, beside).map_err(refused)
}

/// Maximum size of a PEM file. Larger than any certificate, or any list of authorities that one
/// host should trust.
const PEM_BYTES_MAX: u64 = 1 << 20;

/// Reads ca.pem, cert.pem and key.pem of a directory.
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
