//! Listeners of `tier serve` for clients and VMs.

use std::sync::Arc;

use block_server::{Listen, ListenAddress, Tls};

use super::takeover::pems;
use crate::args::TierServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the listeners of all disks, in the order in which they are printed. `identities` are the
/// disks' identities by name.
pub fn listens(
    args: &TierServeArgs,
    identities: &[(String, String)],
) -> Result<Vec<Listen>, Failure> {
    let mut listens = vec![Listen { place: ListenAddress::Unix(args.socket.clone()), tls: None }];
    listens.extend(args.vhost.iter().map(|vhost| {
        let (path, disk) = (vhost.path.clone(), vhost.disk.clone());
        Listen { place: ListenAddress::Vhost { path, disk }, tls: None }
    }));
    // The kernel keeps a device, with the file systems mounted on it, over a restart of the server.
    // Only the same disk, which no other server has served meanwhile, may continue on it.
    listens.extend(args.ublk.iter().map(|ublk| {
        let known = identities.iter().find(|(name, _)| *name == ublk.disk);
        let owner = known.map_or_else(String::new, |(_, identity)| identity.clone());
        let (number, disk) = (ublk.number, ublk.disk.clone());
        Listen { place: ListenAddress::Ublk { number, disk, owner }, tls: None }
    }));
    if let Some(address) = args.listen {
        listens.push(Listen { place: ListenAddress::Tcp(address), tls: tls(args)? });
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

/// Prints how each disk can be reached.
pub fn say(args: &TierServeArgs, places: &[ListenAddress]) {
    for place in places {
        match place {
            ListenAddress::Vhost { path, disk } => {
                crate::say!("serving {disk} to a VM at {}, over vhost-user", path.display());
            }
            ListenAddress::Ublk { disk, .. } => {
                crate::say!("serving {disk} to this host as {place}")
            }
            ListenAddress::Unix(path) if args.disks.is_empty() && args.file.is_some() => {
                crate::say!(
                    "serving at {}; there is no disk until `tilemark tier attach`",
                    path.display()
                );
            }
            ListenAddress::Unix(path) => {
                for disk in &args.disks {
                    crate::say!("serving nbd+unix:///{}?socket={}", disk.name, path.display());
                }
            }
            ListenAddress::Tcp(address) => {
                let scheme = if args.tls.is_some() { "nbds" } else { "nbd" };
                for disk in &args.disks {
                    crate::say!("serving {scheme}://{address}/{}", disk.name);
                }
            }
        }
    }
    if let Some(hold) = &args.hold {
        let places: Vec<String> = places.iter().map(ToString::to_string).collect();
        crate::say!(
            "holding copies of logs in {} for peers that connect to {}",
            hold.display(),
            places.join(", ")
        );
    }
}
