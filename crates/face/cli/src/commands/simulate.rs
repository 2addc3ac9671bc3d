//! `simulate`: runs the main job on a modelled array, in virtual time.

use std::io::IsTerminal;
use std::sync::Arc;

use bench::plan::ResolvedPlan;
use bench::progress::{Control, Observer};
use bench::run::{FinishedRun, Here, SimulateOptions};
use spec::array::Array;

use crate::args::{Choice, Format, SimulateArgs};
use crate::commands::{run, runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{deadline, live, output, plan_source, report, signals, text};

/// Simulates a plan, or prints how it resolves.
pub fn run(args: &SimulateArgs, color: Choice) -> Result<Exit, Failure> {
    let (plan, array) = plan_source::simulated(args, is_at_terminal())?;
    if args.print_config {
        output::print(&run::configuration(&plan, args.stored.format)?)?;
        return Ok(Exit::Success);
    }
    if plan.climb.range().is_none() && is_ahead(args) {
        let text = "--threads and --host need a range of tiles, because the steps of a search are \
            not known in advance";
        return Err(Failure::new(Exit::Usage, text).hint(Some("say --tiles FIRST..LAST")));
    }
    let options = SimulateOptions {
        base: runs::base(args.stored.out.as_deref())?,
        changes: args.with.clone(),
        tool: run::tool(),
        reporter: report::reporter(),
        within: args.within,
    };
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    deadline::after(args.within, &control)?;
    let format = args.stored.format;
    let mut viewer = live::viewer(args.live, color, format, &control, &signals, &options.base);
    let finished = simulated(args, (&plan, &array), &options, &control, &mut viewer)?;
    let page = viewer.into_page();
    match args.stored.format {
        Format::Text => {
            output::show(&text::result(&finished.run, Some(&finished.directory), args.verbose))?
        }
        Format::Json => output::print_json(&finished.run)?,
    }
    if let Some(page) = page {
        page.leave();
    }
    run::end(finished, true, signals.exit())
}

/// Returns true if stdout and stderr are both terminals, so a person waits for the answer.
pub fn is_at_terminal() -> bool {
    std::io::stdout().is_terminal() && std::io::stderr().is_terminal()
}

/// Returns true if steps are simulated in parallel, on other threads or hosts.
fn is_ahead(args: &SimulateArgs) -> bool {
    args.threads.get() > 1 || !args.hosts.is_empty()
}

fn simulated(
    args: &SimulateArgs,
    (plan, array): (&ResolvedPlan, &Array),
    options: &SimulateOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    if !args.hosts.is_empty() {
        return on_hosts(args, (plan, array), options, control, observer);
    }
    let finished = if is_ahead(args) {
        let here = Here::new(plan, array.clone(), args.threads)?;
        bench::run::simulate_ahead(plan, array, options, &here, control, observer)
    } else {
        bench::run::simulate(plan, array, options, control, observer)
    };
    Ok(finished?)
}

#[cfg(not(feature = "hosts"))]
fn on_hosts(
    _: &SimulateArgs,
    _: (&ResolvedPlan, &Array),
    _: &SimulateOptions,
    _: &Control,
    _: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    Err(crate::gathering::absent())
}

#[cfg(feature = "hosts")]
fn on_hosts(
    args: &SimulateArgs,
    (plan, array): (&ResolvedPlan, &Array),
    options: &SimulateOptions,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<FinishedRun, Failure> {
    use crate::gathering;

    let hosts = gathering::options(&args.hosts, bench::plan::Origin::Flag, &args.reach)?;
    let mut invite = gathering::invite(&args.reach);
    let lost = |what: &str| crate::say!("{what}");
    let of = (plan, array);
    let steps = many_hosts::Steps::gather(of, &hosts, &run::tool(), control, &mut invite, &lost)?;
    Ok(bench::run::simulate_ahead(plan, array, options, &steps, control, observer)?)
}
