//! Text of an imported estate, on one screen.

use std::path::Path;

use estate::{EstateSheet, Totals};
use units::Bytes;
use units::print::{bytes_per_second, count, number, percent};

use super::Table;

/// Formats the summary of an imported estate.
pub fn estate(sheet: &EstateSheet, out: &Path) -> String {
    let all = &sheet.estate;
    let mut lines = vec![
        format!(
            "{} as {} tiles of {}: they hold {} and do {} I/Os/s, {}",
            count(sheet.vms.into(), "virtual machine"),
            number(sheet.tiles),
            count(sheet.tile_vms.into(), "VM"),
            Bytes::new(all.bytes),
            number(all.io_per_s()),
            moved(all),
        ),
        String::new(),
    ];
    let columns = [
        "class",
        ">VMs",
        ">in a tile",
        ">measured",
        ">holds",
        ">I/Os/s",
        ">reads",
        ">moved",
        ">busiest",
    ];
    let mut table = Table::new(&columns);
    for row in &sheet.classes {
        let mut cells = vec![
            row.class.clone(),
            row.vms.to_string(),
            row.in_tile.to_string(),
            row.measured.to_string(),
        ];
        cells.extend(figures(&row.totals));
        cells.push(format!("{} x", number(row.most_over_mean)));
        table.row(cells);
    }
    let measured: u32 = sheet.classes.iter().map(|row| row.measured).sum();
    let sum = |name: &str, totals: &Totals, counts: [String; 3]| {
        let mut cells = vec![name.to_owned()];
        cells.extend(counts);
        cells.extend(figures(totals));
        cells.push(String::new());
        cells
    };
    table.row(sum(
        "all",
        all,
        [sheet.vms.to_string(), sheet.tile_vms.to_string(), measured.to_string()],
    ));
    let empty = || String::from("-");
    table.row(sum("as tiles", &sheet.as_tiles, [empty(), empty(), empty()]));
    lines.extend(table.lines());
    lines.push(String::new());
    lines.extend(left_out(sheet));
    lines.extend(sheet.notes.iter().map(|text| format!("note       {text}")));
    lines.extend(sheet.missing.iter().map(|text| format!("not known  {text}")));
    lines.push(format!("written    {}: tile.toml, its workloads, estate.json", out.display()));
    lines.push(format!(
        "           tilemark run --quick --estate {} DATASTORE measures how much of it a datastore \
        carries",
        out.display()
    ));
    lines.join("\n") + "\n"
}

fn figures(totals: &Totals) -> [String; 4] {
    let share = if totals.io_per_s() > 0.0 { totals.reads_per_s / totals.io_per_s() } else { 0.0 };
    [Bytes::new(totals.bytes).to_string(), number(totals.io_per_s()), percent(share), moved(totals)]
}

fn moved(totals: &Totals) -> String {
    bytes_per_second(totals.read_bytes_per_s + totals.written_bytes_per_s)
}

fn left_out(sheet: &EstateSheet) -> Option<String> {
    let parts: Vec<String> =
        sheet.left_out.iter().map(|(why, count)| format!("{count} {}", why.words())).collect();
    let bad = sheet.bad_rows.count;
    let bad = (bad > 0).then(|| format!("{} that could not be used", count(bad, "row")));
    let all: Vec<String> = parts.into_iter().chain(bad).collect();
    (!all.is_empty()).then(|| format!("left out   {}", all.join(", ")))
}
