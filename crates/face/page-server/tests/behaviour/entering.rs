//! Access to the server, and the permitted requests.

use std::sync::Arc;

use crate::client::{ask, get};
use crate::fake::{Fake, RUN};

#[test]
fn a_page_of_a_stranger_whose_name_points_here_gets_nothing() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    for host in ["evil.example", "127.0.0.1.evil.example", "10.1.2.3", ""] {
        let response = ask(port, "GET", "/api/v1/runs", &[("Host", host)]);
        assert_eq!(response.status, 421, "{host}");
        assert_eq!(response.header("content-type"), Some("application/problem+json"));
        assert!(response.json()["detail"].as_str().is_some_and(|text| text.contains("--listen")));
    }
    for host in ["localhost", "LOCALHOST:1", "[::1]:7655"] {
        assert_eq!(ask(port, "GET", "/api/v1/runs", &[("Host", host)]).status, 200, "{host}");
    }
    let two = [("Host", "localhost"), ("Host", "evil.example")];
    assert!(matches!(ask(port, "GET", "/", &two).status, 400 | 421), "two hosts");
    let own = [("Host", "localhost")];
    let absolute = ask(port, "GET", "http://evil.example/api/v1/runs", &own);
    assert_eq!(absolute.status, 421, "a host in the address counts, too");
    assert!(matches!(ask(port, "GET", "/", &[]).status, 400 | 421), "no host at all");
}

#[test]
fn nothing_can_be_started_changed_or_deleted() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let paths = ["/", "/api/v1/runs", &format!("/api/v1/runs/{RUN}"), "/metrics", "/nothing"];
    for path in paths {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"] {
            let response = ask(port, method, path, &[("Host", "localhost")]);
            assert_eq!(response.status, 405, "{method} {path}");
            assert_eq!(response.header("allow"), Some("GET, HEAD"));
        }
    }
    let head = ask(port, "HEAD", "/api/v1/runs", &[("Host", "localhost")]);
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn responses_forbid_other_origins_and_foreign_scripts() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let origin = [("Host", "localhost"), ("Origin", "http://evil.example")];
    for path in ["/", "/api/v1/runs", "/nothing", "/metrics"] {
        let response = ask(port, "GET", path, &origin);
        assert_eq!(response.header("access-control-allow-origin"), None, "{path}");
        let policy = response.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'self'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"));
    }
}

#[test]
fn from_elsewhere_the_token_opens_once_and_then_a_cookie_does() {
    let fake = Arc::new(Fake::default());
    let (server, port) = fake.serve_at("0.0.0.0:0");
    let url = server.url("/run/x");
    let token = url.split_once("?token=").expect("a token in the address").1;
    let host = format!("127.0.0.1:{port}");
    let plain = [("Host", host.as_str())];

    let without = ask(port, "GET", "/api/v1/runs", &plain);
    assert_eq!(without.status, 401);
    assert!(!without.text().contains(token));
    for wrong in ["", "00", &token[1..], &format!("{token}0")] {
        assert_eq!(ask(port, "GET", &format!("/?token={wrong}"), &plain).status, 401, "{wrong}");
    }
    let entered = ask(port, "GET", &format!("/run/x?m=lat&token={token}&by=bs"), &plain);
    assert_eq!(entered.status, 303);
    assert_eq!(entered.header("location"), Some("/run/x?m=lat&by=bs"));
    let cookie = entered.header("set-cookie").expect("a cookie");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    let elsewhere = ask(port, "GET", &format!("//evil.example?token={token}"), &plain);
    assert_eq!(elsewhere.header("location"), Some("/evil.example"), "never to another host");

    let cookie = cookie.split(';').next().expect("its value");
    let with = [("Host", host.as_str()), ("Cookie", cookie)];
    assert_eq!(ask(port, "GET", "/api/v1/runs", &with).status, 200);
    let bearer = format!("Bearer {token}");
    let with = [("Host", host.as_str()), ("Authorization", bearer.as_str())];
    assert_eq!(ask(port, "GET", "/metrics", &with).status, 200, "for what collects figures");
    let wrong = [("Host", host.as_str()), ("Cookie", "tilemark_token=0123")];
    assert_eq!(ask(port, "GET", "/api/v1/runs", &wrong).status, 401);
    assert_eq!(ask(port, "GET", "/healthz", &plain).status, 200, "tells nothing but that we live");
}

#[test]
fn paths_that_are_no_ids_lead_nowhere() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    for id in [
        "..",
        "../../etc/passwd",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..%2f..%2fetc",
        "%00",
        "20261121T184207Z-..%2f..%2f-k3f9qa",
        "latest",
        "x",
    ] {
        let response = get(port, &format!("/api/v1/runs/{id}"));
        assert_eq!(response.status, 404, "{id}");
        assert!(!response.text().contains("root:"), "{id}");
    }
    for path in ["/../../etc/passwd", "/%2e%2e/etc/passwd", "/assets/../../Cargo.toml"] {
        assert_eq!(get(port, path).status, 404, "{path}");
    }
    let long = format!("/?x={}", "a".repeat(5000));
    assert_eq!(get(port, &long).status, 414);
}

#[test]
fn clients_that_never_finish_their_request_keep_no_viewer_out() {
    use std::io::Write;
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let slow: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port)).expect("listens");
            // A connection that was ended meanwhile may fail.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
            stream
        })
        .collect();
    assert_eq!(get(port, "/api/v1/runs").status, 200);
    drop(slow);
}
