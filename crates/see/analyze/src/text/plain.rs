use std::collections::BTreeMap;
use std::fmt::Write;

use units::{Bytes, Nanos, Table};

use super::bars::sparkline;
use crate::document::{Analysis, FilterFacts, HistogramRow, OutstandingCell, TimeRow};
use crate::interval;
use crate::material::View;

/// Maximum number of VMs in a table; JSON and CSV have all.
const VMS_SHOWN: usize = 12;
/// Inverse of the share of a bar's time that may be missing in a bar that still counts as whole.
/// Our choice.
const NEARLY_WHOLE: u64 = 20;
/// Number of bars of a sparkline.
const BARS: usize = 60;

/// Formats the answer as text, with the views in the order of [`View::ALL`].
pub fn text(answer: &Analysis, views: &[View]) -> String {
    let mut text = head(answer);
    for view in View::ALL.into_iter().filter(|view| views.contains(view)) {
        let part = match view {
            View::Findings => findings(answer),
            View::Overview => overview(answer),
            View::Sizes => sizes(answer),
            View::Latency => latency(answer),
            View::Matrix => matrix(answer),
            View::WorkingSet => working_set(answer),
            View::Histograms => histograms(answer),
            View::Time => time(answer),
        };
        if !part.is_empty() {
            text += "\n";
            text += &part;
        }
    }
    if !answer.cannot_say.is_empty() {
        text += "\nNot available\n";
        for remark in &answer.cannot_say {
            let _ = writeln!(text, "  {}: {}", remark.what, remark.why);
        }
    }
    text
}

fn head(answer: &Analysis) -> String {
    let source = &answer.source;
    let mut text = format!("{} ({}): {} I/Os", source.name, source.format, number(source.records));
    if let (Some(first), Some(last), true) = (source.first_ns, source.last_ns, source.has_times) {
        let _ = write!(text, " over {}", short(last - first));
    }
    let _ = write!(
        text,
        ", {} and {}",
        counted(source.vms.len(), "sender"),
        counted(source.devices.len(), "device")
    );
    text += "\n";
    if source.filtered > 0 {
        // Without a filter only these are left out.
        let why = match answer.filter == FilterFacts::default() {
            true => {
                "at disks below other disks are left out: they are parts of I/Os at the upper \
                disks"
            }
            false => "are left out by the filter",
        };
        let _ = writeln!(text, "  {} I/Os {why}", number(source.filtered));
    }
    let losses = [
        (source.bad, "could not be parsed"),
        (source.dropped, "were lost by the program that recorded them"),
        (source.disordered, "were too far out of order"),
    ];
    for (count, what) in losses.iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "  {} records {what}", number(*count));
    }
    text
}

fn findings(answer: &Analysis) -> String {
    if answer.findings.is_empty() {
        return "Findings\n  nothing stands out\n".to_owned();
    }
    let mut text = "Findings\n".to_owned();
    for (at, finding) in (1..).zip(&answer.findings) {
        let _ = writeln!(text, "  {at}. {}", finding.text);
        let _ = writeln!(text, "     proof: {}", finding.command);
    }
    text
}

fn overview(answer: &Analysis) -> String {
    let mut grid = Table::new(&[
        "sender",
        ">I/Os",
        ">reads",
        ">bytes",
        ">reads",
        ">IOPS",
        ">sequential",
        ">misaligned",
        ">read p50",
        ">p99",
        ">write p50",
        ">p99",
    ]);
    for row in answer.overview.iter().take(VMS_SHOWN) {
        grid.row(vec![
            row.vm.clone(),
            number(row.reads + row.writes),
            percent(row.read_share_of_count),
            Bytes::new(row.read_bytes + row.write_bytes).to_string(),
            percent(row.read_share_of_bytes),
            row.iops.map_or_else(dash, real),
            percent(row.sequential_share),
            percent(row.misaligned_share),
            time_of(row.read_p50_ns),
            time_of(row.read_p99_ns),
            time_of(row.write_p50_ns),
            time_of(row.write_p99_ns),
        ]);
    }
    let mut text = format!("Overview\n{}{}", grid.text("  "), more(answer.overview.len()));
    let mut grid = Table::new(&["busiest", ">of", ">at", ">I/Os", ">a second", ">times the mean"]);
    let first = answer.overview.first().map_or("", |row| &row.vm);
    for row in answer.bursts.iter().filter(|row| row.vm == first) {
        grid.row(vec![
            row.vm.clone(),
            short(row.width_ns),
            short(row.start_ns),
            number(row.count),
            real(row.iops),
            row.times_mean.map_or_else(dash, real),
        ]);
    }
    if !grid.is_empty() {
        text += "\n";
        text += &grid.text("  ");
    }
    text
}

