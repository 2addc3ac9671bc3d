//! Tables of numbers, with rules that decide whether lines are plausible: clocks increase, and
//! sizes and addresses are plausible for storage.

/// Plausible lengths of I/Os, in sectors of 512 bytes.
pub(super) const SECTORS: (f64, f64) = (1.0, (1_u64 << 21) as f64);
/// Plausible times of traces, in seconds since 1970: from 1998 to 2096.
pub(super) const UNIX_SECONDS: (f64, f64) = (9e8, 4e9);
/// Largest number of a storage unit in a trace of several units.
pub(super) const UNITS_MAX: f64 = 65_535.0;

/// Description of a table of numbers.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) has_commas: bool,
    /// Beginnings of lines that are not rows.
    pub(super) heads: &'static [&'static [u8]],
    /// Column that may be in base 16 without a prefix.
    pub(super) hex: Option<usize>,
}

pub(super) type Row = Vec<f64>;

impl Table {
    /// Table of numbers between commas.
    pub(super) const COMMAS: Self = Self { has_commas: true, heads: &[], hex: None };
    /// Table of numbers between blanks.
    pub(super) const BLANKS: Self = Self { has_commas: false, heads: &[], hex: None };

    /// Parses the rows of the table; `None` if it contains anything but numbers. The first row is
    /// left out if it has another number of columns, because it is then incomplete.
    pub(super) fn rows(self, lines: &[&[u8]]) -> Option<Vec<Row>> {
        let is_row = |line: &&&[u8]| !self.heads.iter().any(|head| line.starts_with(head));
        let mut rows: Vec<Row> = Vec::new();
        for line in lines.iter().filter(is_row) {
            let text = str::from_utf8(line).ok()?.trim();
            let fields: Vec<&str> = if self.has_commas {
                text.split(',').map(str::trim).collect()
            } else {
                text.split_whitespace().collect()
            };
            let number = |(at, field): (usize, &&str)| number(field, Some(at) == self.hex);
            rows.push(fields.iter().enumerate().map(number).collect::<Option<_>>()?);
        }
        if rows.len() > 1 && rows[0].len() != rows[1].len() {
            rows.remove(0);
        }
        let columns = rows.first()?.len();
        (columns > 3 && rows.iter().all(|row| row.len() == columns)).then_some(rows)
    }
}

fn number(field: &str, may_be_hex: bool) -> Option<f64> {
    let is_plain = |c: char| c.is_ascii_digit() || c == '.';
    if !field.is_empty() && field.chars().all(is_plain) {
        return field.parse().ok();
    }
    let digits = field.strip_prefix("0x").or(may_be_hex.then_some(field))?;
    u32::from_str_radix(digits, 16).ok().map(f64::from)
}

/// Returns true if all values of a column are within these bounds.
pub(super) fn all(rows: &[Row], column: usize, (least, most): (f64, f64)) -> bool {
    rows.iter().all(|row| row.get(column).is_some_and(|value| (least..=most).contains(value)))
}

/// Returns true if a clock increases, except in at most one of eight steps, because several logs
/// may follow one another.
pub(super) fn rises(rows: &[Row], column: usize) -> bool {
    let values: Option<Vec<f64>> = rows.iter().map(|row| row.get(column).copied()).collect();
    values.is_some_and(|values| falls(&values) * 8 < values.len())
}

fn falls(values: &[f64]) -> usize {
    values.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

/// Splits a line at commas.
pub(super) fn texts(line: &[u8]) -> Vec<&str> {
    str::from_utf8(line).map(|text| text.split(',').map(str::trim).collect()).unwrap_or_default()
}

/// Parses the numbers of one column of lines with commas; lines without a number there are left
/// out.
pub(super) fn column(lines: &[&[u8]], at: usize) -> Vec<f64> {
    lines.iter().filter_map(|line| texts(line).get(at)?.parse().ok()).collect()
}

/// Returns true if a clock mostly increases, because several units may be logged one after another.
pub(super) fn goes_up(values: &[f64]) -> bool {
    falls(values) * 4 < values.len().max(1)
}
