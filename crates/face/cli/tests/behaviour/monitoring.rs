//! A run's page and metrics at a given address, and Prometheus that scrapes them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fixtures::prometheus::{program, shipped};
use rustix::process::Signal;

use crate::rig::{DEADLINE, Running, Workspace, err, out, run_words};
use crate::serving::{get, port_of};

const TOKEN: &str = "0123456789abcdef-of-a-test";

/// Sends a request with a token; returns the status and the whole answer.
fn ask(port: u16, path: &str, token: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time limit");
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    write!(stream, "{head}Authorization: Bearer {token}\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, text)
}

#[test]
fn a_run_listens_where_it_is_told_and_asks_for_its_token() {
    let Some(place) = Workspace::usable() else { return };
    place.write("token", &format!("{TOKEN}\n"));
    let words = ["--listen", "0.0.0.0:0", "--token-file", "token"];
    let mut run = place.start(&words);
    run.wait_for("page       http://");
    let address = run.seen_last();
    assert!(address.contains(&format!("token={TOKEN}")), "{address}");
    let port = address.rsplit(':').next().and_then(|rest| rest.split('/').next());
    let port: u16 = port.and_then(|digits| digits.parse().ok()).expect(&address);
    assert_eq!(ask(port, "/metrics", "another-token-of-24-bytes").0, 401);
    let (status, metrics) = ask(port, "/metrics", TOKEN);
    assert!(status == 200 && metrics.ends_with("# EOF\n"), "{metrics}");
    run.signal(Signal::INT);
    assert_eq!(run.end().code, Some(130));
}

#[test]
fn an_address_that_cannot_be_had_ends_a_run_before_it_writes() {
    let Some(place) = Workspace::usable() else { return };
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let output = place.run(3, &["--page", &port]);
    assert!(err(&output).contains("hint: name another port"), "{}", err(&output));
    assert!(place.runs().is_empty() && place.names("ds").is_empty());
    place.write("token", "short\n");
    let words = run_words(&["--page", "127.0.0.1:0", "--token-file", "token"]);
    let output = place.output(&words);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("the token has 5 characters; allowed is"), "{}", err(&output));
}

#[test]
fn what_users_feel_is_in_the_metrics_of_a_run_that_has_ended() {
    let Some(place) = Workspace::usable() else { return };
    crate::rig::write_arrivals(&place, 50, 95, "10s");
    place.run(0, &["--tile", "arrivals-tile.toml"]);
    let served = Served::start(&place);
    let metrics = get(served.port, "/metrics").1;
    for line in [
        "tilemark_action_rate_actions_per_second{",
        "tilemark_action_response_p95_seconds{",
        "tilemark_limit_used_ratio{",
        "verdict=\"passed\"} 1.0",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    assert!(metrics.contains("workload=\"arrivals\",action=\"read\""), "{metrics}");
}

/// `tilemark serve` of the stored runs.
pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
}

impl Served {
    pub(crate) fn start(place: &Workspace) -> Self {
        use std::io::{BufRead, BufReader};
        let mut command = place.command(&["serve", "--listen", "0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("an address");
        Self { child, port: port_of(&line) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics_and_the_rules() {
    let Some(promtool) = program("promtool") else { return };
    let Some(place) = Workspace::usable() else { return };
    crate::rig::write_arrivals(&place, 50, 95, "10s");
    place.run(0, &["--tile", "arrivals-tile.toml"]);
    let served = Served::start(&place);
    let answer = get(served.port, "/metrics").1;
    let body = answer.split("\r\n\r\n").nth(1).expect("a body");
    // The older text format, which promtool reads, has no units and no end.
    let is_old = |line: &&str| !line.starts_with("# UNIT") && !line.starts_with("# EOF");
    let body: String = body.lines().filter(is_old).map(|line| format!("{line}\n")).collect();
    let mut check = Command::new(&promtool);
    check.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = check.stderr(Stdio::piped()).spawn().expect("promtool starts");
    child.stdin.take().expect("it is piped").write_all(body.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && err(&output).is_empty(), "{}{body}", err(&output));
    let rules = Command::new(&promtool).args(["check", "rules"]).arg(shipped("rules.yml")).output();
    let rules = rules.expect("promtool starts");
    assert!(rules.status.success(), "{}{}", out(&rules), err(&rules));
}

/// Every query of the dashboard, asked of a Prometheus that scrapes a run.
#[test]
fn every_query_of_the_dashboard_returns_data_of_a_real_run() {
    let Some(prometheus) = program("prometheus") else { return };
    let Some(place) = Workspace::usable() else { return };
    crate::rig::write_arrivals(&place, 50, 95, "10s");
    place.run(0, &["--tile", "arrivals-tile.toml"]);
    let mut run = place.start(&["--page", "127.0.0.1:0", "--tile", "tile.toml"]);
    run.wait_for("page       http://");
    let target = port_of(&run.seen_last());
    let own = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    place.write(
        "prometheus.yml",
        &format!(
            "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: tilemark\n    \
             static_configs: [{{targets: [\"127.0.0.1:{target}\"]}}]\n"
        ),
    );
    let server = Command::new(prometheus)
        .arg(format!("--config.file={}", place.path("prometheus.yml").display()))
        .arg(format!("--storage.tsdb.path={}", place.path("tsdb").display()))
        .arg(format!("--web.listen-address=127.0.0.1:{own}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("prometheus starts");
    let _server = Served { child: server, port: own };
    let dashboard = std::fs::read_to_string(shipped("dashboard.json")).expect("it is shipped");
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let mut wanted: Vec<String> = panels
        .flat_map(|panel| panel["targets"].as_array().expect("targets"))
        .map(|target| target["expr"].as_str().expect("a query").replace("$run", ".*"))
        .collect();
    assert!(wanted.len() >= 13, "{wanted:?}");
    let begun = Instant::now();
    while !wanted.is_empty() {
        assert!(begun.elapsed() < DEADLINE, "without data: {wanted:#?}");
        wanted.retain(|query| !has_data(own, query));
        std::thread::yield_now();
    }
    run.signal(Signal::INT);
    let _: crate::rig::Ended = Running::end(run);
}

fn has_data(port: u16, query: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let head = format!("GET /api/v1/query?query={query} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    let mut text = String::new();
    let asked = stream.write_all(head.as_bytes()).and_then(|()| stream.read_to_string(&mut text));
    asked.is_ok() && text.contains("\"value\":[")
}