fn sizes(answer: &Analysis) -> String {
    let has_latency = answer.sizes.iter().any(|row| row.share_of_wait.is_some());
    let mut header = vec!["sender", "", "size", ">I/Os", ">of I/Os", ">of bytes", ">sequential"];
    if has_latency {
        header.extend([">of waiting", ">p50", ">p95", ">p99", ">longest"]);
    }
    let mut grid = Table::new(&header);
    for row in answer.sizes.iter().filter(|row| is_shown(answer, &row.vm)) {
        let mut cells = vec![
            row.vm.clone(),
            row.direction.clone(),
            row.class.clone(),
            number(row.count),
            percent(Some(row.share_of_count)),
            percent(Some(row.share_of_bytes)),
            percent(Some(row.sequential_share)),
        ];
        if has_latency {
            cells.push(percent(row.share_of_wait));
            cells.extend([row.p50_ns, row.p95_ns, row.p99_ns, row.max_ns].map(time_of));
        }
        grid.row(cells);
    }
    format!("Sizes\n{}", grid.text("  "))
}

fn latency(answer: &Analysis) -> String {
    let mut rows: Vec<_> = answer
        .sizes
        .iter()
        .filter(|row| row.share_of_wait.is_some() && is_shown(answer, &row.vm))
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    rows.sort_by(|a, b| {
        a.vm.cmp(&b.vm)
            .then(b.share_of_wait.unwrap_or(0.0).total_cmp(&a.share_of_wait.unwrap_or(0.0)))
    });
    let mut grid = Table::new(&["sender", "made it slow", "", ">of waiting", "", ">of I/Os"]);
    for row in rows {
        let share = row.share_of_wait.unwrap_or(0.0);
        grid.row(vec![
            row.vm.clone(),
            format!("{}s", row.direction),
            row.class.clone(),
            percent(Some(share)),
            bar(share),
            percent(Some(row.share_of_count)),
        ]);
    }
    let mut text = format!("Contribution to latency\n{}", grid.text("  "));
    let mut grid = Table::new(&[
        "sender",
        "small (<32 KiB)",
        ">alone",
        ">p50",
        ">p99",
        ">beside >=64 KiB",
        ">p50",
        ">p99",
    ]);
    for row in answer.beside_large.iter().filter(|row| is_shown(answer, &row.vm)) {
        grid.row(vec![
            row.vm.clone(),
            format!("{}s", row.direction),
            number(row.alone_count),
            time_of(row.alone_p50_ns),
            time_of(row.alone_p99_ns),
            number(row.beside_count),
            time_of(row.beside_p50_ns),
            time_of(row.beside_p99_ns),
        ]);
    }
    if !grid.is_empty() {
        text += "\nSmall I/O without and with a large one in flight on the device\n";
        text += &grid.text("  ");
    }
    text
}

/// Names of the size columns, as short as a matrix needs them.
const COLUMNS: [(&str, &str); 8] = [
    ("<4 KiB", ">   <4K"),
    ("4-<8 KiB", ">     4K"),
    ("8-<16 KiB", ">     8K"),
    ("16-<32 KiB", ">    16K"),
    ("32-<64 KiB", ">    32K"),
    ("64-<128 KiB", ">    64K"),
    ("128-<256 KiB", ">   128K"),
    (">=256 KiB", "> >=256K"),
];

