//! Builds the hosts of a run from options and a plan.

use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the failure of commands that need hosts, in a build without hosts.
#[cfg(not(feature = "hosts"))]
pub fn absent() -> Failure {
    Failure::new(
        Exit::Usage,
        "this build does not support several hosts: it was made without the \
        feature `hosts`",
    )
}

#[cfg(feature = "hosts")]
pub use with::{invite, of_run, options};

#[cfg(feature = "hosts")]
mod with {
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::net::SocketAddr;
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::Duration;

    use bench::BenchError;
    use bench::plan::{Origin, ResolvedPlan};
    use many_hosts::{By, Launch, Options, Sharing};

    use super::{Exit, Failure};
    use crate::args::{ReachArgs, RunArgs, Storage};

    /// Returns the options for the hosts of a plan.
    pub fn of_run(args: &RunArgs, plan: &ResolvedPlan) -> Result<Options, Failure> {
        let mut options =
            options(&plan.settings.hosts.members, plan.origin("hosts.members"), &args.hosts.reach)?;
        options.sharing = match args.hosts.storage {
            Storage::Shared => Sharing::Shared,
            Storage::Local => Sharing::Local,
        };
        options.allow_root_fs = args.allow_root_fs;
        options.target = Some(plan.datastore.clone());
        Ok(options)
    }

    /// Passes a join token to the person who starts the agent: in a file, or printed.
    pub fn invite(
        reach: &ReachArgs,
    ) -> impl FnMut(&many_hosts::Invitation) -> Result<(), BenchError> + '_ {
        move |invitation| {
            let (name, token) = (invitation.member(), invitation.token());
            let Some(tokens) = &reach.join.tokens else {
                crate::say!(
                    "waiting for {name}; on that host, run tilemark agent --join - and give it \
                     this line on standard input: {token}"
                );
                return Ok(());
            };
            let path = tokens.join(name.as_str());
            let failed = |error: std::io::Error| {
                BenchError::Hosts(format!("writing {}: {error}", path.display()))
            };
            let _ = std::fs::remove_file(&path);
            // The token is secret: only this user may read it, and no link is followed.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .map_err(failed)?;
            writeln!(file, "{token}").map_err(failed)?;
            crate::say!(
                "waiting for {name}; on that host: tilemark agent --join @FILE, with {}",
                path.display()
            );
            Ok(())
        }
    }

    /// Returns the options for the given hosts.
    pub fn options(
        texts: &[String],
        origin: Origin,
        reach: &ReachArgs,
    ) -> Result<Options, Failure> {
        let mut hosts = Vec::new();
        for text in texts {
            let launch: Launch = text.parse().map_err(|error: many_hosts::LaunchError| {
                Failure::new(Exit::Usage, error.to_string())
            })?;
            // Opening a plan from another person must not run its commands.
            if origin != Origin::Flag && matches!(launch.by, By::Command(_)) {
                let text = format!("host {}: a plan may not name commands to run", launch.name);
                let hint = format!("give the command on the command line: --host '{launch}'");
                return Err(Failure::new(Exit::Usage, text).hint(Some(hint)));
            }
            hosts.push(launch);
        }
        let mut options = Options::new(hosts);
        options.listen = reach.listen.as_ref().map(address).transpose()?;
        options.program.clone_from(&reach.join.host_program);
        options.join_within = Duration::from_nanos(reach.join.join_within.0);
        Ok(options)
    }

    /// Resolves the socket address that hosts connect to. A host name is refused, because hosts get
    /// the address as it is given.
    fn address(listen: &page_server::Listen) -> Result<SocketAddr, Failure> {
        listen.to_string().parse().map_err(|_| {
            let message =
                format!("`{listen}` is not an address and a port that hosts can connect to");
            Failure::new(Exit::Usage, message)
                .hint(Some("--listen ADDRESS:PORT, with port 0 for a free one: 10.0.0.1:0"))
        })
    }
}
