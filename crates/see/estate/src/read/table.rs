//! Reads tables with a heading. All rows are kept in memory first, because all cells of a column
//! together decide the meaning of its marks.

use units::Bytes;
use untrusted::Malformed;

use super::Input;
use super::cell::Cell;
use super::heading::{COLUMNS, Column, Heading, NamedColumn, name_of};
use super::moments::{self, Moment};
use super::number::{DecimalMark, Decision, Evidence};
use crate::error::{ReadError, nearest};
use crate::place::{Findings, RowLocation};
use crate::row::{Facts, LeftOut, Record};

/// Kind of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Machines,
    Disks,
    Partitions,
    /// Loads of VMs that are listed elsewhere.
    Loads,
}

/// Meaning of a column that is used.
#[derive(Debug, Clone)]
struct Meaning {
    /// Index of the column in the table.
    at: usize,
    column: Column,
    heading: String,
    /// Number of bytes in one unit of the column's numbers.
    unit: Option<f64>,
}

/// Table: the meanings of its used columns, and the cells of these columns.
pub(super) struct Table {
    rows: Rows,
    part: String,
    /// Number of columns of the whole table.
    width: usize,
    meaning: Vec<Meaning>,
    /// Number of each row in the file, and one cell for each meaning.
    cells: Vec<(u64, Vec<Cell>)>,
}

/// Columns of rates.
const LOADS: [Column; 5] =
    [Column::ReadIops, Column::WriteIops, Column::Iops, Column::ReadBytes, Column::WrittenBytes];
/// Columns of sizes, or of bytes per second.
const SIZES: [Column; 5] =
    [Column::Provisioned, Column::Used, Column::Consumed, Column::ReadBytes, Column::WrittenBytes];
/// Columns of numbers that are not sizes.
const NUMBERS: [Column; 5] =
    [Column::Vcpus, Column::ReadIops, Column::WriteIops, Column::Iops, Column::ReadShare];

impl Table {
    /// Reads the heading. `part` is the sheet's name; the kind of rows may follow from it or from
    /// the file's name.
    pub fn of(input: &Input<'_>, part: &str, headings: &[String]) -> Result<Self, ReadError> {
        let known: Vec<Heading> = headings.iter().map(|own| Heading::of(own)).collect();
        let mut taken: Vec<Option<Column>> = vec![None; headings.len()];
        for (column, _, words) in &COLUMNS {
            let named = input.reading.columns.iter().find(|named| named.column == *column);
            let fits = |word: &&str| known.iter().position(|own: &Heading| own.fits(*column, word));
            match named {
                Some(named) => {
                    let at = position(input, named, headings)?;
                    taken[at].get_or_insert(*column);
                }
                // Date and hour may be in separate columns.
                None if *column == Column::Time => {
                    for at in words.iter().filter_map(&fits) {
                        taken[at].get_or_insert(*column);
                    }
                }
                None => {
                    if let Some(at) = words.iter().find_map(&fits) {
                        taken[at].get_or_insert(*column);
                    }
                }
            }
        }
        let meaning: Vec<Meaning> = (0..)
            .zip(&taken)
            .filter_map(|(at, column)| {
                let column = (*column)?;
                let unit = unit(input, column, &known[at]);
                Some(Meaning { at, column, heading: headings[at].trim().to_owned(), unit })
            })
            .collect();
        if !meaning.iter().any(|own| own.column == Column::Vm) {
            let found: Vec<&str> = headings.iter().take(8).map(String::as_str).collect();
            let part = if part.is_empty() { String::new() } else { format!(", {part}") };
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return Err(ReadError::NoNames { path: input.path.clone(), part, found });
        }
        let rows = rows_of(input, part, &known, &meaning);
        let part = part.to_owned();
        Ok(Self { rows, part, width: headings.len(), meaning, cells: Vec::new() })
    }

    /// Returns the number of columns of the whole table.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Returns the index of a column among the used columns.
    pub fn wanted(&self, column: usize) -> Option<usize> {
        self.meaning.iter().position(|own| own.at == column)
    }

    /// Returns a row of empty cells.
    pub fn empty_row(&self) -> Vec<Cell> {
        vec![Cell::Empty; self.meaning.len()]
    }

    /// Adds a row with a cell for each used column; empty rows are skipped.
    pub fn add(&mut self, row: u64, cells: Vec<Cell>) {
        if cells.iter().any(|cell| *cell != Cell::Empty) {
            self.cells.push((row, cells));
        }
    }

    /// Collects the evidence for the decimal mark of each used column.
    fn evidence(&self) -> Vec<Evidence> {
        let mut all = vec![Evidence::default(); self.meaning.len()];
        for (row, cells) in &self.cells {
            for ((meaning, cell), own) in self.meaning.iter().zip(cells).zip(&mut all) {
                let is_number =
                    SIZES.contains(&meaning.column) || NUMBERS.contains(&meaning.column);
                if let Some(text) = cell.written_number().filter(|_| is_number) {
                    own.add(*row, text);
                }
            }
        }
        all
    }

