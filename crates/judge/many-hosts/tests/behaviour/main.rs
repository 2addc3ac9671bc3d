//! Agents in this process, over loopback.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bench::progress::Control;
use run_store::run::ToolFacts;
use tilemark_many_hosts::{
    Agent, AgentError, AgentFile, AgentOptions, Allowed, Controller, Invitation, Options,
};

/// Time limit far beyond any wait, also on a busy computer.
const DEADLINE: Duration = Duration::from_secs(60);

fn tool(version: &str) -> ToolFacts {
    ToolFacts { version: version.to_owned(), commit: None }
}

fn agent_options(dir: &Path, version: &str) -> AgentOptions {
    static AGENTS: AtomicU32 = AtomicU32::new(0);
    let number = AGENTS.fetch_add(1, Ordering::Relaxed);
    let allow = vec![format!("dir:{}", dir.display())];
    let named = AgentFile { allow, allow_root_fs: true, ..AgentFile::default() };
    let config = dir.join("agent.toml");
    std::fs::write(&config, format!("allow = [\"dir:{}\"]\n", dir.display())).expect("written");
    AgentOptions {
        allowed: Allowed::read(Some(&config), named).expect("reads"),
        tool: tool(version),
        program: std::path::PathBuf::new(),
        base: dir.to_owned(),
        lease: Duration::from_secs(5),
        join_within: DEADLINE,
        commands: |_| Err(AgentError::failed("no command here")),
        slot: format!("hosts-test-{}-{number}", std::process::id()),
    }
}

/// Lets a controller of version 1.0 meet one agent, which joins by the printed token.
fn met(version: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().expect("a directory");
    let mut options = Options::new(vec!["a=join".parse().expect("a host")]);
    options.join_within = DEADLINE;
    let control = Control::default();
    std::thread::scope(|scope| {
        let joined = Mutex::new(None);
        let mut tell = |invitation: &Invitation| {
            let token = invitation.token();
            let agent = agent_options(dir.path(), version);
            let control = &control;
            let run = move || Agent::run(&token.parse().expect("a token"), agent, control);
            *joined.lock().expect("one") = Some(scope.spawn(run));
            Ok(())
        };
        let name = format!("met-{}-{version}", std::process::id());
        let found = Controller::gather(&name, &options, &tool("1.0"), &control, &mut tell);
        let found = found.map(drop).map_err(|error| error.to_string());
        let agent = joined.lock().expect("one").take().expect("it was told");
        agent.join().expect("no panic").expect("it joined");
        found
    })
}

#[test]
fn hosts_of_one_version_meet_and_one_of_another_is_named() {
    met("1.0").expect("the same");
    let error = met("1.1").expect_err("another");
    assert_eq!(error, "host a: has tilemark 1.1, but this host has 1.0");
}