fn matrix(answer: &Analysis) -> String {
    let mut text = String::new();
    let scopes = answer.overview_names();
    for vm in scopes.iter().take(VMS_SHOWN) {
        for direction in ["read", "write"] {
            text += &latency_matrix(answer, vm, direction);
            text += &outstanding_matrix(answer, vm, direction);
            let row = answer.breaks.iter().find(|row| row.vm == *vm && row.direction == direction);
            let Some(row) = row else { continue };
            let limit = Nanos(answer.limit.ns);
            let _ = match (&row.class, row.p99_ns) {
                (Some(class), Some(p99)) => writeln!(
                    text,
                    "  {vm} {direction}: {class} is the first size over {limit}: p99 {} ({} I/Os)\n",
                    Nanos(p99),
                    number(row.count)
                ),
                _ => writeln!(
                    text,
                    "  {vm} {direction}: no size with 30 I/Os is over {limit} at p99\n"
                ),
            };
        }
    }
    if text.is_empty() {
        return text;
    }
    format!("Matrix; few: fewer than 30 I/Os, !: over the limit\n{}\n", text.trim_end_matches('\n'))
}

impl Analysis {
    /// Returns the names of the VMs in the matrix, in order.
    fn overview_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.breaks {
            if !names.contains(&cell.vm.as_str()) {
                names.push(&cell.vm);
            }
        }
        names
    }
}

fn header(first: &str) -> Table {
    let mut header = vec![first];
    header.extend(COLUMNS.map(|(_, short)| short));
    Table::new(&header)
}

