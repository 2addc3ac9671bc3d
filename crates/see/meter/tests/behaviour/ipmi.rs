//! IPMI by the real `ipmitool`, against `ipmi_sim` of Debian's package openipmi, if installed. That
//! controller has no DCMI: the test covers the connection, and the refusal as a meter.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tilemark_meter::{Fault, open};

fn is_there(program: &str) -> bool {
    let there = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: there is no {program} here");
    }
    there
}

/// Ended when dropped; it runs while its standard input is open.
struct Controller(Child);

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn controller(directory: &Path, port: u16) -> Controller {
    let auths = ["callback", "user", "operator", "admin"]
        .map(|level| format!("    allowed_auths_{level} none md2 md5 straight\n"))
        .concat();
    let lan = format!(
        "name \"test\"\nset_working_mc 0x20\n  startlan 1\n    addr 127.0.0.1 {port}\n    \
         priv_limit admin\n{auths}    guid a123456789abcdefa123456789abcdef\n  endlan\n  \
         user 2 true \"root\" \"calvin\" admin 10 none md2 md5 straight\n"
    );
    let mc = "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n\
              mc_enable 0x20\n";
    std::fs::write(directory.join("lan.conf"), lan).expect("writes");
    std::fs::write(directory.join("mc.emu"), mc).expect("writes");
    let child = Command::new("ipmi_sim")
        .args(["-c", "lan.conf", "-f", "mc.emu", "-s", "state", "-n"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Controller(child.expect("it starts"))
}

#[test]
fn a_controller_without_dcmi_is_reached_and_is_no_meter() {
    if !is_there("ipmitool") || !is_there("ipmi_sim") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("binds");
    let port = socket.local_addr().expect("bound").port();
    drop(socket);
    let _controller = controller(directory.path(), port);
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "root:calvin\n").expect("writes");
    let text = format!("ipmi:127.0.0.1:{port},credentials={}", secret.display());
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let fault = open(&text.parse().expect("a meter")).err().expect("it knows no DCMI");
        assert!(!fault.to_string().contains("calvin"), "{fault}");
        if fault.to_string().contains("DCMI request failed") {
            return;
        }
        assert!(Instant::now() < until, "{fault}");
    }
}

#[test]
fn a_controller_that_is_not_there_is_named() {
    if !is_there("ipmitool") {
        return;
    }
    let fault = open(&"ipmi:127.0.0.1:1".parse().expect("a meter")).err().expect("nobody is there");
    assert!(matches!(fault, Fault::Unanswered(_)), "{fault}");
}
