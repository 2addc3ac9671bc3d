//! `replay`: plays a recorded load on real storage or on a model.

use std::sync::Arc;

use bench::progress::Control;
use bench::run::{RunOptions, SimulateOptions};
use run_store::rundir::SameDevice;

use crate::args::{Choice, Format, ReplayArgs};
use crate::commands::{run, runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{live, open_files, output, plan_source, report, signals, text, this_program};

/// Plays a trace, or prints how it would be played.
pub fn run(args: &ReplayArgs, color: Choice) -> Result<Exit, Failure> {
    let (plan, array) = plan_source::replayed(args)?;
    if args.print_config {
        output::print(&run::configuration(&plan, args.stored.format)?)?;
        return Ok(Exit::Success);
    }
    let base = runs::base(args.stored.out.as_deref())?;
    if array.is_none() {
        open_files::check(&plan, open_files::raise())?;
    }
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let format = args.stored.format;
    let mut viewer = live::viewer(args.live, color, format, &control, &signals, &base);
    let finished = match &array {
        Some(array) => {
            let (changes, tool) = (args.with.clone(), run::tool());
            let reporter = report::reporter();
            let options = SimulateOptions { base, changes, tool, reporter, within: None };
            bench::run::simulate(&plan, array, &options, &control, &mut viewer)
        }
        None => bench::run::run(&plan, &options(args, base), &control, &mut viewer),
    };
    let mut finished = finished.map_err(Failure::from)?;
    let page = viewer.into_page();
    match args.stored.format {
        Format::Text => {
            output::show(&text::result(&finished.run, Some(&finished.directory), args.verbose))?
        }
        Format::Json => output::print_json(&finished.run)?,
    }
    let is_removed = run::put_away(&mut finished);
    if let Some(page) = page {
        page.leave();
    }
    run::end(finished, is_removed, signals.exit())
}

fn options(args: &ReplayArgs, base: std::path::PathBuf) -> RunOptions {
    RunOptions {
        reuse: args.reuse.as_deref().map(|named| run::reuse(named, &base)),
        base,
        same_device: if args.allow_same_device { SameDevice::Allowed } else { SameDevice::Refused },
        destroy_data: args.destroy_data.clone(),
        second_destroy_data: None,
        overwrite_file: args.overwrite_file,
        allow_root_fs: args.allow_root_fs,
        keep: args.keep || args.reuse.is_some(),
        through: None,
        export: None,
        logins: bench::rig::Logins::new(),
        power_policies: false,
        tool: run::tool(),
        program: this_program::path(),
        reporter: report::reporter(),
    }
}
