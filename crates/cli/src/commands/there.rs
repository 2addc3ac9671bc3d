//! Commands that are done on hosts instead of here: each by the program there, as a person would do it.

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
    use hosts::Controller;
    use hosts::wire::{Order, Said};
    use serde_json::json;

    use crate::args::{CleanupArgs, DoctorArgs, Format, ThereArgs};
    use crate::commands::{cleanup, doctor, run};
    use crate::exit::Exit;
    use crate::failure::Failure;
    use crate::gathering::{invite, options};
    use crate::output;

    /// Whether every host is fit for measuring: one that is not decides.
    pub fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
        let all = said(&args.there, &Order::Doctor { target: args.target.clone() })?;
        match args.format {
            Format::Text => output::print(&text(&all))?,
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

    /// Removes on every host what runs left there.
    pub fn cleanup(args: &CleanupArgs) -> Result<Exit, Failure> {
        let order = Order::Cleanup {
            target: args.target.clone(),
            dry_run: args.dry_run,
            destroy_data: args.destroy_data.clone(),
        };
        let all = said(&args.there, &order)?;
        output::print(&text(&all))?;
        for (name, said) in &all {
            for error in &said.errors {
                crate::say!("not removed on host {name}: {error}");
            }
        }
        Ok(worst(&all))
    }

    /// What an agent does here when it is asked.
    pub fn here(order: &Order) -> Result<Said, String> {
        let told = |failure: Failure| failure.message().to_owned();
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

    /// What each host says, with its name.
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

    /// The first that did not end well, in the order in which exit codes are listed from behind.
    fn worst(all: &[(String, Said)]) -> Exit {
        let has = |exit: Exit| all.iter().any(|(_, said)| said.exit == exit as u8);
        let order = [Exit::NotRemoved, Exit::Inconclusive, Exit::Failure];
        order.into_iter().find(|exit| has(*exit)).unwrap_or(Exit::Success)
    }
}
