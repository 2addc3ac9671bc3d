//! Process of the site: its socket and the connections to it.

use std::convert::Infallible;
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, Semaphore};

use crate::SiteError;
use crate::database::Database;
use crate::pages::Pages;

/// Name of the site's socket in its directory.
pub const SOCKET: &str = "web.sock";
/// Maximum size of a request's head, in bytes. Our choice: requests to the site have some hundred
/// bytes.
const HEAD_MAX: usize = 8 << 10;
/// Response to a connection beyond the maximum number.
const CROWDED: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
/// Pause after a connection could not be accepted, probably because of too many open files.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of file operations that wait for the storage at the same time, each in a thread.
/// Our choice, more than the 400 users of the shipped workload.
const BLOCKING_MAX: usize = 512;

/// Directories and limits of a site.
#[derive(Debug, Clone)]
pub struct SiteOptions {
    /// Directory of the site's data: [`FILES`](crate::FILES) of [`make_files`](crate::make_files),
    /// and [`UPLOADS`](crate::UPLOADS), to which pictures of added events are written.
    pub data: PathBuf,
    /// Directory with the database's socket.
    pub database: PathBuf,
    /// Directory in which the site's socket is created, as [`SOCKET`].
    pub socket: PathBuf,
    /// Maximum number of concurrent connections.
    pub connections: usize,
}

/// Serves the site until a session of its database ends.
///
/// # Errors
/// The database cannot be reached or ended, or the socket cannot be created.
pub fn serve(options: SiteOptions) -> Result<Infallible, SiteError> {
    raise_open_files();
    // One thread for all pages: a tile asks for some tens a second. Files have threads beside it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_MAX)
        .build()
        .map_err(SiteError::io("starting the site"))?;
    runtime.block_on(serve_pages(options))
}

/// Raises the limit of open files to the maximum that the system allows, because each connection
/// may use one more file. If that fails, connections wait.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

async fn serve_pages(options: SiteOptions) -> Result<Infallible, SiteError> {
    let SiteOptions { data, database, socket, connections } = options;
    let lost = Arc::new(Notify::new());
    let database = Database::open(&database, &lost).await?;
    let ranges = database.ranges().await?;
    let pages = Arc::new(Pages::new(database, ranges, &data));
    let shown = socket.display().to_string();
    let directory = File::open(&socket).map_err(SiteError::io(format!("opening {shown}")))?;
    // As for the database's socket, the path may be too long.
    let path = format!("/proc/self/fd/{}/{SOCKET}", directory.as_raw_fd());
    let listener = UnixListener::bind(path);
    let listener = listener.map_err(SiteError::io(format!("listening on {shown}/{SOCKET}")))?;
    let room = Arc::new(Semaphore::new(connections));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = lost.notified() => return Err(SiteError::DatabaseLost),
        };
        let Ok((mut stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        match Arc::clone(&room).try_acquire_owned() {
            Ok(place) => {
                let pages = Arc::clone(&pages);
                tokio::spawn(async move {
                    serve_connection(stream, &pages).await;
                    drop(place);
                });
            }
            // A fresh socket has room for these bytes, so this does not wait.
            Err(_) => drop(stream.write_all(CROWDED).await),
        }
    }
}

async fn serve_connection(stream: UnixStream, pages: &Arc<Pages>) {
    let answer = |request: Request<hyper::body::Incoming>| {
        let pages = Arc::clone(pages);
        async move { Ok::<_, Infallible>(pages.answer(request.map(Body::new)).await) }
    };
    let serving = http1::Builder::new()
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service_fn(answer));
    // An error means that the client disconnected, or sent an invalid request and got its response.
    let _ = serving.await;
}
