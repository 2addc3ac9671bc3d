use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use run_store::openmetrics::MEDIA_TYPE;

use crate::app::App;
use crate::metrics;
use crate::problem::{Kind, Problem};

/// Answers with OpenMetrics 1.0 text.
pub async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let current = app.ask(|provider| provider.current()).await?;
    let text = metrics::text(&current)
        .map_err(|error| Problem::new(Kind::Internal, format!("writing metrics: {error}")))?;
    Ok(openmetrics(text))
}

/// Builds a response of OpenMetrics text.
pub fn openmetrics(text: impl Into<Body>) -> Response {
    media(text, MEDIA_TYPE)
}

/// Builds a response of metrics in a format.
pub fn media(body: impl Into<Body>, media_type: &'static str) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    // Other text for other scrapers.
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
