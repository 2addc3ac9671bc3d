use std::io::{self, Write};

use run_store::slice::SizeClass;
use units::{Nanos, Ratio};

use crate::{Cell, HostSets, Key, SetRow, SetRows, Slice, Window, columns, sets};

const COLUMNS: [&str; 18] = [
    "start_s",
    "width_s",
    "watched_ns",
    "vm",
    "disk",
    "direction",
    "size_class",
    "count",
    "errors",
    "bytes",
    "mean_ns",
    "p50_ns",
    "p95_ns",
    "p99_ns",
    "max_ns",
    "queue_mean_ns",
    "outstanding_mean",
    "below",
];

impl Window {
    /// Writes a row for each slice, VM, disk, direction and size class, as CSV (RFC 4180). Unknown
    /// values are empty.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_csv(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut writer =
            csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to);
        writer.write_record(COLUMNS)?;
        for slice in &self.slices {
            for (key, cell) in &slice.io {
                writer.write_record(row(slice, key, cell))?;
            }
        }
        writer.flush()
    }

    /// Writes the same rows with histograms, and the gauges, as Parquet.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_parquet(&self, to: &mut (dyn Write + Send)) -> io::Result<()> {
        columns::write_rows(to, &self.slices, Vec::new())
    }
}

fn row(slice: &Slice, key: &Key, cell: &Cell) -> [String; COLUMNS.len()] {
    let latencies = cell.latencies.compact(cell.latency_ns);
    let number = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    let percentile =
        |share| number(latencies.percentile(Ratio::new(share)).map(|own: Nanos| own.0));
    let mean = |sum: Option<u64>| number(sum.and_then(|sum| sum.checked_div(cell.count)));
    #[expect(clippy::cast_precision_loss, reason = "a mean is read to a few digits")]
    let outstanding = cell
        .outstanding
        .filter(|_| cell.count > 0)
        .map(|sum| format!("{:.3}", sum as f64 / cell.count as f64));
    [
        slice.start_s.to_string(),
        slice.width_s.to_string(),
        slice.watched.0.to_string(),
        key.vm.to_string(),
        key.disk.to_string(),
        key.direction.name().to_owned(),
        key.class.map_or("", SizeClass::name).to_owned(),
        cell.count.to_string(),
        cell.errors.to_string(),
        cell.bytes.to_string(),
        mean(Some(cell.latency_ns)),
        percentile(0.5),
        percentile(0.95),
        percentile(0.99),
        number(latencies.max().map(|own| own.0)),
        mean(cell.queue_ns),
        outstanding.unwrap_or_default(),
        key.is_below.to_string(),
    ]
}

const SET_COLUMNS: [&str; 9] = [
    "start_s",
    "vm",
    "span",
    "since_s",
    "used_bytes",
    "read_bytes",
    "written_bytes",
    "share",
    "error",
];

impl SetRows {
    /// Writes a row for each working set, as CSV (RFC 4180).
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_csv(&self, to: &mut dyn Write) -> io::Result<()> {
        write_sets(to, &SET_COLUMNS, self.rows.iter().map(|row| set_row(row).to_vec()))
    }

    /// Writes the rows as Parquet, with the columns of the store's own files.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_parquet(&self, to: &mut (dyn Write + Send)) -> io::Result<()> {
        sets::write_parquet(to, &self.rows, None)
    }
}

impl HostSets {
    /// Writes the working sets of several hosts, as [`SetRows::write_csv`]. The last column is the
    /// host, because two hosts may have a set of the same VM for the same hour.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_csv(all: &[Self], to: &mut dyn Write) -> io::Result<()> {
        let columns: Vec<&str> = SET_COLUMNS.into_iter().chain(["host"]).collect();
        let rows = all.iter().flat_map(|own| {
            own.rows.iter().map(|row| {
                let mut cells = set_row(row).to_vec();
                cells.push(own.host.clone());
                cells
            })
        });
        write_sets(to, &columns, rows)
    }

    /// Writes the same rows as Parquet.
    ///
    /// # Errors
    /// Writing to `to` fails.
    pub fn write_parquet<'a>(all: &'a [Self], to: &mut (dyn Write + Send)) -> io::Result<()> {
        let of_host = |own: &'a Self| std::iter::repeat_n(own.host.as_str(), own.rows.len());
        let hosts: Vec<&str> = all.iter().flat_map(of_host).collect();
        let rows: Vec<SetRow> = all.iter().flat_map(|own| own.rows.iter().cloned()).collect();
        sets::write_parquet(to, &rows, Some(&hosts))
    }
}

fn write_sets(
    to: &mut dyn Write,
    columns: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to);
    writer.write_record(columns)?;
    for row in rows {
        writer.write_record(row)?;
    }
    writer.flush()
}

fn set_row(row: &SetRow) -> [String; SET_COLUMNS.len()] {
    [
        row.start_s.to_string(),
        row.vm.to_string(),
        row.span.name().to_owned(),
        row.since_s.to_string(),
        row.used_bytes.to_string(),
        row.read_bytes.to_string(),
        row.written_bytes.to_string(),
        row.share.to_string(),
        format!("{:.4}", row.error()),
    ]
}