    /// Converts all rows to records.
    fn records(
        self,
        input: &Input<'_>,
        marks: &[DecimalMark],
        found: &mut Findings,
    ) -> Result<Vec<Record>, ReadError> {
        self.check_units(input, marks)?;
        let mut moments = Vec::new();
        for (row, cells) in &self.cells {
            let at = input.at(&self.part, *row);
            match self.record(at.clone(), cells, marks) {
                Ok(moment) => moments.push(moment),
                Err(what) => found.bad.add(&at, what),
            }
        }
        let has = |column| self.meaning.iter().any(|own| own.column == column);
        let kind = moments::Kind {
            rows: self.rows,
            has_time: has(Column::Time),
            has_parts: has(Column::Part),
        };
        Ok(moments::fold(moments, kind, found))
    }

    /// Refuses a column of sizes without a unit in any cell or heading.
    fn check_units(&self, input: &Input<'_>, marks: &[DecimalMark]) -> Result<(), ReadError> {
        for (number, meaning) in self.meaning.iter().enumerate() {
            if meaning.unit.is_some() || !SIZES.contains(&meaning.column) {
                continue;
            }
            let cells = || self.cells.iter().map(|(_, cells)| &cells[number]);
            let bare = cells().find(|cell| cell.lacks_unit(marks[number]));
            let has_any = cells()
                .any(|cell| cell.bytes(None, marks[number]).is_ok_and(|own| own > Bytes::ZERO));
            if let Some(bare) = bare.filter(|_| !has_any) {
                return Err(ReadError::NoUnit {
                    path: input.path.clone(),
                    heading: meaning.heading.clone(),
                    column: name_of(meaning.column),
                    example: bare.text(),
                });
            }
        }
        Ok(())
    }

    fn record(
        &self,
        at: RowLocation,
        cells: &[Cell],
        marks: &[DecimalMark],
    ) -> Result<Moment, Malformed> {
        let mut record = Record {
            at,
            name: String::new(),
            id: String::new(),
            number: String::new(),
            lists: self.rows == Rows::Machines,
            facts: Facts::default(),
        };
        let (mut size, mut is_raw) = (None, false);
        let (mut time, mut part) = (String::new(), String::new());
        for ((Meaning { column, unit, .. }, cell), mark) in
            self.meaning.iter().zip(cells).zip(marks)
        {
            let is_number = SIZES.contains(column) || NUMBERS.contains(column);
            if *cell == Cell::Empty || (is_number && cell.is_unknown()) {
                continue;
            }
            let (unit, mark) = (*unit, *mark);
            let facts = &mut record.facts;
            match column {
                Column::Vm => record.name = cell.text(),
                Column::Id => record.id = cell.text().to_lowercase(),
                Column::Time => time = format!("{time} {}", cell.text()),
                Column::Part => part = cell.text(),
                Column::Os => facts.os = cell.text(),
                Column::Vcpus => facts.vcpus = Some(cell.count(mark)?),
                Column::State => {
                    let out = state(&cell.text())?;
                    facts.is_on = out.is_none();
                    facts.out = facts.out.or(out);
                }
                Column::Template => {
                    facts.out = cell.flag()?.then_some(LeftOut::Template).or(facts.out)
                }
                Column::Placeholder => {
                    facts.out = cell.flag()?.then_some(LeftOut::Placeholder).or(facts.out);
                }
                Column::Provisioned => size = Some(cell.bytes(unit, mark)?),
                Column::Used => facts.used = Some(cell.bytes(unit, mark)?),
                Column::Consumed => facts.consumed = Some(cell.bytes(unit, mark)?),
                Column::Raw => is_raw = cell.flag()?,
                Column::ReadIops => facts.load.reads_per_s = Some(cell.rate(mark)?),
                Column::WriteIops => facts.load.writes_per_s = Some(cell.rate(mark)?),
                Column::Iops => facts.load.io_per_s = Some(cell.rate(mark)?),
                Column::ReadShare => facts.load.read_share = Some(cell.share(mark)?),
                Column::ReadBytes => {
                    facts.load.read_bytes_per_s = Some(cell.bytes(unit, mark)?.as_f64())
                }
                Column::WrittenBytes => {
                    facts.load.written_bytes_per_s = Some(cell.bytes(unit, mark)?.as_f64())
                }
                Column::Class => facts.class = Some(cell.text()),
            }
        }
        if record.name.is_empty() {
            return Err("it names no virtual machine".into());
        }
        self.place(&mut record.facts, size, is_raw);
        if record.lists && record.name.starts_with("vCLS") {
            record.facts.out = Some(LeftOut::Platform);
        }
        Ok(Moment { record, time, part })
    }

