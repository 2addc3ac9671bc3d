//! Starts that succeed and starts that do not.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use process_home::{Phase, ProcessError};
use tilemark_mail_server::{MailServer, MailServerError};

use crate::bench::{PATIENCE, bench};

#[test]
fn servers_run_as_the_user_with_private_files() {
    let Some(bench) = bench() else { return };
    let server = bench.ready();
    for pid in bench.processes() {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
        let line = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let (uid, groups) = (line("Uid:"), line("Groups:"));
        assert!(uid.iter().all(|own| own != "0" && *own == uid[0]), "{pid}: {uid:?}");
        assert_eq!(line("NoNewPrivs:"), ["1"], "{pid}");
        assert!(rustix::process::geteuid().as_raw() != 0 || groups.len() <= 1, "{groups:?}");
    }
    let runtime = fs::metadata(bench.runtime()).expect("the directory");
    assert_eq!(runtime.permissions().mode() & 0o777, 0o700);
    for name in ["exim.conf", "dovecot.conf", "password"] {
        let file = fs::metadata(bench.runtime().join(name)).expect(name);
        assert_eq!((file.mode() & 0o777, file.is_file()), (0o600, true), "{name}");
    }
    let password = fs::read_to_string(bench.runtime().join("password")).expect("read");
    assert_eq!((password.as_str(), password.len()), (server.password(), 32));
    server.stop().expect("stopped");
    assert!(bench.processes().is_empty() && !bench.runtime().exists());
}

#[test]
fn taken_port_is_named_with_the_end_of_the_log() {
    for at in 0..3 {
        let Some(mut bench) = bench() else { return };
        let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
        let taken = stranger.local_addr().expect("its address").port();
        let ports = [&mut bench.ports.smtp, &mut bench.ports.imap, &mut bench.ports.lmtp];
        *ports.into_iter().nth(at).expect("three") = taken;
        // The stranger greets as a mail server does.
        std::thread::spawn(move || {
            use std::io::Write;
            for mut stream in stranger.incoming().map_while(Result::ok) {
                let _ = stream.write_all(b"220 mail ready\r\n");
            }
        });
        let mut server = bench.start();
        let error = server.ready(PATIENCE).expect_err("the port is taken");
        let MailServerError::Process(ProcessError::Ended {
            name, phase: Phase::Start, log, ..
        }) = &error
        else {
            panic!("{error}");
        };
        assert_eq!(name, ["exim", "dovecot", "dovecot"][at]);
        assert!(log.contains("in use"), "{error}");
        drop(server);
        assert!(bench.processes().is_empty() && !bench.runtime().exists());
    }
}

#[test]
fn existing_runtime_directory_is_refused_and_left() {
    let Some(bench) = bench() else { return };
    fs::create_dir(bench.runtime()).expect("made");
    fs::write(bench.runtime().join("mine"), "").expect("written");
    let (data, runtime) = (bench.data(), bench.runtime());
    let setup = bench.setup(&data, &runtime);
    let error = MailServer::start(&bench.programs, &setup).expect_err("it is there");
    assert!(matches!(error, MailServerError::Io { attempt: "make", .. }), "{error}");
    assert!(runtime.join("mine").exists());
}

#[test]
fn directory_that_the_user_cannot_enter_fails_with_the_log() {
    let Some(bench) = bench() else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can make a directory that the servers' user cannot enter");
        return;
    }
    let closed = fs::Permissions::from_mode(0o700);
    fs::set_permissions(bench.data(), closed).expect("closed");
    let mut server = bench.start();
    let error = server.ready(Duration::from_secs(5)).expect_err("no access");
    assert!(error.to_string().contains("Permission denied"), "{error}");
    assert!(error.hint().expect("a hint").contains("access"), "{error}");
    drop(server);
    assert!(bench.processes().is_empty());
}
