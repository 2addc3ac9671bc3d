//! Reads workbooks (xlsx): RVTools' sheets vInfo, vDisk and vPartition, or the first sheet of any
//! other workbook. Formulas are not evaluated; their stored values are used.

use std::io::{Cursor, Read};

use calamine::{DataRef, Reader, Xlsx};

use super::cell::Cell;
use super::table::{self, Table};
use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::Record;

pub(super) struct Workbook;

const NAME: &str = "xlsx (RVTools, your own)";
const SHEETS: [&str; 3] = ["vInfo", "vDisk", "vPartition"];
/// Maximum unpacked size. RVTools' workbook of 100,000 VMs has some 900 MiB.
const UNPACKED_MAX: u64 = 2 << 30;
/// Maximum number of columns, as in Excel.
const COLUMNS_MAX: u32 = 16_384;

impl Format for Workbook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn fits(&self, input: &Input<'_>) -> bool {
        input.bytes.starts_with(b"PK")
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        unpacks(input)?;
        let failed = |error: calamine::XlsxError| input.broken("xlsx", error);
        let mut book = Xlsx::new(Cursor::new(input.bytes.as_slice())).map_err(failed)?;
        let all = book.sheet_names();
        // Some versions of RVTools name the sheets tabvInfo, tabvDisk, tabvPartition.
        let is_named = |own: &str, name: &&String| {
            let name = name.to_lowercase();
            name.strip_prefix("tab").unwrap_or(&name) == own.to_lowercase()
        };
        let known: Vec<String> = SHEETS
            .iter()
            .filter_map(|own| all.iter().find(|name| is_named(own, name)).cloned())
            .collect();
        let sheets = if known.is_empty() { all.into_iter().take(1).collect() } else { known };
        if sheets.is_empty() {
            return Err(input.broken("xlsx", "it has no sheet"));
        }
        let mut tables = Vec::new();
        for name in sheets {
            tables.push(sheet(input, &mut book, &name)?);
        }
        table::records(input, tables, found)
    }
}

/// Checks the unpacked size by unpacking everything once without storing it, because the sizes
/// stated in an archive may be false.
fn unpacks(input: &Input<'_>) -> Result<(), ReadError> {
    let failed = |error: zip::result::ZipError| input.broken("xlsx", error);
    let mut archive = zip::ZipArchive::new(Cursor::new(input.bytes.as_slice())).map_err(failed)?;
    let mut left = UNPACKED_MAX;
    for number in 0..archive.len() {
        let part = archive.by_index(number).map_err(failed)?;
        let read = std::io::copy(&mut part.take(left + 1), &mut std::io::sink());
        let read = read.map_err(|error| input.broken("xlsx", error))?;
        left = left
            .checked_sub(read)
            .ok_or_else(|| ReadError::Bomb { path: input.path.clone(), most: UNPACKED_MAX })?;
    }
    Ok(())
}

fn sheet(
    input: &Input<'_>,
    book: &mut Xlsx<Cursor<&[u8]>>,
    name: &str,
) -> Result<Table, ReadError> {
    let failed = |error: calamine::XlsxError| input.broken("xlsx", error);
    let mut cells = book.worksheet_cells_reader(name).map_err(failed)?;
    let mut rows = Rows::Heading { row: None, headings: Vec::new() };
    while let Some(cell) = cells.next_cell().map_err(failed)? {
        let (row, column) = cell.get_position();
        if column >= COLUMNS_MAX {
            return Err(input.broken("xlsx", format!("sheet {name} has a cell in column {column}")));
        }
        if rows.ends_before(row) {
            rows = rows.next(input, name)?;
        }
        rows.put(row, column as usize, cell.get_value());
    }
    match rows.next(input, name)? {
        Rows::Data { table, .. } => Ok(table),
        Rows::Heading { .. } => Err(input.broken("xlsx", format!("sheet {name} has no heading"))),
    }
}

/// State of reading a row.
enum Rows {
    Heading { row: Option<u32>, headings: Vec<String> },
    Data { table: Table, row: Option<u32>, cells: Vec<Cell> },
}

impl Rows {
    fn ends_before(&self, row: u32) -> bool {
        let (Self::Heading { row: own, .. } | Self::Data { row: own, .. }) = self;
        own.is_some_and(|own| own != row)
    }

    fn put(&mut self, at: u32, column: usize, value: &DataRef<'_>) {
        match self {
            Self::Heading { row, headings } => {
                *row = Some(at);
                headings.resize((column + 1).max(headings.len()), String::new());
                headings[column] = text(value);
            }
            Self::Data { table, row, cells } => {
                *row = Some(at);
                if let Some(wanted) = table.wanted(column) {
                    cells[wanted] = content(value);
                }
            }
        }
    }

    /// Returns the state after this complete row.
    fn next(self, input: &Input<'_>, sheet: &str) -> Result<Self, ReadError> {
        match self {
            Self::Heading { headings, .. } => {
                let table = Table::of(input, sheet, &headings)?;
                let cells = table.empty_row();
                Ok(Self::Data { table, row: None, cells })
            }
            Self::Data { mut table, row, cells } => {
                if let Some(row) = row {
                    table.add(u64::from(row) + 1, cells);
                }
                let cells = table.empty_row();
                Ok(Self::Data { table, row: None, cells })
            }
        }
    }
}

fn text(value: &DataRef<'_>) -> String {
    match content(value) {
        Cell::Text(text) => text,
        Cell::Number(number) => number.to_string(),
        Cell::Flag(_) | Cell::Time(_) | Cell::Empty => String::new(),
    }
}

fn content(value: &DataRef<'_>) -> Cell {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "sizes and counts, far below 2^53")]
        DataRef::Int(number) => Cell::Number(*number as f64),
        DataRef::Float(number) => Cell::Number(*number),
        DataRef::String(own) => Cell::of_text(own),
        DataRef::SharedString(own) => Cell::of_text(own),
        DataRef::Bool(flag) => Cell::Flag(*flag),
        DataRef::DateTimeIso(own) | DataRef::DurationIso(own) => Cell::of_text(own),
        DataRef::DateTime(time) => Cell::Time(time.as_f64()),
        DataRef::Error(_) | DataRef::Empty => Cell::Empty,
    }
}
