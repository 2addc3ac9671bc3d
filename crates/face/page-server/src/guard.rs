//! Checks that each request must pass first: method, host, length, token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::Uri;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::listen::Access;
use crate::problem::{Kind, Problem};
use crate::token::Token;

/// Maximum length of a request's path and query, in bytes.
const ADDRESS_MAX: usize = 4096;
/// Cookie that carries the token after it was in a URL.
const COOKIE: &str = "tilemark_token";
/// Query key of the token in a URL.
const KEY: &str = "token";

/// Headers of every response. The page may run its own scripts and connect to its own origin;
/// elements may have a `style` attribute, which the page's charts need.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; \
         img-src 'self' data: blob:; connect-src 'self'; object-src 'none'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

/// Passes a request on, or answers with a problem.
pub async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let mut response = match check(&app.access, &request) {
        Ok(Pass::On) => {
            app.note(request.uri().path());
            next.run(request).await
        }
        Ok(Pass::Enter(response)) => response,
        Err(problem) => problem.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

enum Pass {
    On,
    /// The token was in the URL. The response sets a cookie, which carries the token from now on.
    Enter(Response),
}

fn check(access: &Access, request: &Request) -> Result<Pass, Problem> {
    let uri = request.uri();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let detail =
            format!("the method {} is not allowed; nothing can be changed here", request.method());
        return Err(Problem::new(Kind::Method, detail));
    }
    check_host(access, uri, request.headers())?;
    if uri.path_and_query().is_some_and(|text| text.as_str().len() > ADDRESS_MAX) {
        let detail = format!("path and query may have at most {ADDRESS_MAX} characters");
        return Err(Problem::new(Kind::TooLong, detail));
    }
    match access.token() {
        Some(token) if uri.path() != "/healthz" => check_token(token, uri, request.headers()),
        _ => Ok(Pass::On),
    }
}

/// Checks the host name. A foreign page may make its name resolve to this computer (DNS rebinding);
/// its requests then carry that name.
fn check_host(access: &Access, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let named = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    let in_uri = uri.authority().map(|authority| authority.as_str());
    let is_ours = |host: &str| access.is_ours(host);
    if hosts.next().is_none() && is_ours(named) && in_uri.is_none_or(is_ours) {
        return Ok(());
    }
    let detail = format!(
        "the request is for host `{}`; accepted host names: {}; --listen adds one",
        in_uri.unwrap_or(named),
        access.names().join(", ")
    );
    Err(Problem::new(Kind::Host, detail))
}

fn check_token(token: &Token, uri: &Uri, headers: &HeaderMap) -> Result<Pass, Problem> {
    if headers.get_all(header::COOKIE).iter().filter_map(cookie).any(|value| token.is(value))
        || headers.get(header::AUTHORIZATION).and_then(bearer).is_some_and(|value| token.is(value))
    {
        return Ok(Pass::On);
    }
    let query = uri.query().unwrap_or_default();
    let key = |pair: &&str| pair.split_once('=').is_some_and(|(key, _)| key == KEY);
    let given = query.split('&').find(key).and_then(|pair| pair.split_once('='));
    if given.is_some_and(|(_, value)| token.is(value)) {
        return Ok(Pass::Enter(enter(token, uri, query)));
    }
    Err(Problem::new(Kind::Token, "open the address that was printed at the start"))
}

fn cookie(header: &HeaderValue) -> Option<&str> {
    let pairs = header.to_str().ok()?.split(';');
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == COOKIE)
        .map(|p| p.1)
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    header.to_str().ok()?.strip_prefix("Bearer ")
}

/// Redirects to the same URL without the token, which would otherwise stay in the browser's
/// history.
fn enter(token: &Token, uri: &Uri, query: &str) -> Response {
    let rest: Vec<&str> =
        query.split('&').filter(|pair| !pair.starts_with("token=") && !pair.is_empty()).collect();
    // Two leading slashes would name another host.
    let path = format!("/{}", uri.path().trim_start_matches('/'));
    let target = match rest.is_empty() {
        true => path,
        false => format!("{path}?{}", rest.join("&")),
    };
    let cookie = format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict", token.text());
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let value = |text: String| HeaderValue::from_str(&text).ok();
    headers.extend(value(target).map(|value| (header::LOCATION, value)));
    headers.extend(value(cookie).map(|value| (header::SET_COOKIE, value)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
