//! Pushes to a collector: the data that arrive, and repeated attempts after failures.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::Value;
use server::Provider;
use server::otlp::{Pusher, Settings};

use crate::client::get;
use crate::fake::{Fake, RUN};

/// Reads a request's head and document, and answers with a status.
fn take(listener: &TcpListener, status: &str) -> (String, Value) {
    let (stream, _) = listener.accept().expect("a push");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).expect("a header");
        if line == "\r\n" {
            break;
        }
        if let Some(number) = line.strip_prefix("Content-Length: ") {
            length = number.trim().parse().expect("a number");
        }
        head += &line;
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    stream.get_mut().write_all(answer.as_bytes()).expect("an answer");
    (head, serde_json::from_slice(&body).expect("JSON"))
}

fn settings(listener: &TcpListener) -> Settings {
    let endpoint = format!("http://{}", listener.local_addr().expect("its address"));
    let settings = Settings::from_variables(|name| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(endpoint.clone()),
        "OTEL_EXPORTER_OTLP_HEADERS" => Some("x-lab=a%20b".to_owned()),
        "OTEL_METRIC_EXPORT_INTERVAL" => Some("20".to_owned()),
        _ => None,
    });
    settings.expect("good").expect("an endpoint")
}

#[test]
fn what_metrics_show_is_pushed() {
    let fake = Arc::new(Fake::default());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let provider: Arc<dyn Provider> = fake.clone();
    let pusher = Pusher::start(settings(&listener), provider, |_| {}).expect("a thread");
    let (head, document) = take(&listener, "200 OK");
    drop((listener, pusher));
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Type: application/json\r\n"), "{head}");
    assert!(head.contains("\r\nx-lab: a b\r\n"), "{head}");
    let resource = &document["resourceMetrics"][0];
    assert_eq!(resource["resource"]["attributes"][0]["value"]["stringValue"], "tilemark");
    let metrics = resource["scopeMetrics"][0]["metrics"].as_array().expect("metrics");

    let (_server, port) = fake.serve();
    let shown = get(port, "/metrics").text();
    let lines = shown.lines().filter(|line| line.starts_with("tilemark_")).count();
    let points = |metric: &Value| metric["gauge"]["dataPoints"].as_array().map_or(0, Vec::len);
    assert_eq!(metrics.iter().map(points).sum::<usize>(), lines, "{shown}\n{document:#}");

    let of = |name: &str| metrics.iter().find(|metric| metric["name"] == name).expect(name);
    assert_eq!(of("tilemark.device.busy")["gauge"]["dataPoints"][0]["asDouble"], 1.0);
    assert_eq!(of("tilemark.tier.read_bytes")["unit"], "By/s");
    let rate = of("tilemark.io.rate");
    assert_eq!(rate["unit"], "{operation}/s");
    let point = &rate["gauge"]["dataPoints"][0];
    let value = point["asDouble"].as_f64().expect("a number");
    let name = "tilemark_io_rate_operations_per_second";
    assert!(shown.contains(&format!("{name}{{run=\"{RUN}\"}} {value}")), "{value}\n{shown}");
    assert_eq!(point["attributes"][0]["key"], "tilemark.run");
    assert_eq!(point["attributes"][0]["value"]["stringValue"], RUN);
    let time = point["timeUnixNano"].as_str().expect("64-bit integers are texts");
    assert!(time.parse::<u64>().expect("nanoseconds") > 1_700_000_000_000_000_000);
}

#[test]
fn a_collector_in_trouble_is_told_of_once_and_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (sender, told) = channel();
    let provider: Arc<dyn Provider> = Arc::new(Fake::default());
    let tell = move |reason: &str| sender.send(reason.to_owned()).expect("the test listens");
    let pusher = Pusher::start(settings(&listener), provider, tell).expect("a thread");
    for status in ["503 Busy", "503 Busy", "200 OK", "400 Bad"] {
        take(&listener, status);
    }
    take(&listener, "204 No Content");
    drop((listener, pusher));
    let told = [told.recv().expect("a failure"), told.recv().expect("another")];
    assert!(told[0].ends_with("status 503") && told[1].ends_with("status 400"), "{told:?}");
    // A receiver may echo a header with its secret in its reason phrase.
    assert!(!told.concat().contains("Busy"), "{told:?}");
}

/// Settings with only the first and the last push.
fn once(listener: &TcpListener) -> Settings {
    Settings { interval: Duration::from_secs(3600), ..settings(listener) }
}

#[test]
fn what_a_run_ended_with_is_pushed_before_the_program_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let fake = Arc::new(Fake::default());
    let provider: Arc<dyn Provider> = fake.clone();
    let pusher = Pusher::start(once(&listener), provider, |_| {}).expect("a thread");
    let running = |document: &Value| {
        let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let found = metrics.as_array().expect("metrics").iter();
        let mut found = found.filter(|metric| metric["name"] == "tilemark.run.running");
        found.next().expect("it is told")["gauge"]["dataPoints"][0]["asDouble"].as_f64()
    };
    assert_eq!(running(&take(&listener, "200 OK").1), Some(1.0));
    fake.has_ended.store(true, Ordering::Relaxed);
    let last = std::thread::spawn(move || take(&listener, "200 OK").1);
    drop(pusher);
    assert_eq!(running(&last.join().expect("the last push")), Some(0.0));
}

#[test]
fn hanging_collector_does_not_delay_the_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let provider: Arc<dyn Provider> = Arc::new(Fake::default());
    let settings = Settings { timeout: Duration::from_secs(3600), ..once(&listener) };
    let pusher = Pusher::start(settings, provider, |_| {}).expect("a thread");
    take(&listener, "200 OK");
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(pusher);
        ended.send(()).expect("somebody waits");
    });
    end.recv_timeout(Duration::from_secs(60)).expect("it ends long before that hour");
}
