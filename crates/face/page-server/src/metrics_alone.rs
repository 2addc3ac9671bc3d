//! Serves `/metrics` without other paths, for a program without a page.
//!
//! It refuses all but loopback addresses: other clients need a proxy with a password.

use std::future::pending;
use std::io;
use std::net::{SocketAddr, TcpListener};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use run_store::metrics::{self, Family, PROTOBUF_MEDIA_TYPE};
use tokio::runtime::Builder;

use crate::exposition::Exposition;
use crate::routes::metrics::{media, openmetrics};
use crate::server::answer;

/// Answers `/metrics` with OpenMetrics text, on a thread that ends with the program.
///
/// # Errors
/// If the address is not a loopback address, or cannot be opened.
pub fn answer_metrics(
    address: SocketAddr,
    text: impl Fn() -> io::Result<Vec<u8>> + Clone + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    listen(address, move |_| text().map(openmetrics))
}

/// Answers `/metrics` with metric families, on a thread that ends with the program. A scraper that
/// asks for protobuf gets it, with native histograms; any other gets OpenMetrics text.
///
/// # Errors
/// If the address is not a loopback address, or cannot be opened.
pub fn answer_families(
    address: SocketAddr,
    families: impl Fn() -> Vec<Family> + Clone + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    listen(address, move |exposition| match exposition {
        Exposition::Text => metrics::text(&families()).map(openmetrics),
        Exposition::Protobuf => Ok(media(metrics::protobuf(&families()), PROTOBUF_MEDIA_TYPE)),
    })
}

fn listen(
    address: SocketAddr,
    figures: impl Fn(Exposition) -> io::Result<Response> + Clone + Send + Sync + 'static,
) -> io::Result<SocketAddr> {
    if !address.ip().is_loopback() {
        let words = format!(
            "{address} can be reached from other hosts, but metrics are served to this host only"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
    }
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let at = listener.local_addr()?;
    // One request at a time reaches the program; others wait.
    let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(1).build()?;
    let answer_one = move |headers: HeaderMap| {
        let figures = figures.clone();
        respond(move || figures(Exposition::of_request(&headers)))
    };
    let router = Router::new()
        .route("/metrics", get(answer_one))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is /metrics\n") });
    std::thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || runtime.block_on(answer(listener, router, pending::<()>())))?;
    Ok(at)
}

async fn respond(figures: impl FnOnce() -> io::Result<Response> + Send + 'static) -> Response {
    let written = tokio::task::spawn_blocking(figures).await;
    match written.map_err(io::Error::other).and_then(|response| response) {
        Ok(response) => response,
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response(),
    }
}
