//! `run`: measures how many tiles a datastore holds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench::progress::{Control, Observer};
use bench::rig::Logins;
use bench::run::{End, FinishedRun, Reuse, RunOptions};
use bench::{BenchError, plan::ResolvedPlan};
use datastore::Removed;
use http_client::{Secret, Trust};
use run_store::run::{Run, Status, ToolFacts, Verdict};
use run_store::rundir::{self, SameDevice};

use crate::args::{Choice, Format, RunArgs};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::message::Message;
use crate::page::Page;
use crate::{
    door, exports, gathering, live, open_files, output, plan_source, report, signals, text,
    this_program,
};

/// Runs a plan, or prints how it resolves, and sends the messages of `--notify`.
pub fn run(args: &RunArgs, color: Choice) -> Result<Exit, Failure> {
    let mut message = None;
    let result = measure(args, color, &mut message);
    if !args.notify.is_empty() && !args.print_config {
        let exit = result.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
        let reason = || result.as_ref().err().map(Failure::text).unwrap_or_default();
        let message = message.unwrap_or_else(|| Message::of_target(args.named(), reason()));
        message.send(&args.notify, exit);
    }
    result
}

fn measure(args: &RunArgs, color: Choice, message: &mut Option<Message>) -> Result<Exit, Failure> {
    let plan = plan_source::resolved(args)?;
    if args.print_config {
        output::print(&configuration(&plan, args.stored.format)?)?;
        return Ok(Exit::Success);
    }
    let mut options = options(args)?;
    // Unmounted after the run's files there are removed.
    let (plan, export) = exports::mounted(plan)?;
    options.export = export;
    open_files::check(&plan, open_files::raise())?;
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let format = args.stored.format;
    let page = page(args, &plan, &options)?;
    let mut viewer = live::with_page(page, args.live, color, format, &control, &signals);
    let mut over = Over::run(args, &plan, &options, &control, &mut viewer)?;
    let page = viewer.into_page();
    let finished = over.finished();
    *message = Some(Message::of_run(&finished.run, &finished.directory));
    match args.stored.format {
        Format::Text => {
            output::show(&text::result(&finished.run, Some(&finished.directory), args.verbose))?
        }
        Format::Json => output::print_json(&finished.run)?,
    }
    let is_removed = over.put_away();
    if let Some(page) = page {
        page.leave();
    }
    end(over.into_finished(), is_removed, signals.exit())
}

/// Opens the page of the run. A given address is opened, or the run is refused, before anything is
/// written; without an address `--live` decides.
fn page(
    args: &RunArgs,
    plan: &ResolvedPlan,
    options: &RunOptions,
) -> Result<Option<Page>, Failure> {
    let of_page =
        args.hosts.reach.listen.as_ref().filter(|_| plan.settings.hosts.members.is_empty());
    let Some(listen) = args.page.page.as_ref().or(of_page) else {
        return Ok(live::page(args.live, &options.base));
    };
    let door = door::open(listen, args.page.token.token_file.as_deref())?;
    let page = Page::at(door, &options.base)
        .map_err(|error| Failure::new(Exit::Failure, format!("starting the web page: {error}")))?;
    page.say();
    Ok(Some(page))
}

/// Finished run, here or on hosts.
enum Over {
    Here(FinishedRun),
    #[cfg(feature = "hosts")]
    Hosts(many_hosts::HostsRun),
}

