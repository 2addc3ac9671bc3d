//! The thread that serves: accepts connections, and lets go of them when it is told to.

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

/// Threads that answer, beside the one that serves.
const THREADS: usize = 3;
/// How long a request may take to arrive.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long those who watch are given to hear of the end; who has heard is not waited for.
const FAREWELL: Duration = Duration::from_secs(1);
/// Nice value: looking comes after measuring.
const PRIORITY: i32 = 5;

/// A server that is answering. Dropping it ends it without waiting for anybody.
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// An address that nobody answers any more but that is still open: who asks now waits for
/// whom it is handed to.
#[derive(Debug)]
pub struct Left {
    /// The open address.
    pub listener: TcpListener,
    /// The host as it was named.
    pub host: String,
    /// The token that is asked for.
    pub token: Option<String>,
}

impl Server {
    /// Answers at a door from now on, on a thread of its own.
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

    /// What is typed into a browser to see a path.
    pub fn url(&self, path: &str) -> String {
        self.app.access.url(path)
    }

    /// How long ago somebody looked; zero while a run is watched, none if nobody ever did.
    pub fn idle(&self) -> Option<Duration> {
        self.app.idle()
    }

    /// Has those who watch told now, not within a second.
    pub fn wake(&self) {
        self.app.hub.wake();
    }

    /// Stops answering, at once but for `FAREWELL` for those who watch. The address stays open.
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
            // What it panicked about has been printed; the run does not depend on it.
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
        // It is not allowed everywhere, and not needed.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), PRIORITY);
        runtime.block_on(self.serve(listener));
        // Without waiting for questions that are still being answered.
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

/// Answers whoever connects until `stopped` is done; then the address is closed.
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
            // Too many open files, most likely: a moment later there may be room.
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
    // Whoever hung up or was too slow is gone; there is nobody to tell.
    let _ = serving.await;
}

impl Left {
    /// A door again, for another server in this process.
    pub fn door(self) -> io::Result<Door> {
        Door::inherited(self.listener, &self.host, self.token)
    }
}

impl Door {
    /// Names and token of the door.
    pub fn access(&self) -> &Access {
        &self.access
    }
}
