//! Serves `/metrics` alone, for a program without a page.
//!
//! It refuses all but loopback addresses: for other clients a proxy with a password is needed.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::runtime::Builder;

use crate::routes::metrics::openmetrics;
use crate::server::answer;

/// Answers `/metrics` with OpenMetrics text, on a thread that ends with the program.
///
/// # Errors
/// If the address is not a loopback address, or cannot be opened.
pub fn answer_metrics(
    address: SocketAddr,
    text: impl Fn() -> io::Result<Vec<u8>> + Clone + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let words = format!(
            "{address} can be reached from elsewhere: metrics are told to this machine alone"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    // One request at a time reaches the program; others wait.
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
    let router = Router::new()
        .route("/metrics", get(move || figures(text.clone())))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is /metrics\n") });
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || runtime.block_on(answer(listener, router, pending::<()>())))?;
    Ok(at)
}

async fn figures(text: impl Fn() -> io::Result<Vec<u8>> + Send + 'static) -> Response {
    let written = tokio::task::spawn_blocking(text).await;
    match written.map_err(io::Error::other).and_then(|text| text) {
        Ok(text) => openmetrics(text),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
