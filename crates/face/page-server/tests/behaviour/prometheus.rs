//! Metrics of a watcher in a real Prometheus (Debian's `prometheus`): as native and as classic
//! histograms, with every query of the shipped dashboard and rules.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fixtures::prometheus::{program, shipped};
use serde_json::Value;

use crate::client::{ask, get};
use crate::watched::Watched;

/// Longest wait: far more than it takes on a busy computer.
const DEADLINE: Duration = Duration::from_secs(120);
const NATIVE: &str = "--enable-feature=native-histograms";

/// Serves the metrics of a watcher on loopback.
fn serve(watched: &Arc<Mutex<Watched>>) -> u16 {
    let watched = Arc::clone(watched);
    let families = move || watched.lock().expect("no panic").totals.families();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    server::answer_families(any, families).expect("a port").port()
}

struct Prometheus {
    process: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Prometheus {
    /// Starts a Prometheus that scrapes a port each second.
    fn start(target: u16, options: &[&str]) -> Option<Self> {
        let program = program("prometheus")?;
        let directory = tempfile::tempdir().expect("a directory");
        let config = directory.path().join("prometheus.yml");
        let rules = shipped("watch-rules.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [\"{}\"]\nscrape_configs:\n  - job_name: tilemark-watch\n    \
             static_configs: [{{targets: [\"127.0.0.1:{target}\"]}}]\n",
            rules.display()
        );
        std::fs::write(&config, text).expect("written");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr());
        let port = free.expect("a port").port();
        let process = Command::new(program)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus starts");
        let server = Self { process, port, _directory: directory };
        wait_for("prometheus is ready", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(server)
    }

    /// Samples that a query gives: labels and value.
    fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = get(self.port, &format!("/api/v1/query?query={query}")).text();
        let Ok(answer) = serde_json::from_str::<Value>(&answer) else { return Vec::new() };
        assert_ne!(answer["errorType"], "bad_data", "{answer}");
        let samples = answer["data"]["result"].as_array().into_iter().flatten();
        let sample = |own: &Value| {
            let value = own["value"][1].as_str().and_then(|own| own.parse().ok());
            Some((own["metric"].clone(), value?))
        };
        samples.filter_map(sample).collect()
    }

