//! `simulate`: the main job on a modelled array, in virtual time.

use std::sync::Arc;

use bench::progress::Control;
use bench::run::SimulateOptions;

use crate::args::{Choice, Format, SimulateArgs};
use crate::commands::{run, runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{live, output, plan_source, report, signals, text};

/// Simulates a plan, or prints how it resolves.
pub fn run(args: &SimulateArgs, color: Choice) -> Result<Exit, Failure> {
    let (plan, array) = plan_source::simulated(args)?;
    if args.print_config {
        output::print(&run::configuration(&plan, args.stored.format)?)?;
        return Ok(Exit::Success);
    }
    let options = SimulateOptions {
        base: runs::base(args.stored.out.as_deref())?,
        changes: args.with.clone(),
        tool: run::tool(),
        reporter: report::reporter(),
    };
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control))
        .map_err(|error| Failure::new(Exit::Failure, format!("watching for Ctrl-C: {error}")))?;
    let format = args.stored.format;
    let mut viewer = live::viewer(args.live, color, format, &control, &signals, &options.base);
    let finished = bench::run::simulate(&plan, &array, &options, &control, &mut viewer)
        .map_err(Failure::from)?;
    let page = viewer.into_page();
    match args.stored.format {
        Format::Text => {
            output::print(&text::result(&finished.run, Some(&finished.directory), args.verbose))?
        }
        Format::Json => output::print_json(&finished.run)?,
    }
    if let Some(page) = page {
        page.leave();
    }
    run::end(finished, true, signals.exit())
}
