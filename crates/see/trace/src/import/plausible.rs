//! Rules for formats whose lines are numbers alone, or nearly: any table of numbers could be
//! taken for one. Their clocks go up, and sizes and places are those of storage.

use super::Format;

/// Lengths of I/Os that are believed, in bytes and in sectors of 512 bytes.
const BYTES: (f64, f64) = (512.0, (1_u64 << 30) as f64);
const SECTORS: (f64, f64) = (1.0, (1_u64 << 21) as f64);
/// Seconds since 1970 of traces: from 1998 to 2096.
const UNIX_SECONDS: (f64, f64) = (9e8, 4e9);
/// Units of storage in a trace of several.
const UNITS_MAX: f64 = 65_535.0;
/// Latencies that are believed, in nanoseconds.
const LATENCY_NS: (f64, f64) = (100.0, 1e12);
/// No job of fio has waited longer than it ran; times may be cut to 10 ms.
const SLACK_MS: f64 = 1_000.0;
/// Milliseconds from 1970 to 2001: what is later counts from 1970 (`log_unix_epoch`).
const EPOCH_MS: f64 = 1e12;
/// Mean steps of MQSim's clock from which on it cannot be DiskSim's: a second for each I/O.
const STEP_MAX: f64 = 1_000.0;

/// Whether the lines of a text that `format` understands are what they seem to be. `lines` are
/// the first ones of the text, of which the first may be torn.
pub(super) fn is_plausible(format: Format, lines: &[&[u8]]) -> bool {
    let rows = |separator: Separator| rows(lines, separator, format);
    match format {
        Format::Tencent => rows(Separator::Comma).is_some_and(|rows| {
            all(&rows, 0, UNIX_SECONDS)
                && all(&rows, 2, SECTORS)
                && rises(&rows, 0)
                && are_pages(&rows, 2)
        }),
        Format::FioLat => rows(Separator::Comma).is_some_and(|rows| is_fio_lat(&rows)),
        Format::VscsiCsv => rows(Separator::Comma).is_some_and(|rows| {
            rises(&rows, 1)
                && rows.iter().all(|row| row.get(3).is_some_and(|size| size % 512.0 == 0.0))
        }),
        Format::VscsiText => is_vscsi_text(lines),
        Format::Spc => is_spc(lines),
        Format::Alibaba => is_alibaba(lines),
        Format::Mqsim => rows(Separator::Blank).is_some_and(|rows| is_request(&rows)),
        Format::Disksim => rows(Separator::Blank)
            .is_some_and(|rows| is_request(&rows) && (has_points(lines) || step(&rows) < STEP_MAX)),
        Format::Arc => {
            // A request of several blocks may be several rows with its number.
            rows(Separator::Blank).is_some_and(|rows| all(&rows, 1, SECTORS) && rises(&rows, 3))
        }
        _ => true,
    }
}

#[derive(Clone, Copy)]
enum Separator {
    Comma,
    Blank,
}

type Row = Vec<f64>;

/// The rows of a table of numbers, without heads and comments of the format itself; none if
/// anything else stands there. The first row is left out if it has another number of columns:
/// it is torn.
fn rows(lines: &[&[u8]], separator: Separator, format: Format) -> Option<Vec<Row>> {
    let heads: &[&[u8]] = match format {
        Format::Tencent => &[b"Timestamp,"],
        Format::VscsiCsv => &[b"version,", b"#"],
        _ => &[],
    };
    let is_row = |line: &&&[u8]| !heads.iter().any(|head| line.starts_with(head));
    let of_base_16 = if matches!(format, Format::VscsiCsv) { 2 } else { 5 };
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.iter().filter(is_row) {
        let text = str::from_utf8(line).ok()?.trim();
        let fields: Vec<&str> = match separator {
            Separator::Comma => text.split(',').map(str::trim).collect(),
            Separator::Blank => text.split_whitespace().collect(),
        };
        let number = |(at, field): (usize, &&str)| number(field, at == of_base_16);
        rows.push(fields.iter().enumerate().map(number).collect::<Option<_>>()?);
    }
    if rows.len() > 1 && rows[0].len() != rows[1].len() {
        rows.remove(0);
    }
    let columns = rows.first()?.len();
    (columns > 3 && rows.iter().all(|row| row.len() == columns)).then_some(rows)
}

