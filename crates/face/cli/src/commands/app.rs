//! `app`: serves a real application of a tile.

use web_site::SiteOptions;

use crate::args::{AppAction, AppArgs, AppServeKind, AppServeWebArgs};
use crate::exit::Exit;
use crate::failure::Failure;

/// Serves until the application's database ends.
pub fn app(args: &AppArgs) -> Result<Exit, Failure> {
    let AppAction::Serve(AppServeKind::Web(args)) = &args.action;
    if rustix::process::geteuid().is_root() {
        let message = "tilemark app refuses to run as root, because it is a web site";
        let hint = "run it as an unprivileged user: setpriv --reuid nobody --clear-groups tilemark \
            app ...";
        return Err(Failure::new(Exit::Refused, message).hint(Some(hint)));
    }
    let AppServeWebArgs { data, database, socket, connections } = args;
    let options = SiteOptions {
        data: data.clone(),
        database: database.clone(),
        socket: socket.clone(),
        connections: usize::from(*connections),
    };
    let Err(error) = web_site::serve(options);
    Err(Failure::from_error(Exit::Failure, &error).hint(error.hint()))
}
