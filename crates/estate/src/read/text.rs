//! Tables as text: CSV with commas, semicolons or tabs, in UTF-8, UTF-16 (PowerShell, Excel) or Latin-1.

use super::table::{Cell, Columns};
use super::{Format, Input};
use crate::error::ReadError;
use crate::place::BadRows;
use crate::row::Record;

pub(super) struct Text;

const NAME: &str = "CSV with a heading (RVTools, vCenter, PowerCLI, govc, your own)";

impl Format for Text {
    fn name(&self) -> &'static str {
        NAME
    }

    /// A heading has a separator, or is one word that names machines.
    fn fits(&self, input: &Input<'_>) -> bool {
        let text = decode(&input.bytes[..input.bytes.len().min(4096)]);
        let is_text = !text.chars().any(|letter| letter.is_control() && !letter.is_whitespace());
        input.json.is_none() && is_text && !input.begins_with("<") && !text.trim().is_empty()
    }

    fn read(&self, input: &Input<'_>, bad: &mut BadRows) -> Result<Vec<Record>, ReadError> {
        let text = decode(&input.bytes);
        let text = without_preface(&text);
        let heading = text.lines().next().unwrap_or_default();
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter(heading))
            .flexible(true)
            .from_reader(text.as_bytes());
        let failed = |error: csv::Error| input.broken("CSV", error);
        let headings: Vec<String> =
            reader.headers().map_err(failed)?.iter().map(str::to_owned).collect();
        let columns = Columns::of(input, "", &headings)?;
        let mut records = Vec::new();
        for row in reader.records() {
            let row = row.map_err(failed)?;
            let line = row.position().map_or(0, csv::Position::line);
            if row.len() != columns.len() {
                let what = format!("it has {} columns, the heading {}", row.len(), columns.len());
                bad.add(&input.at("", line), what);
                continue;
            }
            let cell = |text: &str| match text.trim() {
                "" => Cell::Empty,
                text => Cell::Text(text.to_owned()),
            };
            let cells: Vec<Cell> = row.iter().map(cell).collect();
            records.extend(columns.row(input, (line, &cells), bad));
        }
        Ok(records)
    }
}

/// By its byte order mark; without one UTF-8, and what is none Latin-1.
fn decode(bytes: &[u8]) -> String {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ => match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            // The last letter of a part may be cut.
            Err(error) if error.error_len().is_none() => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
            }
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    }
}

/// Without the lines that PowerShell and Excel put in front.
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
    fn text_is_read_in_the_encodings_that_exports_have() {
        let wide: Vec<u8> = "VM;Größe".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(decode(&[&[0xff, 0xfe][..], &wide].concat()), "VM;Größe");
        assert_eq!(decode(b"\xef\xbb\xbfVM"), "VM");
        assert_eq!(decode(b"Gr\xf6\xdfe"), "Größe");
        assert_eq!(delimiter("VM;Used GiB;OS, long"), b';');
        assert_eq!(without_preface("#TYPE Selected\nsep=;\nVM\n"), "VM\n");
    }
}
