//! Reads text tables: CSV with commas, semicolons or tabs.

use super::cell::Cell;
use super::encoding::decode;
use super::table::{self, Table};
use super::{Format, Input};
use crate::error::ReadError;
use crate::place::Findings;
use crate::row::Record;

pub(super) struct Text;

const NAME: &str = "CSV with a heading (RVTools, vCenter, PowerCLI, govc, your own)";

impl Format for Text {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Returns true for any text that is not JSON or XML, so this format must be tried last.
    fn fits(&self, input: &Input<'_>) -> bool {
        let text = decode(&input.bytes[..input.bytes.len().min(4096)]);
        let is_text = !text.chars().any(|letter| letter.is_control() && !letter.is_whitespace());
        input.json.is_none() && is_text && !input.begins_with("<") && !text.trim().is_empty()
    }

    fn read(&self, input: &Input<'_>, found: &mut Findings) -> Result<Vec<Record>, ReadError> {
        // The reader counts a line of CRLF one too low.
        let text = decode(&input.bytes).replace("\r\n", "\n");
        let text = without_preface(&text);
        let heading = text.lines().next().unwrap_or_default();
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(heading))
            .flexible(true)
            .from_reader(text.as_bytes());
        let failed = |error: csv::Error| input.broken("CSV", error);
        let headings: Vec<String> =
            reader.headers().map_err(failed)?.iter().map(str::to_owned).collect();
        let mut table = Table::of(input, "", &headings)?;
        for row in reader.records() {
            let row = row.map_err(failed)?;
            let line = row.position().map_or(0, csv::Position::line);
            // Separators at the end of a line make empty cells without a heading.
            let is_longer = row.iter().skip(table.width()).any(|cell| !cell.trim().is_empty());
            if is_longer || row.len() < table.width() {
                let what =
                    format!("it has {} columns, but the heading has {}", row.len(), table.width());
                found.bad.add(&input.at("", line), what);
                continue;
            }
            let mut cells = table.empty_row();
            for (column, text) in row.iter().enumerate() {
                if let Some(at) = table.wanted(column) {
                    cells[at] = Cell::of_text(text);
                }
            }
            table.add(line, cells);
        }
        table::records(input, vec![table], found)
    }
}

/// Returns the text without the lines that PowerShell and Excel put first.
fn without_preface(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, below)) = rest.split_once('\n') {
        if !(line.starts_with("#TYPE") || line.starts_with("sep=") || line.trim().is_empty()) {
            break;
        }
        rest = below;
    }
    rest
}

fn delimiter(heading: &str) -> u8 {
    let count = |mark: u8| heading.bytes().filter(|byte| *byte == mark).count();
    [b',', b';', b'\t'].into_iter().max_by_key(|mark| (count(*mark), *mark == b',')).unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiter_and_preface_are_found() {
        assert_eq!(delimiter("VM;Used GiB;OS, long"), b';');
        assert_eq!(without_preface("#TYPE Selected\nsep=;\nVM\n"), "VM\n");
    }
}
