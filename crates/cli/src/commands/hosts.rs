//! `hosts`, and `check` over hosts.

use crate::args::HostsArgs;
use crate::exit::Exit;
use crate::failure::Failure;

#[cfg(not(feature = "hosts"))]
pub fn hosts(_: &HostsArgs) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(not(feature = "hosts"))]
pub fn check(_: &crate::args::RunArgs, _: &bench::plan::ResolvedPlan) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(feature = "hosts")]
pub use with::*;

#[cfg(feature = "hosts")]
mod with {
    use bench::plan::{Origin, ResolvedPlan};
    use bench::progress::Control;
    use hosts::wire::Examined;
    use hosts::{Controller, Present};
    use jiff::Timestamp;
    use record::rundir::RunId;
    use serde_json::json;
    use units::{Bytes, Nanos};

    use super::{Exit, Failure, HostsArgs};
    use crate::args::{Format, RunArgs};
    use crate::commands::run;
    use crate::gathering::{invite, of_run, options};
    use crate::output;
    use crate::text::Table;

    /// Who is there, and what may be written there.
    pub fn hosts(args: &HostsArgs) -> Result<Exit, Failure> {
        let options = options(&args.hosts, Origin::Flag, &args.reach)?;
        let control = Control::default();
        let name = format!("hosts-{}", std::process::id());
        let tell = &mut invite(&args.reach);
        let controller = Controller::gather(&name, &options, &run::tool(), &control, tell)?;
        match args.format {
            Format::Text => output::print(&table(controller.present()))?,
            Format::Json => output::print_json(&document(controller.present()))?,
        }
        Ok(Exit::Success)
    }

    /// What every host says of the target of a plan; nothing is touched.
    pub fn check(args: &RunArgs, plan: &ResolvedPlan) -> Result<Exit, Failure> {
        let (options, run_options) = (of_run(args, plan)?, run::options(args)?);
        let control = Control::default();
        let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
            .map_err(|error| Failure::new(Exit::Failure, format!("random letters: {error}")))?;
        let tell = &mut invite(&args.hosts.reach);
        let controller = Controller::gather(id.as_str(), &options, &run::tool(), &control, tell)?;
        let found = controller.examine(plan, &run_options, &id)?;
        let all = controller.present().iter().zip(&found);
        match args.stored.format {
            Format::Json => {
                let of_host = |(host, found): (&Present, &Examined)| {
                    json!({
                        "name": host.name,
                        "preflight": found.preflight,
                        "refusals": found.refusals,
                    })
                };
                output::print_json(&json!({
                    "schema": "tilemark.hosts-check/1.0",
                    "hosts": all.map(of_host).collect::<Vec<_>>(),
                }))?;
            }
            Format::Text => output::print(&all.map(examined).collect::<String>())?,
        }
        let is_refused = found.iter().any(|found| !found.refusals.is_empty());
        Ok(if is_refused { Exit::Refused } else { Exit::Success })
    }

    fn examined((host, found): (&Present, &Examined)) -> String {
        let room = Bytes::new(found.preflight.capacity_bytes);
        let target = &found.preflight.resolved;
        let mut text = format!("{}: {target}, room for {room} of files\n", host.name);
        for check in found.preflight.checks.iter().filter(|check| !check.passed) {
            text += &format!("  NO {}: {} (allowed: {})\n", check.what, check.found, check.limit);
        }
        for warning in &found.preflight.warnings {
            text += &format!("  warning: {} [{}]\n", warning.text, warning.id);
        }
        for refusal in &found.refusals {
            text += &format!("  refused: {} [{}]\n", refusal.text, refusal.id);
            if let Some(hint) = &refusal.hint {
                text += &format!("    hint: {hint}\n");
            }
        }
        text
    }

    fn table(present: &[Present]) -> String {
        let mut table = Table::new(&[
            "host",
            "name",
            "version",
            "round trip",
            "clock known to",
            "may be written",
        ]);
        for host in present {
            let allowed = match host.hello.allowed.is_empty() {
                true => "nothing".to_owned(),
                false => host.hello.allowed.join(", "),
            };
            table.row(vec![
                host.name.clone(),
                host.hello.hostname.clone(),
                host.hello.tool.version.clone(),
                host.clock.round_trip.to_string(),
                host.clock.uncertainty().to_string(),
                allowed,
            ]);
        }
        table.lines().join("\n") + "\n"
    }

    fn document(present: &[Present]) -> serde_json::Value {
        let host = |host: &Present| {
            let Nanos(round_trip) = host.clock.round_trip;
            json!({
                "name": host.name,
                "reached": host.reached,
                "hostname": host.hello.hostname,
                "version": host.hello.tool.version,
                "commit": host.hello.tool.commit,
                "round_trip_ns": round_trip,
                "clock_uncertainty_ns": host.clock.uncertainty().0,
                "allowed": host.hello.allowed,
            })
        };
        json!({
            "schema": "tilemark.hosts/1.0",
            "hosts": present.iter().map(host).collect::<Vec<_>>(),
        })
    }
}
