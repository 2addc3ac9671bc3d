//! Errors of requests, as problem documents (RFC 9457).

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::provider::ProviderError;

/// Media type of [`Problem`].
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Error of a request, as sent to the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// Kind, as listed in `docs/serve.md`: `/problems/unknown-run`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the kind in words.
    pub title: String,
    /// Error in this request, and the correct form.
    pub detail: String,
    /// HTTP status of the response, RFC 9110.
    pub status: u16,
}

/// Kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Method other than GET or HEAD.
    Method,
    /// `Host` header that the server does not listen for.
    Host,
    /// Missing token.
    Token,
    /// URL too long.
    TooLong,
    /// Too many requests at once.
    Busy,
    /// Invalid value.
    Request,
    /// The server has no page or interface at this path.
    UnknownPath,
    /// No stored run has the given id.
    UnknownRun,
    /// No study has the given name.
    UnknownStudy,
    /// Part of a run that does not exist yet.
    NotYet,
    /// Unreadable files of a run.
    Unreadable,
    /// Failure of the server itself.
    Internal,
}

impl Kind {
    const fn facts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::Method => {
                (StatusCode::METHOD_NOT_ALLOWED, "method", "only GET and HEAD are allowed")
            }
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "host",
                "this server does not accept that host name",
            ),
            Self::Token => (StatusCode::UNAUTHORIZED, "token", "the token is missing or wrong"),
            Self::TooLong => (StatusCode::URI_TOO_LONG, "too-long", "the address is too long"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "too many requests at once"),
            Self::Request => {
                (StatusCode::BAD_REQUEST, "request", "a parameter has an invalid value")
            }
            Self::UnknownPath => {
                (StatusCode::NOT_FOUND, "unknown-path", "nothing is at this address")
            }
            Self::UnknownRun => (StatusCode::NOT_FOUND, "unknown-run", "there is no such run"),
            Self::UnknownStudy => {
                (StatusCode::NOT_FOUND, "unknown-study", "there is no such study")
            }
            Self::NotYet => {
                (StatusCode::NOT_FOUND, "not-yet", "the run has not reached this point yet")
            }
            Self::Unreadable => {
                (StatusCode::INTERNAL_SERVER_ERROR, "unreadable", "the run's files cannot be read")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed"),
        }
    }
}

impl Problem {
    /// Makes a problem of a kind, with its detail.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let (status, name, title) = kind.facts();
        Self {
            kind: format!("/problems/{name}"),
            title: title.to_owned(),
            detail: detail.into(),
            status: status.as_u16(),
        }
    }
}

impl From<ProviderError> for Problem {
    fn from(error: ProviderError) -> Self {
        let kind = match error {
            ProviderError::UnknownRun(_) => Kind::UnknownRun,
            ProviderError::UnknownStudy(_) => Kind::UnknownStudy,
            ProviderError::Request(_) => Kind::Request,
            ProviderError::NotYet(_) => Kind::NotYet,
            ProviderError::Unreadable(_) => Kind::Unreadable,
        };
        Self::new(kind, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = Response::new(Body::from(text));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.status == StatusCode::METHOD_NOT_ALLOWED.as_u16() {
            headers.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }
}
