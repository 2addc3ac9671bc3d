//! Requests, answers and problems.

use std::io::Read;
use std::sync::Arc;

use crate::client::{ask, get};
use crate::fake::{Fake, RUN};

#[test]
fn a_view_is_asked_for_with_its_lens() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let path = format!("/api/v1/runs/{RUN}/series?m=lat&bs=64k%2C128k&zoo=1&wl=a+b");
    let response = get(port, &path);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.json()["request"], "series?bs=64k,128k&m=lat&wl=a b");
}

#[test]
fn what_makes_no_sense_is_answered_with_what_would() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let other = RUN.replace("k3f9qa", "k3f9qb");
    for (path, status, detail) in [
        (format!("/api/v1/runs/{RUN}/series?m=size"), 400, "`m=size`: iops, bw or lat".to_owned()),
        (format!("/api/v1/runs/{RUN}/pie"), 404, "there is no view `pie`".to_owned()),
        (format!("/api/v1/runs/{other}/series"), 404, format!("there is no run {other}")),
        (format!("/api/v1/runs/{RUN}"), 404, "nothing has been measured yet".to_owned()),
        (format!("/api/v1/compare?a={RUN}"), 400, "`b` is missing".to_owned()),
        ("/api/v1/trend".to_owned(), 400, "0 runs: name 1 to 24 runs".to_owned()),
        (format!("/api/v1/trend?{}", format!("run={RUN}&").repeat(25)), 400, "25 runs:".to_owned()),
        (format!("/api/v1/trend?run={RUN}&run={other}"), 404, format!("there is no run {other}")),
        (format!("/api/v1/trend?run={RUN}"), 404, format!("run {RUN} is not complete")),
        ("/api/v1/compare?a=x&b=y".to_owned(), 404, "`x` is not the id of a run".to_owned()),
        ("/api/v1/studies/none".to_owned(), 404, "there is no study `none`".to_owned()),
        ("/api/v1/nothing".to_owned(), 404, "there is no `/api/v1/nothing`".to_owned()),
    ] {
        let response = get(port, &path);
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("content-type"), Some("application/problem+json"), "{path}");
        let problem = response.json();
        assert_eq!(problem["status"], status, "{path}");
        let said = problem["detail"].as_str().unwrap_or_default();
        assert!(said.contains(&detail), "{path}: {said}");
    }
}

#[test]
fn a_question_that_fails_is_one_bad_answer_and_no_more() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    for _ in 0..5 {
        let response = get(port, &format!("/api/v1/runs/{RUN}/series?step=666"));
        assert_eq!(response.status, 500);
        assert!(!response.text().contains("panicked"), "{}", response.text());
    }
    assert_eq!(get(port, "/api/v1/runs").status, 200);
}

#[test]
fn every_place_of_the_page_shows_the_page_and_never_an_old_one() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    for path in [
        "/",
        &format!("/run/{RUN}/latency?m=lat"),
        "/compare?a=1&b=2",
        "/trend?runs=1,2",
        "/study/vsan-6",
    ] {
        let response = get(port, path);
        assert_eq!(response.status, 200, "{path}");
        assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
        assert!(response.text().to_lowercase().contains("<html"), "{path}");
    }
    if !server::has_page() {
        assert!(get(port, "/").text().contains("built without Node"));
    }
}

#[test]
fn the_interface_describes_itself() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let document = get(port, "/api/v1/openapi.json").json();
    assert_eq!(document, server::openapi::document());
}

#[test]
fn metrics_are_open_metrics_with_units() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let response = get(port, "/metrics");
    let kind = response.header("content-type").expect("a type").to_owned();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"));
    let text = response.text();
    assert!(text.ends_with("# EOF\n"), "{text}");
    for line in [
        "# UNIT tilemark_io_service_p99_seconds seconds",
        "# TYPE tilemark_tiles gauge",
        "tilemark_run_running{run=\"20261121T184207Z-datacenter-k3f9qa\"} 1.0",
        "tilemark_run_running{run=\"20261121T000000Z-datacenter-aaaaaa\"} 0.0",
        "tilemark_live_lost_slices{run=\"20261121T184207Z-datacenter-k3f9qa\"} 7.0",
        // The run makes calls, and none is answered.
        "tilemark_call_rate_calls_per_second{run=\"20261121T184207Z-datacenter-k3f9qa\"} 0.0",
        "tilemark_host_io_rate_operations_per_second{run=\"20261121T000000Z-datacenter-aaaaaa\",host=\"b\"} 4.0",
        "tilemark_host_io_throughput_bytes_per_second{run=\"20261121T000000Z-datacenter-aaaaaa\",host=\"a\"} 12.0",
        "# UNIT tilemark_cpu_own_ratio ratio",
        "tilemark_cpu_own_ratio{run=\"20261121T184207Z-datacenter-k3f9qa\",host=\"host\"} 0.25",
        "tilemark_device_busy_ratio{run=\"20261121T184207Z-datacenter-k3f9qa\",device=\"sda\"} 1.0",
        "# UNIT tilemark_tier_read_bytes_per_second bytes_per_second",
        "# UNIT tilemark_action_rate_actions_per_second actions_per_second",
        "tilemark_action_rate_actions_per_second{run=\"20261121T000000Z-datacenter-aaaaaa\",workload=\"shop\",action=\"order\"} 12.5",
        "tilemark_action_response_p95_seconds{run=\"20261121T000000Z-datacenter-aaaaaa\",workload=\"shop\",action=\"order\"} 0.25",
        "tilemark_limit_used_ratio{run=\"20261121T000000Z-datacenter-aaaaaa\",workload=\"shop\",on=\"order\",statistic=\"p95\"} 0.5",
        "tilemark_step_verdict{run=\"20261121T000000Z-datacenter-aaaaaa\",step=\"2\",repeat=\"1\",tiles=\"3\",verdict=\"passed\"} 1.0",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(text.contains("run=\"20261121T000000Z-datacenter-aaaaaa\",direction=\"read\"} 0.001"));
    assert_eq!(
        text.matches("tilemark_call_rate_calls_per_second{").count(),
        1,
        "who calls: {text}"
    );
    let p95 = "tilemark_action_response_p95_seconds{";
    assert_eq!(text.matches(p95).count(), 1, "of an action that none ended: {text}");
    assert!(text.contains(r#"target="a \"disk\"""#), "quotes are quoted: {text}");
}

#[test]
fn a_long_answer_is_compressed_for_who_can_read_that() {
    let fake = Arc::new(Fake::default());
    let (_server, port) = fake.serve();
    let path = "/api/v1/openapi.json";
    let headers = [("Host", "localhost"), ("Accept-Encoding", "gzip")];
    let packed = ask(port, "GET", path, &headers);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(get(port, path).header("content-encoding"), None);
    let mut text = String::new();
    let body = unchunked(&packed.body);
    flate2::read::GzDecoder::new(body.as_slice()).read_to_string(&mut text).expect("gzip");
    assert!(text.starts_with("{\"openapi\":\"3.1"));
}

/// Joins a chunked body (RFC 9112, 7.1).
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&body[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("hexadecimal");
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    whole
}
