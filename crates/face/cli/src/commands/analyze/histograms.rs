//! Prints histograms of vscsiStats, in which VMware counts I/Os without recording single ones.

use serde::Serialize;
use trace::vscsi_stats::{self, Bucket, Histogram, Histograms};
use units::print::count;

use super::read::failed;
use crate::args::{AnalyzeArgs, AnalyzeFormat, ViewName};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::Table;

/// Document of `--format json`.
#[derive(Debug, Serialize)]
struct Document<'a> {
    /// Name and version of this document.
    schema: &'static str,
    file: String,
    histograms: &'a [Histogram],
    /// Number of unusable lines.
    bad: usize,
}

/// Prints the histograms of a file.
pub fn run(args: &AnalyzeArgs) -> Result<Exit, Failure> {
    check(args)?;
    let found = vscsi_stats::read(&args.trace).map_err(|error| failed(&error))?;
    for (line, text) in found.bad.iter().take(10) {
        crate::say!("left out: line {line}: \"{}\"", untrusted::shown(text));
    }
    if args.format == AnalyzeFormat::Json {
        let document = Document {
            schema: "tilemark.vscsistats/1.0",
            file: args.trace.display().to_string(),
            histograms: &found.all,
            bad: found.bad.len(),
        };
        output::print_json(&document)?;
    } else {
        let is_whole = args.view.iter().any(|view| *view != ViewName::Overview);
        output::print(&text(&found, is_whole))?;
    }
    Ok(Exit::Success)
}

/// Refuses options that need single I/Os.
fn check(args: &AnalyzeArgs) -> Result<(), Failure> {
    let is_other = !matches!(args.format, AnalyzeFormat::Text | AnalyzeFormat::Json);
    let is_view = |view: &ViewName| {
        !matches!(view, ViewName::Overview | ViewName::Histograms | ViewName::All)
    };
    let asked = [
        (args.to_workload.is_some(), "--to-workload"),
        (args.view.iter().any(is_view), "--view other than overview, histograms or all"),
        (!args.vm.is_empty(), "--vm"),
        (!args.device.is_empty(), "--device"),
        (args.direction.is_some(), "--direction"),
        (args.from.is_some(), "--from"),
        (args.to.is_some(), "--to"),
        (args.limit.is_some(), "--limit"),
        (is_other, "--format csv, parquet or vscsistats"),
        (args.out.is_some(), "--out"),
    ];
    let Some((_, option)) = asked.into_iter().find(|(is_asked, _)| *is_asked) else {
        return Ok(());
    };
    let file = args.trace.display();
    let message = format!("{file} holds histograms of vscsiStats, but {option} needs single I/Os");
    let hint =
        "vscsiStats -s -t -w WORLDGROUP records single commands, which import and analyze read";
    Err(Failure::new(Exit::Usage, message).hint(Some(hint)))
}

fn text(found: &Histograms, is_whole: bool) -> String {
    let mut disks: Vec<(&str, &str)> = Vec::new();
    for own in &found.all {
        let disk = (own.world_group.as_str(), own.disk.as_str());
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    let mut lines = vec![format!(
        "histograms of vscsiStats: {}; single I/Os and their times are unknown",
        count(disks.len() as u64, "virtual disk")
    )];
    for (group, disk) in disks {
        let own: Vec<&Histogram> =
            found.all.iter().filter(|own| own.world_group == group && own.disk == disk).collect();
        lines.push(String::new());
        lines.push(format!(
            "world group {}, disk {}",
            untrusted::shown(group),
            untrusted::shown(disk)
        ));
        lines.extend(summary(&own));
        if is_whole {
            lines.extend(own.iter().flat_map(|own| buckets(own)));
        }
    }
    if !is_whole {
        lines.push(String::new());
        lines.push("--view histograms shows every bucket".to_owned());
    }
    lines.join("\n") + "\n"
}

/// Builds a table with a row for each histogram of a disk. A percentile is the upper limit of its
/// bucket.
fn summary(all: &[&Histogram]) -> Vec<String> {
    let header = ["what", ">count", ">min", ">mean", ">p50", ">p95", ">p99", ">max"];
    let mut table = Table::new(&header);
    for own in all {
        let value = |number: i64| if own.count == 0 { "-".to_owned() } else { number.to_string() };
        let percentile = |percent: f64| bound(own, own.percentile(percent));
        table.row(vec![
            untrusted::shown(&own.name).into_owned(),
            own.count.to_string(),
            value(own.min),
            value(own.mean),
            percentile(50.0),
            percentile(95.0),
            percentile(99.0),
            value(own.max),
        ]);
    }
    table.lines()
}

fn bound(own: &Histogram, bucket: Option<Bucket>) -> String {
    match bucket.map(|bucket| bucket.limit) {
        None => "-".to_owned(),
        Some(Some(limit)) => format!("<={limit}"),
        Some(None) => above(own),
    }
}

/// Returns the text for the last bucket, which has no upper limit.
fn above(own: &Histogram) -> String {
    let last = own.buckets.iter().rev().find_map(|bucket| bucket.limit);
    last.map_or_else(|| "-".to_owned(), |limit| format!(">{limit}"))
}

fn buckets(own: &Histogram) -> Vec<String> {
    let mut table = Table::new(&[">value", ">count"]);
    for bucket in own.buckets.iter().filter(|bucket| bucket.frequency > 0) {
        table.row(vec![bound(own, Some(*bucket)), bucket.frequency.to_string()]);
    }
    let mut lines = vec![String::new(), untrusted::shown(&own.name).into_owned()];
    if own.count == 0 {
        lines.push("  nothing was counted".to_owned());
    } else {
        lines.extend(table.lines());
    }
    lines
}
