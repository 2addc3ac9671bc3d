//! Commands that run on hosts instead of here, each by the program on that host.

#[cfg(feature = "hosts")]
pub use with::*;

#[cfg(not(feature = "hosts"))]
pub use without::*;

#[cfg(not(feature = "hosts"))]
mod without {
    use crate::args::{CleanupArgs, DoctorArgs};
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::absent;

    pub fn doctor(_: &DoctorArgs) -> Result<Exit, Failure> {
        Err(absent())
    }

    pub fn cleanup(_: &CleanupArgs) -> Result<Exit, Failure> {
        Err(absent())
    }
}

#[cfg(feature = "hosts")]
mod with {
    use bench::plan::Origin;
    use bench::progress::Control;
    use many_hosts::wire::{Order, Said};
    use many_hosts::{AgentError, Controller};
    use serde_json::json;

    use crate::args::{CleanupArgs, DoctorArgs, Format, ThereArgs};
    use crate::commands::{cleanup, doctor, run};
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::{invite, options};
    use crate::{output, target};

    /// Runs `doctor` on every host; the worst result decides the exit code.
    pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
        let target = args.target.as_deref().map(from_here).transpose()?;
        let all = said(&args.there, &Order::Doctor { target })?;
        match args.format {
            Format::Text => output::show(&text(&all))?,
            Format::Json => {
                let of_host = |(name, said): &(String, Said)| json!({ "name": name, "findings": said.document });
                output::print_json(&json!({
                    "schema": "tilemark.hosts-doctor/1.0",
                    "hosts": all.iter().map(of_host).collect::<Vec<_>>(),
                }))?;
            }
        }
        Ok(worst(&all))
    }

    /// Removes on every host the leftovers of runs there.
    pub fn cleanup(args: &CleanupArgs) -> Result<Exit, Failure> {
        let order = Order::Cleanup {
            target: from_here(&args.target)?,
            dry_run: args.dry_run,
            destroy_data: args.destroy_data.clone(),
        };
        let all = said(&args.there, &order)?;
        output::show(&text(&all))?;
        for (name, said) in &all {
            for error in &said.errors {
                crate::say!("not removed on host {name}: {error}");
            }
        }
        Ok(worst(&all))
    }

    /// Carries out an order of the controller on this host.
    pub fn here(order: &Order) -> Result<Said, AgentError> {
        let told = |failure: Failure| AgentError::failed(failure.text());
        match order {
            Order::Doctor { target } => {
                let (findings, exit) = doctor::findings(target.as_deref()).map_err(told)?;
                let document = serde_json::to_value(&findings).unwrap_or_default();
                let text = doctor::text(&findings);
                Ok(Said { text, document, exit: exit as u8, ..Said::default() })
            }
            Order::Cleanup { target, dry_run, destroy_data } => {
                let swept = cleanup::sweep(target, *dry_run, destroy_data.as_deref());
                let cleanup::Swept { text, not_removed, exit } = swept.map_err(told)?;
                Ok(Said { text, errors: not_removed, exit: exit as u8, ..Said::default() })
            }
        }
    }

    /// Makes the path of a target absolute, because an agent has another working directory.
    fn from_here(target: &str) -> Result<String, Failure> {
        Ok(target::parse(target)?.absolute().to_string())
    }

    /// Sends an order to the hosts and returns their answers, with the hosts' names.
    fn said(there: &ThereArgs, order: &Order) -> Result<Vec<(String, Said)>, Failure> {
        let mut options = options(&there.hosts, Origin::Flag, &there.reach)?;
        options.target = order.target().map(str::to_owned);
        let name = format!("command-{}", std::process::id());
        let (control, tell) = (Control::default(), &mut invite(&there.reach));
        let controller = Controller::gather(&name, &options, &run::tool(), &control, tell)?;
        let all = controller.command(order)?;
        Ok(controller.present().iter().map(|host| host.name.clone()).zip(all).collect())
    }

    fn text(all: &[(String, Said)]) -> String {
        let indented = |said: &Said| -> String {
            said.text.lines().map(|line| format!("  {line}\n")).collect()
        };
        all.iter().map(|(name, said)| format!("{name}:\n{}", indented(said))).collect()
    }

    /// Returns the exit code over all hosts: failure first, then inconclusive, then not removed,
    /// then success.
    fn worst(all: &[(String, Said)]) -> Exit {
        let has = |exit: Exit| all.iter().any(|(_, said)| said.exit == exit as u8);
        let order = [Exit::Failure, Exit::Inconclusive, Exit::NotRemoved];
        let known = order.into_iter().find(|exit| has(*exit));
        let is_well = all.iter().all(|(_, said)| said.exit == Exit::Success as u8);
        known.unwrap_or(if is_well { Exit::Success } else { Exit::Failure })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn exit_code_is_the_worst_of_all_hosts() {
            let ended = |exits: &[u8]| {
                let said = |exit: &u8| (String::new(), Said { exit: *exit, ..Said::default() });
                worst(&exits.iter().map(said).collect::<Vec<_>>())
            };
            assert_eq!(ended(&[0, 0]), Exit::Success);
            assert_eq!(ended(&[0, 6]), Exit::NotRemoved);
            assert_eq!(ended(&[6, 0, 1]), Exit::Failure);
            assert_eq!(ended(&[6, 5]), Exit::Inconclusive);
            assert_eq!(ended(&[0, 3]), Exit::Failure, "an exit code that no such command returns");
        }
    }
}