impl Over {
    fn run(
        args: &RunArgs,
        plan: &ResolvedPlan,
        options: &RunOptions,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Self, Failure> {
        if plan.settings.hosts.members.is_empty() {
            return Ok(Self::Here(bench::run::run(plan, options, control, observer)?));
        }
        #[cfg(feature = "hosts")]
        {
            let hosts = gathering::of_run(args, plan)?;
            let mut tell = gathering::invite(&args.hosts.reach);
            let run = many_hosts::run(plan, options, &hosts, control, observer, &mut tell)?;
            Ok(Self::Hosts(run))
        }
        #[cfg(not(feature = "hosts"))]
        {
            let _ = args;
            Err(gathering::absent())
        }
    }

    fn finished(&self) -> &FinishedRun {
        match self {
            Self::Here(finished) => finished,
            #[cfg(feature = "hosts")]
            Self::Hosts(run) => &run.finished,
        }
    }

    fn put_away(&mut self) -> bool {
        match self {
            Self::Here(finished) => put_away(finished),
            #[cfg(feature = "hosts")]
            Self::Hosts(run) => {
                let cleared = run.clear();
                tell_evidence(&run.finished);
                cleared.stays.iter().for_each(|text| crate::say!("left in place: {text}"));
                cleared.not_removed.iter().for_each(|text| crate::say!("not removed: {text}"));
                cleared.not_removed.is_empty()
            }
        }
    }

    fn into_finished(self) -> FinishedRun {
        match self {
            Self::Here(finished) => finished,
            #[cfg(feature = "hosts")]
            Self::Hosts(run) => run.into_finished(),
        }
    }
}

/// Removes everything that the run created on the target, after the answer is printed. Returns true
/// if nothing is left.
pub fn put_away(finished: &mut FinishedRun) -> bool {
    let removed = finished.clear();
    tell_rest(&removed);
    tell_evidence(finished);
    for error in &removed.failed {
        crate::say!("not removed: {}", chain(error));
    }
    if !removed.failed.is_empty() {
        for target in datastores(&finished.run) {
            crate::say!("hint: tilemark cleanup {target} tries again");
        }
    }
    removed.failed.is_empty()
}

/// Returns the datastores of a run.
fn datastores(run: &run_store::run::Run) -> impl Iterator<Item = &str> {
    let second = run.target.second.iter().map(|second| second.datastore.as_str());
    std::iter::once(run.target.datastore.as_str()).chain(second)
}

/// Returns an error with its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Prints the leftovers on the target, each with the reason.
fn tell_rest(removed: &Removed) {
    let list = |what: &str, paths: &[PathBuf]| {
        if !paths.is_empty() {
            crate::say!("{what}:");
            paths.iter().for_each(|path| crate::say!("  {}", path.display()));
        }
    };
    list("left in place, because Tilemark did not make them", &removed.kept);
    list("kept by the file system until it is closed elsewhere", &removed.lingering);
}

/// Prints wrong blocks, one a line, and the directory of the evidence.
fn tell_evidence(finished: &FinishedRun) {
    const LINES_MAX: usize = 100;
    if let End::Failed(BenchError::Mismatch(wrong)) = &finished.end {
        wrong.iter().take(LINES_MAX).for_each(|line| crate::say!("  {line}"));
        if wrong.len() > LINES_MAX {
            crate::say!("  {} more lines are in events.jsonl", wrong.len() - LINES_MAX);
        }
    }
    if !finished.evidence.is_empty() {
        crate::say!("kept, because blocks have wrong content:");
        finished.evidence.iter().for_each(|path| crate::say!("  {}", path.display()));
        for target in datastores(&finished.run) {
            crate::say!(
                "hint: tilemark verify {target} reads all blocks again, tilemark cleanup {target} \
                removes the disks"
            );
        }
    }
}

/// Returns the options of a run from the command line.
pub fn options(args: &RunArgs) -> Result<RunOptions, Failure> {
    let base = runs::base(args.stored.out.as_deref())?;
    Ok(RunOptions {
        reuse: args.reuse.as_deref().map(|named| reuse(named, &base)),
        base,
        same_device: if args.allow_same_device { SameDevice::Allowed } else { SameDevice::Refused },
        destroy_data: args.destroy_data.clone(),
        second_destroy_data: args.second_destroy_data.clone(),
        overwrite_file: args.overwrite_file,
        allow_root_fs: args.allow_root_fs,
        keep: keeps(args),
        through: args.through_tier.clone(),
        export: None,
        logins: logins(args)?,
        power_policies: args.governor,
        tool: tool(),
        program: this_program::path(),
        reporter: report::reporter(),
    })
}

/// Reads the passwords and authorities that `--credentials` and `--ca` name.
fn logins(args: &RunArgs) -> Result<Logins, Failure> {
    let failed = |error| Failure::from_error(Exit::Usage, &error);
    let mut logins = Logins::new();
    for (name, named) in &args.credentials {
        let secret = Secret::read(named).map_err(failed)?;
        logins.entry(name.clone()).or_default().password = Some(Arc::new(secret));
    }
    for (name, file) in &args.authorities {
        if logins.get(name).is_some_and(|own| own.trust.is_some()) {
            let text = format!("--ca names {name} twice");
            return Err(
                Failure::new(Exit::Usage, text).hint(Some("put the certificates into one file"))
            );
        }
        let trust = Trust::authority_file(file).map_err(failed)?;
        logins.entry(name.clone()).or_default().trust = Some(Arc::new(trust));
    }
    Ok(logins)
}

/// Returns true if the disks stay after a run.
pub fn keeps(args: &RunArgs) -> bool {
    args.keep || (args.reuse.is_some() && !args.remove)
}

/// Resolves `--reuse` to the disks of a run, by the run's name or directory. Any other text is
/// passed on to the datastore, because disks of `prepare` have no stored run.
pub fn reuse(text: &str, base: &Path) -> Reuse {
    let Ok(reuse) = text.parse();
    let Reuse::Run(named) = &reuse else { return reuse };
    let stored = rundir::open(base, named).ok();
    // A text that is a part of a run's id stays as it is: the datastore looks among the runs that
    // left disks.
    let stored = stored.filter(|run| !run.id().as_str().contains(named.as_str()));
    stored.map_or(reuse, |run| Reuse::Run(run.id().to_string()))
}

/// Returns version and commit of this program for results; `build.rs` sets the commit.
pub fn tool() -> ToolFacts {
    ToolFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("TILEMARK_COMMIT").map(str::to_owned),
    }
}

