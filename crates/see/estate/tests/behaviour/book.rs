//! Minimal workbooks that Excel accepts, made here so that each cell is known.

use std::collections::HashMap;
use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Place of the cells' texts.
enum Texts {
    /// In the cells.
    Inline,
    /// In a separate list, as Excel stores them, each once.
    Shared(HashMap<String, usize>),
}

/// Makes a workbook of sheets, each of rows of raw cells: `n:5` a number, `b:1` a flag, `f:1+1=2` a
/// formula with its stored value, anything else a text.
pub fn workbook(sheets: &[(&str, Vec<Vec<&str>>)]) -> Vec<u8> {
    made(sheets, Texts::Inline)
}

/// Makes a workbook as Excel saves it: texts in a separate list.
pub fn workbook_with_shared_texts(sheets: &[(&str, Vec<Vec<&str>>)]) -> Vec<u8> {
    made(sheets, Texts::Shared(HashMap::new()))
}

fn made(sheets: &[(&str, Vec<Vec<&str>>)], mut texts: Texts) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let mut part = |name: &str, text: &str| {
        archive.start_file(name, SimpleFileOptions::default()).expect("a part");
        archive.write_all(text.as_bytes()).expect("written");
    };
    let package = "http://schemas.openxmlformats.org/package/2006";
    let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    part("[Content_Types].xml", &format!("<Types xmlns=\"{package}/content-types\"/>"));
    part(
        "_rels/.rels",
        &format!(
            "<Relationships xmlns=\"{package}/relationships\"><Relationship Id=\"r\" \
             Type=\"{office}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
        ),
    );
    let names = (1..).zip(sheets);
    let listed: String = names
        .clone()
        .map(|(n, (name, _))| format!("<sheet name=\"{name}\" sheetId=\"{n}\" r:id=\"s{n}\"/>"))
        .collect();
    part(
        "xl/workbook.xml",
        &format!(
            "<workbook xmlns=\"{main}\" xmlns:r=\"{office}\"><sheets>{listed}</sheets></workbook>"
        ),
    );
    let related: String = names
        .clone()
        .map(|(n, _)| {
            format!("<Relationship Id=\"s{n}\" Type=\"{office}/worksheet\" Target=\"worksheets/sheet{n}.xml\"/>")
        })
        .collect();
    part(
        "xl/_rels/workbook.xml.rels",
        &format!("<Relationships xmlns=\"{package}/relationships\">{related}</Relationships>"),
    );
    for (n, (_, rows)) in names {
        let rows: String =
            (1..).zip(rows).map(|(row, cells)| line(row, cells, &mut texts)).collect();
        let text = format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>");
        part(&format!("xl/worksheets/sheet{n}.xml"), &text);
    }
    if let Texts::Shared(all) = texts {
        let mut all: Vec<(String, usize)> = all.into_iter().collect();
        all.sort_by_key(|(_, at)| *at);
        let items: String = all.iter().map(|(text, _)| format!("<si><t>{text}</t></si>")).collect();
        part("xl/sharedStrings.xml", &format!("<sst xmlns=\"{main}\">{items}</sst>"));
    }
    archive.finish().expect("a workbook").into_inner()
}

fn line(row: u32, cells: &[&str], texts: &mut Texts) -> String {
    let cells: String =
        (0..).zip(cells).map(|(column, text)| cell(column, row, text, texts)).collect();
    format!("<row r=\"{row}\">{cells}</row>")
}

/// Letters of a column: `A`, `Z`, `AA`.
fn letters(column: u32) -> String {
    let letter = |at: u32| char::from(b'A' + u8::try_from(at % 26).expect("below 26"));
    match column / 26 {
        0 => letter(column).to_string(),
        before => letters(before - 1) + &letter(column).to_string(),
    }
}

fn cell(column: u32, row: u32, text: &str, texts: &mut Texts) -> String {
    let at = format!("{}{row}", letters(column));
    if let Some(number) = text.strip_prefix("n:") {
        return format!("<c r=\"{at}\"><v>{number}</v></c>");
    }
    if let Some(flag) = text.strip_prefix("b:") {
        return format!("<c r=\"{at}\" t=\"b\"><v>{flag}</v></c>");
    }
    if let Some((formula, value)) = text.strip_prefix("f:").and_then(|text| text.split_once('=')) {
        return format!("<c r=\"{at}\"><f>{formula}</f><v>{value}</v></c>");
    }
    match texts {
        _ if text.is_empty() => String::new(),
        Texts::Inline => format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>"),
        Texts::Shared(all) => {
            let next = all.len();
            let number = *all.entry(text.to_owned()).or_insert(next);
            format!("<c r=\"{at}\" t=\"s\"><v>{number}</v></c>")
        }
    }
}