    /// The only value of a query, when there is one.
    fn wait_for_value(&self, query: &str) -> f64 {
        wait_for(query, || self.query(query).len() == 1);
        self.query(query)[0].1
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn scraper_gets_the_format_that_it_asks_for() {
    let watched = Arc::new(Mutex::new(Watched::default()));
    watched.lock().expect("no panic").go_on();
    let port = serve(&watched);
    let host = format!("127.0.0.1:{port}");
    let of = |accept: &str| ask(port, "GET", "/metrics", &[("Host", &host), ("Accept", accept)]);
    let message = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily";
    let native = of(&format!("{message};encoding=delimited,*/*;q=0.1"));
    assert_eq!(
        native.header("content-type"),
        Some(
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
             encoding=delimited"
        )
    );
    assert_eq!(native.header("vary"), Some("Accept"));
    let text = of("*/*");
    let kind = text.header("content-type").expect("a type").to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    assert!(text.text().ends_with("# EOF\n"));
}

#[test]
fn percentiles_of_native_histograms_are_never_too_short() {
    let watched = Arc::new(Mutex::new(Watched::default()));
    let times = watched.lock().expect("no panic").spread_times();
    let port = serve(&watched);
    let Some(native) = Prometheus::start(port, &[NATIVE]) else { return };
    let Some(classic) = Prometheus::start(port, &[]) else { return };
    let name = "tilemark_watch_operation_seconds";
    let of = r#"{host="pve1",vm="spread",disk="sda",direction="read"}"#;
    #[expect(clippy::cast_precision_loss, reason = "a thousand")]
    let count = times.len() as f64;
    assert_eq!(native.wait_for_value(&format!("histogram_count({name}{of})")), count);
    assert_eq!(classic.wait_for_value(&format!("{name}_count{of}")), count);
    // Each Prometheus has the histograms of its kind, and no others.
    assert!(native.query(&format!("{name}_bucket")).is_empty());
    assert!(classic.query(&format!("histogram_count({name})")).is_empty());
    for (percent, rank) in [(50, 499), (90, 899), (95, 949), (99, 989), (100, 999)] {
        let exact = times[rank].as_secs_f64();
        let share = f64::from(percent) / 100.0;
        let found = native.wait_for_value(&format!("histogram_quantile({share}, {name}{of})"));
        let coarse =
            classic.wait_for_value(&format!("histogram_quantile({share}, {name}_bucket{of})"));
        eprintln!("p{percent}: {exact:.6} s, native {found:.6} s, classic {coarse:.6} s");
        assert!(found >= exact, "p{percent}: {found} s for {exact} s");
        assert!(found <= exact * 1.15, "p{percent}: {found} s for {exact} s");
        assert!((coarse / exact).ln().abs() < 1.0, "p{percent}: {coarse} s for {exact} s");
    }
    let sum: f64 = times.iter().map(|time| time.as_secs_f64()).sum();
    let found = native.wait_for_value(&format!("histogram_sum({name}{of})"));
    assert!((found / sum - 1.0).abs() < 1e-9, "{found} {sum}");
}

/// Queries of the dashboard's panels and variables, and names that the rules record.
fn queries() -> Vec<String> {
    let dashboard = std::fs::read_to_string(shipped("watch-dashboard.json")).expect("shipped");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries = targets.map(|target| {
        let query = target["expr"].as_str().expect("a query");
        let query = query.replace("$__rate_interval", "1m").replace("$percentile", "0.95");
        ["$host", "$vm", "$disk", "$layer"]
            .iter()
            .fold(query, |query, name| query.replace(name, ".*"))
    });
    let variables = dashboard["templating"]["list"].as_array().expect("variables").iter();
    let variables = variables.filter_map(|own| own["query"]["query"].as_str()).map(|query| {
        let inner = query.trim_start_matches("label_values(").trim_end_matches(')');
        let (series, label) = inner.rsplit_once(", ").expect("a series and a label");
        format!("count by ({label}) ({})", series.replace("$host", ".*").replace("$vm", ".*"))
    });
    let rules = std::fs::read_to_string(shipped("watch-rules.yml")).expect("shipped");
    let records = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    let all: Vec<String> = queries.chain(variables).chain(records.map(str::to_owned)).collect();
    assert!(all.len() >= 20 && !all.iter().any(|own| own.contains('$')), "{all:#?}");
    all
}

#[test]
fn every_query_gives_data_of_either_kind_of_histogram() {
    let watched = Arc::new(Mutex::new(Watched::default()));
    let port = serve(&watched);
    for options in [&[NATIVE][..], &[]] {
        let Some(server) = Prometheus::start(port, options) else { return };
        let mut wanted = queries();
        let until = Instant::now() + DEADLINE;
        while !wanted.is_empty() {
            assert!(Instant::now() < until, "{options:?} gives no data of: {wanted:#?}");
            watched.lock().expect("no panic").go_on();
            let is_missing = |query: &String| {
                let found = server.query(query);
                found.is_empty() || found.iter().any(|(_, value)| value.is_nan())
            };
            wanted.retain(is_missing);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn both_kinds_of_histograms_name_the_vm_that_suffers_most() {
    let watched = Arc::new(Mutex::new(Watched::default()));
    let port = serve(&watched);
    let dashboard = std::fs::read_to_string(shipped("watch-dashboard.json")).expect("shipped");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let mut panels = dashboard["panels"].as_array().expect("panels").iter();
    let panel = panels.find(|panel| panel["title"] == "Who suffers").expect("a panel");
    let query = panel["targets"][0]["expr"].as_str().expect("a query");
    let query = query.replace("$__rate_interval", "1m").replace("$host", ".*");
    for options in [&[NATIVE][..], &[]] {
        let Some(server) = Prometheus::start(port, options) else { return };
        wait_for("somebody suffers", || {
            watched.lock().expect("no panic").go_on();
            let mut found = server.query(&query);
            found.sort_by(|left, right| right.1.total_cmp(&left.1));
            let names: Vec<&str> = found.iter().filter_map(|own| own.0["vm"].as_str()).collect();
            // Of three VMs one has no slow I/O, and one has the most.
            found.len() == 2 && found[0].1 > found[1].1 && names == ["sql1", "web1"]
        });
    }
}

fn promtool(args: &[&str], file: &str) -> Option<Output> {
    let promtool = program("promtool")?;
    let output = Command::new(promtool).args(args).arg(shipped(file)).output();
    Some(output.expect("promtool starts"))
}

#[test]
fn rules_fire_as_their_tests_say() {
    for (args, file) in
        [(["check", "rules"], "watch-rules.yml"), (["test", "rules"], "watch-rules.test.yml")]
    {
        let Some(output) = promtool(&args, file) else { return };
        let text = [&output.stdout[..], &output.stderr[..]].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
    }
}
