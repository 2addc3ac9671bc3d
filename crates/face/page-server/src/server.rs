//! Serving thread: accepts connections, and closes them at the end.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::app::App;
use crate::crowd::{Activity, Crowd};
use crate::listen::{Access, Door};
use crate::patient::Patient;
use crate::provider::Provider;
use crate::routes;

/// Threads that compute answers, beside the serving thread.
const THREADS: usize = 3;
/// Longest time for a request to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Longest wait until watchers have received the end of the run; it ends early when all have.
const FAREWELL: Duration = Duration::from_secs(1);
/// Nice value: serving must not disturb the measurement.
const PRIORITY: i32 = 5;

/// Running server. Dropping it ends it without waiting for clients.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Open address after the server has stopped. New clients wait for the process that takes it over.
#[derive(Debug)]
pub struct Left {
    /// Open listener.
    pub listener: TcpListener,
    /// Host as given.
    pub host: String,
    /// Required token.
    pub token: Option<String>,
}

impl Server {
    /// Starts to answer at a door, on a separate thread.
    pub fn start(door: Door, provider: Arc<dyn Provider>) -> io::Result<Self> {
        let listener = door.listener.try_clone()?;
        door.listener.set_nonblocking(true)?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(THREADS)
            .thread_name("page")
            .build()?;
        let app = Arc::new(App::new(door.access, provider));
        let (stop, stopped) = watch::channel(false);
        let serving = Serving { app: Arc::clone(&app), stopped };
        let accepting = door.listener;
        let thread = std::thread::Builder::new()
            .name("page".to_owned())
            .spawn(move || serving.run(runtime, accepting))?;
        Ok(Self { app, listener, stop, thread: Some(thread) })
    }

    /// Returns the URL of a path for a browser.
    pub fn url(&self, path: &str) -> String {
        self.app.access.url(path)
    }

    /// Returns the time since the last visit: zero while a run is watched, `None` if there was no
    /// visit.
    pub fn idle(&self) -> Option<Duration> {
        self.app.idle()
    }

    /// Sends watchers the present state now, instead of within a second.
    pub fn wake(&self) {
        self.app.hub.wake();
    }

    /// Stops answering. Waits at most `FAREWELL` for watchers. The address stays open.
    pub fn stop(mut self) -> io::Result<Left> {
        self.end();
        Ok(Left {
            listener: self.listener.try_clone()?,
            host: self.app.access.host().to_owned(),
            token: self.app.access.token().map(|token| token.text().to_owned()),
        })
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic has been printed; the run does not depend on the thread.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

struct Serving {
    app: Arc<App>,
    stopped: watch::Receiver<bool>,
}

impl Serving {
    fn run(self, runtime: Runtime, listener: TcpListener) {
        // The call may be forbidden, and is not essential.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
        runtime.block_on(self.serve(listener));
        // Without waiting for requests in progress.
        runtime.shutdown_background();
    }

    async fn serve(mut self, listener: TcpListener) {
        let router = routes::router(Arc::clone(&self.app));
        answer(listener, router, self.stopped.changed()).await;
        self.app.hub.wake();
        let told = async {
            while self.app.is_watched() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(FAREWELL, told).await;
    }
}

/// Answers clients until `stopped` is done, then closes the address.
pub(crate) async fn answer(listener: TcpListener, router: Router, stopped: impl Future) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut stopped = std::pin::pin!(stopped);
    let mut crowd = Crowd::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut stopped => return,
        };
        match accepted {
            Ok((stream, address)) => crowd.admit(address.ip(), |activity| {
                tokio::spawn(connection(stream, router.clone(), activity)).abort_handle()
            }),
            // Probably too many open files, which may pass in a moment.
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

async fn connection(stream: TcpStream, router: Router, activity: Activity) {
    let _ = stream.set_nodelay(true);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .serve_connection(
            TokioIo::new(Patient::new(stream, activity)),
            TowerToHyperService::new(router),
        );
    // The client hung up or was too slow, so the error concerns no one.
    let _ = serving.await;
}

impl Left {
    /// Makes a door again, for another server in this process.
    pub fn door(self) -> io::Result<Door> {
        Door::inherited(self.listener, &self.host, self.token)
    }
}

impl Door {
    /// Returns the access rules of the door.
    pub fn access(&self) -> &Access {
        &self.access
    }
}
