//! `agent`: this host works for a run that another computer controls.

use crate::args::AgentArgs;
use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(not(feature = "hosts"))]
pub fn agent(_: &AgentArgs) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

/// Joins a controller and carries out its orders until the controller ends or is lost.
#[cfg(feature = "hosts")]
pub fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    use std::sync::Arc;
    use std::time::Duration;

    use bench::progress::Control;
    use many_hosts::{Agent, AgentEnd, AgentFile, AgentOptions, Allowed};

    let refused =
        |error: &dyn std::error::Error| Failure::new(Exit::Refused, super::run::chain(error));
    let (allow, allow_root_fs) = (args.allow.clone(), args.allow_root_fs);
    let named = AgentFile { allow, allow_root_fs, ..AgentFile::default() };
    let allowed = Allowed::read(args.config.as_deref(), named).map_err(|error| refused(&error))?;
    let token = token(&args.join)?;
    let invitation = token
        .parse::<many_hosts::Invitation>()
        .map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let control = Arc::new(Control::default());
    let signals = crate::signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let options = AgentOptions {
        allowed,
        tool: super::run::tool(),
        program: crate::this_program::path(),
        base: super::runs::base(args.out.as_deref())?,
        lease: many_hosts::LEASE,
        join_within: Duration::from_nanos(args.join_within.0),
        commands: super::there::here,
        slot: std::env::var("TILEMARK_AGENT_SLOT").unwrap_or_default(),
    };
    let end = Agent::run(&invitation, options, &control)
        .map_err(|error| Failure::new(Exit::Failure, super::run::chain(&error)))?;
    let tell = |stays: &[String]| stays.iter().for_each(|text| crate::say!("not removed: {text}"));
    Ok(match end {
        AgentEnd::Left => Exit::Success,
        AgentEnd::Alone { not_removed } => {
            crate::say!(
                "the controller is gone; files made here are removed, and any recording is stopped"
            );
            tell(&not_removed);
            if not_removed.is_empty() { Exit::Failure } else { Exit::NotRemoved }
        }
        AgentEnd::Stopped { not_removed } => {
            tell(&not_removed);
            signals.exit()
        }
    })
}

/// Reads the join token from standard input or a file.
#[cfg(feature = "hosts")]
fn token(given: &str) -> Result<String, Failure> {
    use std::io::BufRead;

    /// Maximum bytes that are read for a token: ten times the longest token.
    const TOKEN_MAX: u64 = 1 << 15;
    let failed = |what: String| Failure::new(Exit::Usage, what);
    if given == "-" {
        let mut line = String::new();
        let mut input = std::io::Read::take(std::io::stdin().lock(), TOKEN_MAX);
        input.read_line(&mut line).map_err(|error| failed(format!("standard input: {error}")))?;
        return Ok(line);
    }
    match given.strip_prefix('@') {
        Some(path) => {
            std::fs::read_to_string(path).map_err(|error| failed(format!("{path}: {error}")))
        }
        // Every user of this host can read the arguments of a command (ps), and the token is
        // secret.
        None => Err(failed(
            "--join accepts no token on the command line, because other users could see it".into(),
        )
        .hint(Some(
            "give the token in a file with --join @FILE, or on standard input with --join -",
        ))),
    }
}
