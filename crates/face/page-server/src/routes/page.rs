use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::assets::Asset;
use crate::problem::{Kind, Problem};

/// Cache rule for files that may change with the program's version: the browser must ask again.
const FRESH: &str = "no-cache";
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// Answers with a file, or with the start file at every path of the page itself.
pub async fn page(request: Request) -> Result<Response, Problem> {
    let path = request.uri().path();
    let asset = match Asset::find(path) {
        Some(asset) => asset,
        None if is_place(path) => Asset::index(),
        None => {
            return Err(Problem::new(Kind::UnknownPath, format!("there is no `{path}`")));
        }
    };
    Ok(respond(asset, request.headers()))
}

/// Returns true for paths of the page itself: `/`, `/run/ID`, `/run/ID/latency`, `/compare`,
/// `/trend`, `/study`, `/study/NAME`.
fn is_place(path: &str) -> bool {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        [""] | ["compare" | "trend" | "study"] => true,
        ["study", name] => !name.is_empty(),
        ["run", id] | ["run", id, _] => !id.is_empty(),
        _ => false,
    }
}

fn respond(asset: Asset, headers: &HeaderMap) -> Response {
    let accepts = headers.get_all(header::ACCEPT_ENCODING).iter();
    let accepts_gzip = accepts.filter_map(|value| value.to_str().ok()).any(takes_gzip);
    let packed = asset.packed();
    let body = match packed.filter(|_| accepts_gzip) {
        Some(bytes) => Body::from(bytes),
        None => Body::from(asset.plain().into_owned()),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::OK;
    let (headers, value) = (response.headers_mut(), HeaderValue::from_static);
    headers.insert(header::CONTENT_TYPE, value(asset.media_type()));
    headers.insert(header::CACHE_CONTROL, value(if asset.is_hashed() { FOR_EVER } else { FRESH }));
    headers.insert(header::VARY, value("accept-encoding"));
    if packed.is_some() && accepts_gzip {
        headers.insert(header::CONTENT_ENCODING, value("gzip"));
    }
    response
}

/// Returns true if a list of codings contains gzip with a weight other than 0 (RFC 9110, 12.5.3).
fn takes_gzip(list: &str) -> bool {
    list.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = matches!(parts.next(), Some("gzip" | "*"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        is_gzip && weight.parse().is_ok_and(|weight: f32| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_knows_its_places_and_no_others() {
        for path in
            ["/", "/run/x", "/run/x/latency", "/compare", "/study", "/study/vsan-6", "/run/x/"]
        {
            assert!(is_place(path), "{path}");
        }
        for path in ["/etc/passwd", "/run", "/run/x/y/z", "/api/v2", "/assets/x.js", "//x"] {
            assert!(!is_place(path), "{path}");
        }
    }

    #[test]
    fn a_coding_that_is_refused_is_not_sent() {
        assert!(takes_gzip("br, gzip;q=0.5"));
        assert!(!takes_gzip("gzip;q=0, br"));
        assert!(!takes_gzip("identity"));
    }
}
