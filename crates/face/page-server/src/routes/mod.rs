//! Routes of the server.

mod api;
mod live;
pub mod metrics;
mod page;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use crate::app::App;
use crate::guard;

/// Returns the router of all paths.
pub fn router(app: Arc<App>) -> Router {
    let compression = CompressionLayer::new().quality(CompressionLevel::Fastest);
    Router::new()
        .route("/api/v1/runs", get(api::runs))
        .route("/api/v1/runs/{id}", get(api::page))
        .route("/api/v1/runs/{id}/events", get(api::events))
        .route("/api/v1/runs/{id}/live", get(live::live))
        .route("/api/v1/runs/{id}/{view}", get(api::view))
        .route("/api/v1/compare", get(api::compare))
        .route("/api/v1/trend", get(api::trend))
        .route("/api/v1/studies", get(api::studies))
        .route("/api/v1/studies/{name}", get(api::study))
        .route("/api/v1/openapi.json", get(api::openapi))
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(page::page)
        .layer(compression)
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), guard::guard))
        .with_state(app)
}