fn number(field: &str, may_be_hex: bool) -> Option<f64> {
    let is_plain = |c: char| c.is_ascii_digit() || c == '.';
    if !field.is_empty() && field.chars().all(is_plain) {
        return field.parse().ok();
    }
    let digits = field.strip_prefix("0x").or(may_be_hex.then_some(field))?;
    u32::from_str_radix(digits, 16).ok().map(f64::from)
}

fn all(rows: &[Row], column: usize, (least, most): (f64, f64)) -> bool {
    rows.iter().all(|row| row.get(column).is_some_and(|value| (least..=most).contains(value)))
}

/// Whether a clock goes up, but for one step in eight: several logs may stand one after another.
fn rises(rows: &[Row], column: usize) -> bool {
    let values: Option<Vec<f64>> = rows.iter().map(|row| row.get(column).copied()).collect();
    values.is_some_and(|values| falls(&values) * 8 < values.len())
}

fn falls(values: &[f64]) -> usize {
    values.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

/// Whether at least half of a column of sectors are whole pages of 4 KiB, as sizes of I/Os of a
/// guest are; of any numbers an eighth would be.
fn are_pages(rows: &[Row], column: usize) -> bool {
    let pages = rows.iter().filter(|row| row.get(column).is_some_and(|value| value % 8.0 == 0.0));
    pages.count() * 2 >= rows.len()
}

fn is_fio_lat(rows: &[Row]) -> bool {
    let is_sync = |row: &Row| row[2] == 3.0;
    let is_io = |row: &Row| is_sync(row) || (BYTES.0..=BYTES.1).contains(&row[3]);
    let is_time = |row: &Row| {
        (LATENCY_NS.0..=LATENCY_NS.1).contains(&row[1])
            && (row[0] >= EPOCH_MS || row[1] <= (row[0] + SLACK_MS) * 1e6)
    };
    rows.iter().all(|row| is_io(row) && is_time(row)) && rises(rows, 0)
}

/// A row of a simulator: time, unit, sector, sectors, flags.
fn is_request(rows: &[Row]) -> bool {
    all(rows, 1, (0.0, UNITS_MAX)) && all(rows, 3, SECTORS) && rises(rows, 0)
}

/// Mean step of the clock of the first column.
fn step(rows: &[Row]) -> f64 {
    match rows {
        #[expect(clippy::cast_precision_loss, reason = "a few dozen rows")]
        [first, .., last] => (last[0] - first[0]) / (rows.len() - 1) as f64,
        _ => 0.0,
    }
}

fn has_points(lines: &[&[u8]]) -> bool {
    lines.iter().any(|line| line.contains(&b'.'))
}

fn fields(line: &[u8]) -> Vec<&str> {
    str::from_utf8(line).map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default()
}

/// Numbers of a column of lines between commas; lines that have none there are left out.
fn column(lines: &[&[u8]], at: usize) -> Vec<f64> {
    lines.iter().filter_map(|line| fields(line).get(at)?.parse().ok()).collect()
}

/// Whether a clock goes up mostly: several units may be logged one after another.
fn goes_up(values: &[f64]) -> bool {
    falls(values) * 4 < values.len().max(1)
}

/// With commands as words nothing else looks like it; with numbers its lengths are sectors.
fn is_vscsi_text(lines: &[&[u8]]) -> bool {
    let rows = lines.iter().filter(|line| !line.starts_with(b"#"));
    let is_word = |line: &&[u8]| {
        let command = fields(line).get(3).copied().unwrap_or_default().to_ascii_lowercase();
        matches!(command.as_str(), "read" | "write")
    };
    let is_sectors = |line: &&[u8]| {
        let bytes = fields(line).get(1).and_then(|text| text.parse::<u64>().ok());
        bytes.is_some_and(|bytes| bytes.is_multiple_of(512))
    };
    let is_header = lines.first().is_some_and(|line| line.starts_with(b"#"));
    let mut rows = rows.peekable();
    rows.peek().is_some()
        && (is_header || rows.all(|line| is_word(line) || is_sectors(line)))
        && goes_up(&column(lines, 5))
}

fn is_spc(lines: &[&[u8]]) -> bool {
    column(lines, 0).iter().all(|unit| *unit <= UNITS_MAX) && goes_up(&column(lines, 4))
}

/// Either its times are microseconds since 1970, or they go up.
fn is_alibaba(lines: &[&[u8]]) -> bool {
    let times = column(lines, 4);
    let is_unix = |us: &f64| (UNIX_SECONDS.0 * 1e6..=UNIX_SECONDS.1 * 1e6).contains(us);
    times.iter().all(is_unix) || goes_up(&times)
}