    /// Sets the size of the VM or of a disk. In a sheet of disks or partitions, also clears facts
    /// that such a sheet does not provide.
    fn place(&self, facts: &mut Facts, size: Option<Bytes>, is_raw: bool) {
        match self.rows {
            Rows::Machines => facts.provisioned = size,
            Rows::Disks if is_raw => *facts = Facts { raw: size, ..Facts::default() },
            Rows::Disks => *facts = Facts { disk: size, load: facts.load, ..Facts::default() },
            Rows::Loads => {}
            Rows::Partitions => *facts = Facts { consumed: facts.consumed, ..Facts::default() },
        }
    }
}

/// Converts the tables of a file to records. A column with an ambiguous decimal mark uses the mark
/// of the file's other columns, or otherwise the mark of the option.
pub(super) fn records(
    input: &Input<'_>,
    tables: Vec<Table>,
    found: &mut Findings,
) -> Result<Vec<Record>, ReadError> {
    let mut decisions = Vec::new();
    for table in &tables {
        let own = table.evidence().iter().map(Evidence::decide).collect::<Vec<_>>();
        decisions.push(own);
    }
    let known: Vec<DecimalMark> = decisions
        .iter()
        .flatten()
        .filter_map(|own| if let Decision::Known(mark) = own { Some(*mark) } else { None })
        .collect();
    let agreed = known.first().copied().filter(|mark| known.iter().all(|own| own == mark));
    let mut records = Vec::new();
    for (table, decisions) in tables.into_iter().zip(decisions) {
        let mark = |(meaning, decision): (&Meaning, Decision)| match decision {
            Decision::Known(mark) => Ok(mark),
            Decision::Any => Ok(DecimalMark::Point),
            Decision::Open(witness) => {
                let mark = agreed.or(input.reading.decimal);
                mark.ok_or_else(|| witness.open_mark(&input.path, &meaning.heading))
            }
            Decision::Both(point, comma) => {
                let error = || ReadError::BothMarks {
                    path: input.path.clone(),
                    heading: meaning.heading.clone(),
                    point: point.text,
                    point_row: point.row,
                    comma: comma.text,
                    comma_row: comma.row,
                };
                input.reading.decimal.ok_or_else(error)
            }
        };
        let marks: Vec<DecimalMark> =
            table.meaning.iter().zip(decisions).map(mark).collect::<Result<_, _>>()?;
        records.extend(table.records(input, &marks, found)?);
    }
    Ok(records)
}

/// Returns the unit of a column. The option for this column comes first, then the heading or its
/// tool, then the option for every column.
fn unit(input: &Input<'_>, column: Column, heading: &Heading) -> Option<f64> {
    let given = |wanted: Option<Column>| {
        input.reading.units.iter().find(|own| own.column == wanted).map(|own| own.bytes)
    };
    given(Some(column)).or_else(|| heading.size_unit()).or_else(|| given(None))
}

fn rows_of(input: &Input<'_>, part: &str, known: &[Heading], meaning: &[Meaning]) -> Rows {
    let has = |wanted| meaning.iter().any(|own| own.column == wanted);
    let sheet = known.iter().find_map(|own| own.sheet).unwrap_or_default();
    let name = format!("{} {part} {sheet}", input.path).to_lowercase();
    let has_disks = known.iter().any(|own| {
        ["disk", "disk key", "disk path"].contains(&own.words.as_str()) && own.unit.is_none()
    });
    let has_load = LOADS.into_iter().any(has);
    let lists = [Column::Provisioned, Column::Used, Column::State, Column::Vcpus];
    let lists = lists.into_iter().any(has);
    if name.contains("vpartition") || (has(Column::Consumed) && has_disks) {
        Rows::Partitions
    } else if name.contains("vdisk") || (has_disks && !has(Column::State)) {
        Rows::Disks
    } else if has_load && !lists {
        Rows::Loads
    } else {
        Rows::Machines
    }
}

fn position(
    input: &Input<'_>,
    named: &NamedColumn,
    headings: &[String],
) -> Result<usize, ReadError> {
    let wanted = named.heading.trim().to_lowercase();
    headings.iter().position(|own| own.trim().to_lowercase() == wanted).ok_or_else(|| {
        ReadError::NoHeading {
            path: input.path.clone(),
            heading: named.heading.clone(),
            column: name_of(named.column),
            nearest: nearest(&named.heading, headings.iter().map(String::as_str)),
        }
    })
}

fn state(text: &str) -> Result<Option<LeftOut>, Malformed> {
    match text.to_lowercase().replace([' ', '-', '_'], "").as_str() {
        "poweredon" | "on" | "running" | "up" => Ok(None),
        "poweredoff" | "off" | "stopped" | "suspended" | "shutoff" | "paused" | "down" => {
            Ok(Some(LeftOut::Off))
        }
        _ => Err(format!("its state \"{text}\" is neither on nor off").into()),
    }
}