fn latency_matrix(answer: &Analysis, vm: &str, direction: &str) -> String {
    let cells = answer.matrix_latency.iter();
    let cells = cells.filter(|cell| cell.vm == vm && cell.direction == direction);
    let mut rows: BTreeMap<u64, (Option<u64>, [u64; 8])> = BTreeMap::new();
    for cell in cells {
        let Some(column) = COLUMNS.iter().position(|(name, _)| *name == cell.class) else {
            continue;
        };
        rows.entry(cell.from_ns).or_insert((cell.to_ns, [0; 8])).1[column] = cell.count;
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut grid = header("I/Os by latency");
    for (from, (to, counts)) in rows {
        let name =
            to.map_or_else(|| format!("over {}", short(from)), |to| format!("up to {}", short(to)));
        let cell = |count: u64| if count == 0 { ".".to_owned() } else { number(count) };
        grid.row(std::iter::once(name).chain(counts.map(cell)).collect());
    }
    format!("  {vm} {direction}\n{}", grid.text("  "))
}

fn outstanding_matrix(answer: &Analysis, vm: &str, direction: &str) -> String {
    let cells = answer.matrix_outstanding.iter();
    let cells = cells.filter(|cell| cell.vm == vm && cell.direction == direction);
    let mut rows: BTreeMap<u32, [Option<&OutstandingCell>; 8]> = BTreeMap::new();
    for cell in cells {
        let Some(column) = COLUMNS.iter().position(|(name, _)| *name == cell.class) else {
            continue;
        };
        rows.entry(cell.outstanding_from).or_insert([None; 8])[column] = Some(cell);
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut grid = header("p99 by outstanding");
    for (from, cells) in rows {
        let to = cells.iter().flatten().next().and_then(|cell| cell.outstanding_to);
        let name = match to {
            Some(to) if to == from => from.to_string(),
            Some(to) => format!("{from}-{to}"),
            None => format!("{from} and more"),
        };
        let p99 = |cell: Option<&OutstandingCell>| match cell {
            None => ".".to_owned(),
            Some(cell) if !cell.is_enough => "few".to_owned(),
            Some(cell) => {
                let over = cell.p99_ns.is_some_and(|p99| p99 > answer.limit.ns);
                format!("{}{}", if over { "!" } else { "" }, time_of(cell.p99_ns))
            }
        };
        grid.row(std::iter::once(name).chain(cells.map(p99)).collect());
    }
    format!("\n{}", grid.text("  "))
}

fn working_set(answer: &Analysis) -> String {
    if answer.working_set.is_empty() {
        return String::new();
    }
    let mut grid = Table::new(&["sender", "touched in", ">windows", ">mean", ">largest"]);
    for row in answer.working_set.iter().filter(|row| is_shown(answer, &row.vm)) {
        grid.row(vec![
            row.vm.clone(),
            row.window_ns.map_or_else(|| "all".to_owned(), short),
            number(row.windows),
            bytes(row.mean_bytes),
            bytes(row.max_bytes),
        ]);
    }
    let mut text = format!("Working set, in pages of 4 KiB\n{}", grid.text("  "));
    let mut grid =
        Table::new(&["sender", "LRU pages of", ">knee at", ">misses there", ">misses at least"]);
    for row in answer.knees.iter().filter(|row| is_shown(answer, &row.vm)) {
        grid.row(vec![
            row.vm.clone(),
            Bytes::new(row.page_bytes).to_string(),
            Bytes::new(row.cache_bytes).to_string(),
            percent(Some(row.miss_ratio)),
            percent(Some(row.miss_ratio_least)),
        ]);
    }
    if !grid.is_empty() {
        text += "\n";
        text += &grid.text("  ");
    }
    let mut grid =
        Table::new(&["sender", ">tier, 64 KiB pages", ">of reads", ">of I/Os", ">written to it"]);
    for row in answer.tiers.iter().filter(|row| is_shown(answer, &row.vm)) {
        grid.row(vec![
            row.vm.clone(),
            Bytes::new(row.tier_bytes).to_string(),
            percent(row.reads_served)
                + &interval::text(row.reads_served_low, row.reads_served_high),
            percent(row.io_served) + &interval::text(row.io_served_low, row.io_served_high),
            bytes(row.tier_written_bytes),
        ]);
    }
    text += "\nServed by a tier (LRU, write-back, empty at first)\n";
    text += &grid.text("  ");
    text
}

fn histograms(answer: &Analysis) -> String {
    let mut text = String::new();
    for row in &answer.histograms {
        let _ = writeln!(text, "{}, {}: {} ({})", row.vm, row.device, row.histogram, row.unit);
        let _ = writeln!(
            text,
            "  min {}  max {}  mean {}  count {}",
            row.min.unwrap_or(0),
            row.max.unwrap_or(0),
            row.mean.unwrap_or(0),
            number(row.count)
        );
        text += &buckets(row);
    }
    text
}

fn buckets(row: &HistogramRow) -> String {
    let mut grid = Table::new(&[">up to", ">count", ""]);
    let most = row.counts.iter().copied().max().unwrap_or(0).max(1);
    let above = format!("over {}", row.limits.last().copied().unwrap_or(0));
    let names = row.limits.iter().map(i64::to_string).chain([above]);
    for (name, count) in names.zip(&row.counts).filter(|(_, count)| **count > 0) {
        grid.row(vec![name, number(*count), bar(*count as f64 / most as f64)]);
    }
    grid.text("  ")
}

fn time(answer: &Analysis) -> String {
    let (Some(first), Some(last)) = (answer.time.first(), answer.time.last()) else {
        return String::new();
    };
    let width = answer.slice_ns;
    let slices = (last.start_ns - first.start_ns) / width + 1;
    let each = slices.div_ceil(BARS as u64);
    let mut text = format!(
        "Over time, slices of {}, from {} to {}; a bar is {}\n",
        short(width),
        short(first.start_ns),
        short(last.start_ns + width),
        short(width.saturating_mul(each))
    );
    let mut vms: BTreeMap<&str, Vec<&TimeRow>> = BTreeMap::new();
    for row in &answer.time {
        vms.entry(&row.vm).or_default().push(row);
    }
    let mut grid = Table::new(&["sender", "", "", ">peak"]);
    let end = answer.source.last_ns.unwrap_or(0).max(last.start_ns);
    let times = bar_times(end - first.start_ns, width.saturating_mul(each));
    let at = |row: &TimeRow| {
        let bar = usize::try_from((row.start_ns - first.start_ns) / width / each);
        bar.unwrap_or(0).min(times.len() - 1)
    };
    for (vm, rows) in vms.iter().take(VMS_SHOWN) {
        let mut iops = vec![0.0; times.len()];
        let mut bandwidth = iops.clone();
        let mut longest = iops.clone();
        for row in rows {
            iops[at(row)] += row.count as f64 / times[at(row)];
            bandwidth[at(row)] += row.bytes as f64 / times[at(row)];
            longest[at(row)] = f64::max(longest[at(row)], row.max_ns.unwrap_or(0) as f64);
        }
        let peak = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let name = (*vm).to_owned();
        grid.row(vec![name, "IOPS".into(), sparkline(&iops), real(peak(&iops))]);
        let per_second = format!("{}/s", bytes(peak(&bandwidth)));
        grid.row(vec![String::new(), "bytes".into(), sparkline(&bandwidth), per_second]);
        if peak(&longest) > 0.0 {
            let peak = Nanos::from_secs_f64(peak(&longest) / 1e9).to_string();
            grid.row(vec![String::new(), "longest".into(), sparkline(&longest), peak]);
        }
    }
    text += &grid.text("  ");
    text + &more(vms.len())
}

/// Returns the length in seconds of each bar, with the given full length; the last bar ends with
/// the last I/O. A rest shorter than half a bar is added to the bar before it, as on the page,
/// because its own rate would be meaningless.
fn bar_times(span_ns: u64, bar_ns: u64) -> Vec<f64> {
    let seconds = |ns| Nanos(ns).as_secs_f64();
    // The last I/O of a steady load comes just before the end of a bar, and still ends a whole one.
    let is_near = bar_ns - span_ns % bar_ns < bar_ns / NEARLY_WHOLE;
    let span_ns = if is_near { span_ns.next_multiple_of(bar_ns) } else { span_ns };
    let (whole, rest) = (span_ns / bar_ns, span_ns % bar_ns);
    let mut times = vec![seconds(bar_ns); usize::try_from(whole.max(1)).unwrap_or(BARS)];
    match times.last_mut() {
        Some(last) if whole > 0 && rest < bar_ns / 2 => *last += seconds(rest),
        _ if whole > 0 => times.push(seconds(rest)),
        _ => {}
    }
    times
}

/// Returns true if the text shows this VM; files have all VMs.
fn is_shown(answer: &Analysis, vm: &str) -> bool {
    let names = &answer.source.vms;
    names.len() <= VMS_SHOWN || !names.iter().skip(VMS_SHOWN).any(|name| name == vm)
}

fn more(rows: usize) -> String {
    if rows > VMS_SHOWN {
        format!("  and {} more senders; --format json, csv or parquet has all\n", rows - VMS_SHOWN)
    } else {
        String::new()
    }
}

fn dash() -> String {
    "-".to_owned()
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(dash, |share| format!("{:.1} %", share * 100.0))
}

fn bar(share: f64) -> String {
    let length = (share * 20.0).ceil();
    "█".repeat((0..20).take_while(|at| f64::from(*at) < length).count())
}

fn time_of(ns: Option<u64>) -> String {
    ns.map_or_else(dash, short)
}

/// Formats a time with three digits.
fn short(ns: u64) -> String {
    Nanos(ns).to_string()
}

fn bytes(value: f64) -> String {
    Bytes::new(1).scale(value).to_string()
}

pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a rate; from 100 on without decimals.
fn real(value: f64) -> String {
    if value >= 100.0 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded")]
        return number(value.round() as u64);
    }
    format!("{value:.1}")
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last bar once had the time of a whole one, and so too low a rate.
    #[test]
    fn the_last_bar_has_its_own_time_or_is_a_part_of_the_one_before() {
        let of = |span: u64, bar: u64| bar_times(span * 1_000_000, bar * 1_000_000);
        assert_eq!(of(4000, 2000), [2.0, 2.0]);
        assert_eq!(of(4900, 2000), [2.0, 2.9]);
        assert_eq!(of(5995, 2000), [2.0, 2.0, 2.0]);
        assert_eq!(of(5100, 2000), [2.0, 2.0, 1.1]);
        assert_eq!(of(62, 1000), [1.0], "less than a bar has no rate of its own");
        assert_eq!(of(0, 1000), [1.0]);
    }
}
