//! Workbooks as small as Excel takes them, made here so that each cell is known.

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A workbook of sheets, each of rows of raw cells: `n:5` a number, `b:1` a flag, `f:1+1=2` a formula with its stored value,
/// anything else a text.
pub fn workbook(sheets: &[(&str, Vec<Vec<&str>>)]) -> Vec<u8> {
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
        let rows: String = (1..).zip(rows).map(|(row, cells)| line(row, cells)).collect();
        let text = format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>");
        part(&format!("xl/worksheets/sheet{n}.xml"), &text);
    }
    archive.finish().expect("a workbook").into_inner()
}

fn line(row: u32, cells: &[&str]) -> String {
    let cells: String =
        (b'A'..).zip(cells).map(|(column, text)| cell(char::from(column), row, text)).collect();
    format!("<row r=\"{row}\">{cells}</row>")
}

fn cell(column: char, row: u32, text: &str) -> String {
    let at = format!("{column}{row}");
    if let Some(number) = text.strip_prefix("n:") {
        format!("<c r=\"{at}\"><v>{number}</v></c>")
    } else if let Some(flag) = text.strip_prefix("b:") {
        format!("<c r=\"{at}\" t=\"b\"><v>{flag}</v></c>")
    } else if let Some((formula, value)) =
        text.strip_prefix("f:").and_then(|text| text.split_once('='))
    {
        format!("<c r=\"{at}\"><f>{formula}</f><v>{value}</v></c>")
    } else if text.is_empty() {
        String::new()
    } else {
        format!("<c r=\"{at}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
    }
}
