//! `plan` and `check`: tell what a run would do and whether it is allowed, without writing.

use bench::plan::ResolvedPlan;
use bench::run::{Preview, RunOptions, plan_preview};
use datastore::Preflight;
use run_store::run::ServedOver;
use serde_json::json;
use units::Bytes;

use crate::args::{Format, RunArgs};
use crate::commands::outline::{outline_document, outlined};
use crate::commands::run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::text::Table;
use crate::{exports, output, plan_source};

/// Prints what a run would write, where and for how long.
pub fn plan(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = plan_source::resolved(args)?;
    if !plan.settings.hosts.members.is_empty() {
        return super::hosts::plan(args, &plan);
    }
    let preview = preview(args, plan)?;
    match args.stored.format {
        Format::Text => output::show(&plan_text(args, &preview))?,
        Format::Json => output::print_json(&document(&preview))?,
    }
    Ok(exit(&preview))
}

/// Prints each check with the value found and the value allowed.
pub fn check(args: &RunArgs) -> Result<Exit, Failure> {
    let plan = plan_source::resolved(args)?;
    if !plan.settings.hosts.members.is_empty() {
        return super::hosts::check(args, &plan);
    }
    let preview = preview(args, plan)?;
    match args.stored.format {
        Format::Text => output::show(&check_text(&preview))?,
        Format::Json => output::print_json(&document(&preview))?,
    }
    Ok(exit(&preview))
}

fn preview(args: &RunArgs, plan: ResolvedPlan) -> Result<Preview, Failure> {
    let (plan, export) = exports::mounted(plan)?;
    let options = RunOptions { export, ..run::options(args)? };
    plan_preview(&plan, &options).map_err(Failure::from)
}

fn exit(preview: &Preview) -> Exit {
    if preview.all_refusals().next().is_none() && preview.outline.tiles_max.is_some() {
        Exit::Success
    } else {
        Exit::Refused
    }
}

fn plan_text(args: &RunArgs, preview: &Preview) -> String {
    let mut lines = vec![format!("datastore  {}  {}", args.named(), preview.target_summary)];
    lines.extend(preview.over.as_ref().map(over_text));
    lines.extend(outlined(args, &preview.outline));
    lines.extend(refusals(preview));
    lines.join("\n") + "\n"
}

fn check_text(preview: &Preview) -> String {
    let mut lines = checked(&preview.preflight);
    if let Some(second) = &preview.second {
        lines.push(format!("the second datastore, {}:", second.preflight.target));
        lines.extend(checked(&second.preflight));
    }
    lines.extend(preview.over.as_ref().map(over_text));
    lines.push(format!(
        "room for {} of files; a tile needs {}",
        Bytes::new(preview.preflight.capacity_bytes),
        preview.outline.bytes_per_tile
    ));
    lines.extend(refusals(preview));
    lines.join("\n") + "\n"
}

/// Describes the programs of a storage protocol: `over nbd    server qemu-storage-daemon 10.0.2,
/// ...`.
fn over_text(over: &ServedOver) -> String {
    let ServedOver { protocol, server, server_version, initiator, initiator_version, .. } = over;
    let server = format!("{server} {server_version}");
    let (over, server) = (format!("over {protocol}"), server.trim_end());
    format!("{over:<9}  server {server}, initiator {initiator} {initiator_version}")
}

/// Formats a table of every rule and every warning.
fn checked(preflight: &Preflight) -> Vec<String> {
    let mut table = Table::new(&["", "rule", "found", "allowed"]);
    for check in &preflight.checks {
        let word = if check.passed { "ok" } else { "NO" };
        table.row(vec![
            word.to_owned(),
            check.what.clone(),
            check.found.clone(),
            check.limit.clone(),
        ]);
    }
    let mut lines = table.lines();
    for warning in &preflight.warnings {
        lines.push(format!("warning: {} [{}]", warning.text, warning.id));
    }
    lines
}

fn refusals(preview: &Preview) -> Vec<String> {
    if preview.all_refusals().next().is_none() {
        return vec!["nothing was touched; a run may begin".to_owned()];
    }
    let mut lines = vec!["nothing was touched; a run would be refused:".to_owned()];
    for refusal in preview.all_refusals() {
        lines.push(format!("  {refusal} [{}]", refusal.id()));
        lines.extend(refusal.hint().map(|hint| format!("  hint: {hint}")));
    }
    lines
}

fn document(preview: &Preview) -> serde_json::Value {
    let refusals: Vec<_> = preview
        .all_refusals()
        .map(|refusal| json!({ "id": refusal.id(), "text": refusal.to_string(), "hint": refusal.hint() }))
        .collect();
    let mut document = outline_document(&preview.outline);
    document.extend([
        ("schema".to_owned(), json!("tilemark.plan-preview/1.0")),
        ("target_summary".to_owned(), json!(preview.target_summary)),
        ("preflight".to_owned(), json!(preview.preflight)),
        ("second".to_owned(), json!(preview.second.as_ref().map(|second| &second.preflight))),
        ("over".to_owned(), json!(preview.over)),
        ("refusals".to_owned(), json!(refusals)),
    ]);
    document.into()
}
