//! Alarms in a real Alertmanager (Debian's `prometheus-alertmanager`).

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http_client::{Identity, ServiceAddress};
use serde_json::Value;
use tilemark_watch::{Rules, Senders};

use crate::sending::{brisk, story};

const PROGRAM: &str = "prometheus-alertmanager";
/// Longest wait: far more than it takes on a busy computer.
const DEADLINE: Duration = Duration::from_secs(60);
const CONFIG: &str = "route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n";

struct Server {
    process: Child,
    place: ServiceAddress,
    _directory: tempfile::TempDir,
}

impl Server {
    /// Starts one on loopback; `None`, with the reason printed, where it is not installed.
    fn start() -> Option<Self> {
        if Command::new(PROGRAM).arg("--version").output().is_err() {
            eprintln!("skipped: {PROGRAM} is not installed");
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let config = directory.path().join("alertmanager.yml");
        std::fs::write(&config, CONFIG).expect("written");
        let free = TcpListener::bind("127.0.0.1:0").and_then(|own| own.local_addr());
        let port = free.expect("a port").port();
        let process = Command::new(PROGRAM)
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.path={}", directory.path().join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--cluster.listen-address=")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let host = "127.0.0.1".to_owned();
        let place =
            ServiceAddress { host, port, tls: None, identity: Identity::Nobody, patience: None };
        let server = Self { process, place, _directory: directory };
        server.wait_for("it is ready", |place| place.get("/-/ready").is_ok());
        Some(server)
    }

    fn wait_for(&self, what: &str, is_so: impl Fn(&ServiceAddress) -> bool) {
        let until = Instant::now() + DEADLINE;
        while !is_so(&self.place) {
            assert!(Instant::now() < until, "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn alerts(place: &ServiceAddress) -> Vec<Value> {
        let Ok(Value::Array(alerts)) = place.json("/api/v2/alerts") else { return Vec::new() };
        alerts
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn alarm_is_seen_in_alertmanager_and_ends_there() {
    let Some(server) = Server::start() else { return };
    let send = format!(
        "[send]\nalertmanager = \"http://127.0.0.1:{}\"\n[[rule]]\nname = \"r\"\nlimit = \"errors <= 0\"\n",
        server.place.port
    );
    let send = Rules::load("rules.toml", &send).expect("rules").send;
    let senders = Senders::start(&send, "host7", brisk()).expect("threads");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let story = story(now - now % 60 - 180);
    senders.tell(&story.begun, story.active.iter());
    server.wait_for("the alarm is active", |place| !Server::alerts(place).is_empty());
    let alerts = Server::alerts(&server.place);
    let [alert] = &alerts[..] else { panic!("{alerts:?}") };
    let labels = serde_json::json!({
        "alertname": "TilemarkVmSuffers", "host": "host7", "vm": "web1", "disk": "sda", "rule": "r",
        "severity": "critical",
    });
    assert_eq!(alert["labels"], labels, "{alert}");
    assert_eq!(alert["status"]["state"], "active", "{alert}");
    assert_eq!(alert["annotations"]["summary"], "web1 on sda: p95 of writes over 20 ms");
    assert!(
        alert["annotations"]["description"].as_str().is_some_and(|own| own.contains("300 I/Os"))
    );
    senders.tell(&story.ended, [].iter());
    server.wait_for("the alarm is over", |place| Server::alerts(place).is_empty());
    let troubles = senders.finish(DEADLINE);
    assert!(troubles.is_empty(), "{troubles:?}");
}
