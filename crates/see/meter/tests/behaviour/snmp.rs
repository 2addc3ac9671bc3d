//! SNMP by another implementation, if installed: `snmpsimd` of Debian's package snmpsim.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tilemark_meter::open;

const RECORD: &str = "1.3.6.1.2.1.1.1.0|4|APC Web/SNMP Management Card\n\
                      1.3.6.1.4.1.318.1.1.26.4.3.1.5.1|2|412\n";

struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn agent(directory: &std::path::Path, port: u16) -> Option<Agent> {
    let programs = ["snmpsim-command-responder-lite", "snmpsim-command-responder", "snmpsimd"];
    programs.iter().find_map(|program| {
        let mut command = Command::new(program);
        command.arg(format!("--data-dir={}", directory.display()));
        command.arg(format!("--agent-udpv4-endpoint=127.0.0.1:{port}"));
        command.args(["--process-user=nobody", "--process-group=nogroup"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().ok().map(Agent)
    })
}

#[test]
fn an_agent_of_others_is_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("public.snmprec"), RECORD).expect("writes");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("binds");
    let port = socket.local_addr().expect("bound").port();
    drop(socket);
    let Some(_agent) = agent(directory.path(), port) else {
        eprintln!("skipped: there is no snmpsim here");
        return;
    };
    let text = format!("snmp:127.0.0.1:{port},oid=1.3.6.1.4.1.318.1.1.26.4.3.1.5.1");
    let until = Instant::now() + Duration::from_secs(20);
    let mut meter = loop {
        match open(&text.parse().expect("a meter")) {
            Ok(meter) => break meter,
            Err(fault) => assert!(Instant::now() < until, "{fault}"),
        }
    };
    assert_eq!(meter.about().model, "APC Web/SNMP Management Card");
    assert_eq!(meter.read().expect("it answers")[0].watts, Some(412.0));
}