/// Returns the exit code of a stored run. A failed removal replaces only the code for success.
pub fn end(finished: FinishedRun, is_removed: bool, interrupted: Exit) -> Result<Exit, Failure> {
    let exit = answered(finished, interrupted)?;
    Ok(if exit == Exit::Success && !is_removed { Exit::NotRemoved } else { exit })
}

fn answered(finished: FinishedRun, interrupted: Exit) -> Result<Exit, Failure> {
    match finished.end {
        End::Failed(error) => Err(failure_while_running(error)),
        End::Interrupted | End::NotYet => Ok(interrupted),
        End::Complete if !finished.run.expectations.is_empty() => {
            Ok(expected(&finished.run, interrupted))
        }
        End::Complete => Ok(match finished.run.answer.status {
            Status::Inconclusive => Exit::Inconclusive,
            Status::Interrupted => interrupted,
            Status::Complete
                if finished.run.steps.iter().all(|step| step.verdict == Verdict::Failed) =>
            {
                Exit::ObjectiveFailed
            }
            Status::Complete => Exit::Success,
        }),
    }
}

/// Returns the exit code of a run with expectations. They decide, whether or not the run found an
/// edge.
fn expected(run: &Run, interrupted: Exit) -> Exit {
    let any = |verdict| run.expectations.iter().any(|own| own.verdict == verdict);
    match run.answer.status {
        Status::Interrupted => interrupted,
        _ if any(Verdict::Failed) => Exit::ExpectationMissed,
        _ if any(Verdict::Inconclusive) => Exit::Inconclusive,
        _ => Exit::Success,
    }
}

fn failure_while_running(error: BenchError) -> Failure {
    let exit = match error {
        BenchError::Mismatch(_) => Exit::ObjectiveFailed,
        _ => Exit::Failure,
    };
    let hint = error.hint();
    Failure::from_error(exit, &error).hint(hint)
}

/// Formats every value of the plan with its origin.
pub fn configuration(plan: &ResolvedPlan, format: Format) -> Result<String, Failure> {
    let values = plan.values();
    if format == Format::Json {
        return serde_json::to_string_pretty(&values)
            .map(|text| text + "\n")
            .map_err(|error| Failure::new(Exit::Failure, format!("making JSON: {error}")));
    }
    let mut table = text::Table::new(&["key", "value", "origin"]);
    for value in &values {
        let origin = serde_json::to_value(value.origin).unwrap_or_default();
        table.row(vec![
            value.key.clone(),
            value.value.to_string(),
            origin.as_str().unwrap_or_default().to_owned(),
        ]);
    }
    Ok(table.lines().join("\n") + "\n")
}
