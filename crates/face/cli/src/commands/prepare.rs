//! `prepare`: fills disks once and keeps them for later runs.

use std::sync::Arc;

use bench::BenchError;
use bench::plan::{Origin, ResolvedPlan};
use bench::progress::{Control, Observer};
use bench::run::{Prepared, RunOptions};
use serde_json::{Value, json};

use crate::args::{Choice, Format, RunArgs};
use crate::commands::run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::{count, prefill_line};
use crate::{exports, gathering, live, open_files, output, plan_source, signals};

/// Fills the disks and prints the command that uses them.
pub fn prepare(args: &RunArgs, color: Choice) -> Result<Exit, Failure> {
    let plan = plan_source::resolved(args)?;
    if args.print_config {
        output::print(&run::configuration(&plan, args.stored.format)?)?;
        return Ok(Exit::Success);
    }
    if args.remove {
        let message = "prepare keeps its disks, but --remove asks to remove them";
        return Err(Failure::new(Exit::Usage, message));
    }
    let (there, export) = exports::mounted(plan.clone())?;
    let options = RunOptions { export, ..run::options(args)? };
    open_files::check(&plan, open_files::raise())?;
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let prepared = {
        let mut observer = live::observer(args.live, color, args.stored.format, &control, &signals);
        prepared(args, &there, &options, (&control, observer.as_mut()))
    };
    let Some(prepared) = prepared? else {
        crate::say!("interrupted; {}", after_interrupt(args));
        return Ok(signals.exit());
    };
    let command = command(args, &plan, &prepared);
    match args.stored.format {
        Format::Text => output::show(&text(args, &plan, &prepared, command.as_deref()))?,
        Format::Json => output::print_json(&document(&plan, &prepared, command.as_deref()))?,
    }
    Ok(Exit::Success)
}

/// Fills the disks, here or on the hosts of the plan; `None` if interrupted.
fn prepared(
    args: &RunArgs,
    plan: &ResolvedPlan,
    options: &RunOptions,
    (control, observer): (&Control, &mut dyn Observer),
) -> Result<Option<Prepared>, Failure> {
    let prepared = if plan.settings.hosts.members.is_empty() {
        bench::run::prepare(plan, options, control, observer)
    } else {
        on_hosts(args, plan, options, (control, observer))?
    };
    match prepared {
        Err(BenchError::Interrupted | BenchError::Aborted) => Ok(None),
        other => Ok(Some(other?)),
    }
}

#[cfg(feature = "hosts")]
fn on_hosts(
    args: &RunArgs,
    plan: &ResolvedPlan,
    options: &RunOptions,
    (control, observer): (&Control, &mut dyn Observer),
) -> Result<Result<Prepared, BenchError>, Failure> {
    let hosts = gathering::of_run(args, plan)?;
    let mut tell = gathering::invite(&args.hosts.reach);
    Ok(many_hosts::prepare(plan, options, &hosts, control, observer, &mut tell))
}

#[cfg(not(feature = "hosts"))]
fn on_hosts(
    _: &RunArgs,
    _: &ResolvedPlan,
    _: &RunOptions,
    _: (&Control, &mut dyn Observer),
) -> Result<Result<Prepared, BenchError>, Failure> {
    Err(gathering::absent())
}

/// Describes the state of the disks after an interrupted filling.
const fn after_interrupt(args: &RunArgs) -> &'static str {
    if args.reuse.is_some() {
        "all disks are kept; a run fills the disks that are not full yet"
    } else {
        "the disks made so far are removed"
    }
}

/// Returns the command that uses the disks; `None` if a run would fill them again.
fn command(args: &RunArgs, plan: &ResolvedPlan, prepared: &Prepared) -> Option<String> {
    let tile =
        args.load.plan.tile.as_ref().map_or_else(String::new, |tile| format!(" --tile {tile}"));
    let root = if args.allow_root_fs { " --allow-root-fs" } else { "" };
    let profile = match (args.quick, args.full) {
        (true, _) => " --quick",
        (_, true) => " --full",
        _ => "",
    };
    prepared.can_be_reused.then(|| {
        format!(
            "tilemark run{profile} {}{tile} --footprint {}{root}{}{} --reuse {}",
            args.named(),
            plan.footprint,
            hosts(plan),
            placement(args, plan),
            prepared.run_id
        )
    })
}

