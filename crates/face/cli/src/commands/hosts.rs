//! `hosts`, and `check` and `plan` over hosts.

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

#[cfg(not(feature = "hosts"))]
pub fn plan(_: &crate::args::RunArgs, _: &bench::plan::ResolvedPlan) -> Result<Exit, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(feature = "hosts")]
pub use with::*;

#[cfg(feature = "hosts")]
mod with {
    use bench::plan::{Origin, ResolvedPlan};
    use bench::progress::Control;
    use jiff::Timestamp;
    use many_hosts::wire::Examined;
    use many_hosts::{Controller, Present};
    use run_store::rundir::RunId;
    use serde_json::json;
    use units::{Bytes, Nanos};

    use super::{Exit, Failure, HostsArgs};
    use crate::args::{Format, RunArgs};
    use crate::commands::outline::{outline_document, outlined};
    use crate::commands::run;
    use crate::gathering::{invite, of_run, options};
    use crate::output;
    use crate::text::Table;

    /// Prints the hosts, and for each the targets that may be written there.
    pub fn hosts(args: &HostsArgs) -> Result<Exit, Failure> {
        let options = options(&args.hosts, Origin::Flag, &args.reach)?;
        let control = Control::default();
        let name = format!("hosts-{}", std::process::id());
        let tell = &mut invite(&args.reach);
        let controller = Controller::gather(&name, &options, &run::tool(), &control, tell)?;
        match args.format {
            Format::Text => output::show(&table(controller.present()))?,
            Format::Json => output::print_json(&document(controller.present()))?,
        }
        Ok(Exit::Success)
    }

    /// Examines the target of a plan on every host, without writing.
    pub fn check(args: &RunArgs, plan: &ResolvedPlan) -> Result<Exit, Failure> {
        let seen = ExaminedHosts::of(args, plan)?;
        match args.stored.format {
            Format::Text => output::show(&(seen.text() + seen.word() + "\n"))?,
            Format::Json => output::print_json(&json!({
                "schema": "tilemark.hosts-check/1.0",
                "hosts": seen.documents(),
            }))?,
        }
        Ok(seen.exit())
    }

    /// Examines the target on every host, and prints what a run would write, where and for how
    /// long.
    pub fn plan(args: &RunArgs, plan: &ResolvedPlan) -> Result<Exit, Failure> {
        let seen = ExaminedHosts::of(args, plan)?;
        let outline = seen.controller.outline(plan, &seen.found)?;
        let placement = &plan.placement;
        match args.stored.format {
            Format::Text => {
                let mut lines = vec![format!("placement  {placement}")];
                lines.extend(outlined(args, &outline));
                lines.push(seen.word().to_owned());
                output::show(&(seen.text() + &lines.join("\n") + "\n"))?;
            }
            Format::Json => {
                let mut document = outline_document(&outline);
                document.insert("schema".to_owned(), json!("tilemark.hosts-plan/1.0"));
                document.insert("placement".to_owned(), json!(placement.to_string()));
                document.insert("hosts".to_owned(), json!(seen.documents()));
                output::print_json(&serde_json::Value::Object(document))?;
            }
        }
        Ok(if outline.tiles_max.is_none() { Exit::Refused } else { seen.exit() })
    }

    /// Hosts, with the findings of each.
    struct ExaminedHosts {
        controller: Controller,
        found: Vec<Examined>,
    }

    impl ExaminedHosts {
        fn of(args: &RunArgs, plan: &ResolvedPlan) -> Result<Self, Failure> {
            let (options, run_options) = (of_run(args, plan)?, run::options(args)?);
            let control = Control::default();
            let id = RunId::new(&plan.tile_set.tile.name, Timestamp::now())
                .map_err(|error| Failure::new(Exit::Failure, format!("random letters: {error}")))?;
            let tell = &mut invite(&args.hosts.reach);
            let controller =
                Controller::gather(id.as_str(), &options, &run::tool(), &control, tell)?;
            let found = controller.examine(plan, &run_options, &id)?;
            Ok(Self { controller, found })
        }

        fn all(&self) -> impl Iterator<Item = (&Present, &Examined)> {
            self.controller.present().iter().zip(&self.found)
        }

        fn text(&self) -> String {
            self.all().map(examined).collect()
        }

        fn documents(&self) -> Vec<serde_json::Value> {
            let of_host = |(host, found): (&Present, &Examined)| {
                json!({
                    "name": host.name,
                    "preflight": found.preflight,
                    "refusals": found.refusals,
                })
            };
            self.all().map(of_host).collect()
        }

        fn is_refused(&self) -> bool {
            self.found.iter().any(|found| !found.refusals.is_empty())
        }

        fn word(&self) -> &'static str {
            match self.is_refused() {
                true => "nothing was touched; a run would be refused",
                false => "nothing was touched; a run may begin",
            }
        }

        fn exit(&self) -> Exit {
            if self.is_refused() { Exit::Refused } else { Exit::Success }
        }
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
