//! Where `tier serve` lets clients and machines in.

use std::path::Path;
use std::sync::Arc;

use front::{Listen, Place, Tls};

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
    if let Some(address) = args.listen {
        listens.push(Listen { place: Place::Tcp(address), tls: tls(args)? });
    }
    Ok(listens)
}

fn tls(args: &TierServeArgs) -> Result<Option<Arc<Tls>>, Failure> {
    let (Some(certificate), Some(key), Some(authority)) =
        (&args.tls_cert, &args.tls_key, &args.tls_client_ca)
    else {
        return Ok(None);
    };
    let tls = Tls::new(&read(authority)?, &read(certificate)?, &read(key)?);
    let tls = tls.map_err(|error| Failure::from_error(Exit::Refused, &error))?;
    Ok(Some(Arc::new(tls)))
}

/// No certificate is longer, nor a list of authorities that one host should believe.
const PEM_BYTES_MAX: u64 = 1 << 20;

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed =
        |error| Failure::new(Exit::Refused, format!("reading {}: {error}", path.display()));
    plain::read(path, PEM_BYTES_MAX).map_err(failed)
}

/// Says how each disk can be had.
pub fn say(args: &TierServeArgs, places: &[Place]) {
    for place in places {
        match place {
            Place::Vhost { path, disk } => {
                crate::say!("serving {disk} to a machine at {}, over vhost-user", path.display());
            }
            Place::Unix(path) => {
                for disk in &args.disks {
                    crate::say!("serving nbd+unix:///{}?socket={}", disk.name, path.display());
                }
            }
            Place::Tcp(address) => {
                let scheme = if args.tls_cert.is_some() { "nbds" } else { "nbd" };
                for disk in &args.disks {
                    crate::say!("serving {scheme}://{address}/{}", disk.name);
                }
            }
        }
    }
}