/// Returns the hosts as options; empty if the plan file names them.
fn hosts(plan: &ResolvedPlan) -> String {
    let quoted = |host: &String| format!(" --host '{}'", host.replace('\'', "'\\''"));
    let own =
        plan.settings.hosts.members.iter().filter(|_| plan.origin("hosts.members") == Origin::Flag);
    own.map(quoted).collect()
}

/// Returns the options for placement and storage of the hosts.
#[cfg(feature = "hosts")]
fn placement(args: &RunArgs, plan: &ResolvedPlan) -> String {
    let placed = plan.origin("hosts.placement") == Origin::Flag;
    let placed = placed.then(|| format!(" --placement {}", plan.placement));
    let is_local = args.hosts.storage == crate::args::Storage::Local;
    placed.unwrap_or_default() + if is_local { " --storage local" } else { "" }
}

/// Returns an empty text, because this build has no hosts.
#[cfg(not(feature = "hosts"))]
const fn placement(_: &RunArgs, _: &ResolvedPlan) -> String {
    String::new()
}

fn text(args: &RunArgs, plan: &ResolvedPlan, prepared: &Prepared, command: Option<&str>) -> String {
    let mut lines = vec![
        format!("prepared   {}", prepared.run_id),
        format!("datastore  {}  {}", plan.datastore, prepared.target_summary),
        match prepared.hosts.as_slice() {
            [] => format!("where      {}", prepared.path.display()),
            hosts => {
                let each = hosts.iter().map(|host| format!("{} {}", host.name, host.path));
                format!("where      {}", each.collect::<Vec<_>>().join("\n           "))
            }
        },
        format!(
            "disks      {}: {}, {}, {}",
            plan.tile_set.tile.name,
            count(u64::from(prepared.tiles), "tile"),
            count(prepared.disks as u64, "disk"),
            prepared.bytes
        ),
    ];
    lines.extend(prepared.prefill.as_ref().map(prefill_line));
    for warning in &prepared.warnings {
        lines.push(format!("warning: {} [{}]", warning.text, warning.id));
    }
    lines.push(command.map_or_else(
        || {
            "use        the next run fills its disks again and overwrites this data: only \
             directories keep disks for reuse"
                .to_owned()
        },
        |command| format!("use        {command}"),
    ));
    let each = hosts(plan);
    lines.push(format!("remove     tilemark cleanup{each} {}", cleanup_target(args, plan)));
    lines.join("\n") + "\n"
}

fn cleanup_target<'a>(args: &'a RunArgs, plan: &'a ResolvedPlan) -> &'a str {
    if args.named().ends_with(".toml") { &plan.datastore } else { args.named() }
}

fn document(plan: &ResolvedPlan, prepared: &Prepared, command: Option<&str>) -> Value {
    let warnings: Vec<Value> = prepared
        .warnings
        .iter()
        .map(|warning| json!({ "id": warning.id, "text": warning.text }))
        .collect();
    json!({
        "schema": "tilemark.prepared/1.0",
        "run": prepared.run_id,
        "datastore": plan.datastore,
        "target_summary": prepared.target_summary,
        "path": prepared.path,
        "hosts": prepared.hosts.iter().map(|host| json!({ "name": host.name, "path": host.path }))
            .collect::<Vec<_>>(),
        "tile": plan.tile_set.tile.name,
        "footprint": plan.footprint,
        "tiles": prepared.tiles,
        "vms": prepared.vms,
        "disks": prepared.disks,
        "bytes": prepared.bytes.get(),
        "prefill": prepared.prefill,
        "use": command,
        "warnings": warnings,
    })
}
