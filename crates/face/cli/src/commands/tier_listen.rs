//! Where `tier serve` lets clients and machines in.

use std::sync::Arc;

use block_server::{Listen, Place, Tls};

use super::takeover::pems;
use crate::args::TierServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// All of it, in the order in which it is said.
pub fn listens(args: &TierServeArgs) -> Result<Vec<Listen>, Failure> {
    let mut listens = vec![Listen { place: Place::Unix(args.socket.clone()), tls: None }];
    listens.extend(args.vhost.iter().map(|vhost| {
        let (path, disk) = (vhost.path.clone(), vhost.disk.clone());
        Listen { place: Place::Vhost { path, disk }, tls: None }
    }));
    // A tier is its file: that tells its disks from those of another one.
    let owner = args.file.as_deref().map(|file| std::fs::canonicalize(file).unwrap_or(file.into()));
    let owner = owner.unwrap_or_default().display().to_string();
    listens.extend(args.ublk.iter().map(|ublk| {
        let (disk, owner) = (ublk.disk.clone(), owner.clone());
        Listen { place: Place::Ublk { number: ublk.number, disk, owner }, tls: None }
    }));
    if let Some(address) = args.listen {
        listens.push(Listen { place: Place::Tcp(address), tls: tls(args)? });
    }
    Ok(listens)
}

fn tls(args: &TierServeArgs) -> Result<Option<Arc<Tls>>, Failure> {
    let Some(directory) = &args.tls else { return Ok(None) };
    let [authority, certificate, key] = pems(directory)?;
    let tls = Tls::new(&authority, &certificate, &key);
    let tls = tls.map_err(|error| Failure::from_error(Exit::Refused, &error))?;
    Ok(Some(Arc::new(tls)))
}

/// Says how each disk can be had.
pub fn say(args: &TierServeArgs, places: &[Place]) {
    for place in places {
        match place {
            Place::Vhost { path, disk } => {
                crate::say!("serving {disk} to a machine at {}, over vhost-user", path.display());
            }
            Place::Ublk { disk, .. } => crate::say!("serving {disk} to this host as {place}"),
            Place::Unix(path) if args.disks.is_empty() && args.file.is_some() => {
                crate::say!(
                    "serving at {}, and no disk until `tilemark tier attach`",
                    path.display()
                );
            }
            Place::Unix(path) => {
                for disk in &args.disks {
                    crate::say!("serving nbd+unix:///{}?socket={}", disk.name, path.display());
                }
            }
            Place::Tcp(address) => {
                let scheme = if args.tls.is_some() { "nbds" } else { "nbd" };
                for disk in &args.disks {
                    crate::say!("serving {scheme}://{address}/{}", disk.name);
                }
            }
        }
    }
    if let Some(hold) = &args.hold {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        crate::say!("holding copies in {} for who comes to {}", hold.display(), places.join(", "));
    }
}
