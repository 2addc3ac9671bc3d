use std::fs;
use std::io::BufWriter;
use std::path::Path;

use ::analyze::{Analysis, Table, TableError};

use crate::args::AnalyzeFormat;
use crate::exit::Exit;
use crate::failure::Failure;

/// Writes a file for each list that has rows.
pub fn tables(answer: &Analysis, format: AnalyzeFormat, out: &Path) -> Result<(), Failure> {
    fs::create_dir_all(out).map_err(|error| failed(out, &error.into()))?;
    for table in answer.tables() {
        let end = if format == AnalyzeFormat::Csv { "csv" } else { "parquet" };
        let path = out.join(format!("{}.{end}", table.name));
        write(&table, format, &path).map_err(|error| failed(&path, &error))?;
        crate::say!("{}", path.display());
    }
    Ok(())
}

fn write(table: &Table, format: AnalyzeFormat, path: &Path) -> Result<(), TableError> {
    let mut to = BufWriter::new(untrusted::create(path)?);
    match format {
        AnalyzeFormat::Csv => {
            table.write_csv(&mut to)?;
            Ok(std::io::Write::flush(&mut to)?)
        }
        _ => table.write_parquet(to),
    }
}

fn failed(path: &Path, error: &TableError) -> Failure {
    Failure::new(Exit::Failure, format!("{}: {error}", path.display()))
}
