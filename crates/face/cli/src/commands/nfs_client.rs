//! `nfs-client`: shows an NFS export as a directory until its server is lost.

use std::fs::OpenOptions;

use crate::args::NfsClientArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Serves the directory. The process that started this one reads the reason of its end.
pub fn run(args: &NfsClientArgs) -> Result<Exit, Failure> {
    let ready = || {
        // Who waits for the file sees that it is missing, and says so.
        let _ = OpenOptions::new().write(true).create_new(true).open(&args.ready);
    };
    let error = nfs::serve(&args.export, &args.point, ready);
    Err(Failure::from_error(Exit::Failure, &error).hint(error.hint()))
}
