//! `export`: writes a run in another format.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use std::path::Path;

use run_store::export::{self, ExportError, Format};
use run_store::run::Run;
use run_store::rundir::StoredRun;
use view::pipeline;

use crate::args::{ExportArgs, ExportFormat};
use crate::commands::runs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Writes a run to stdout or to a new file.
pub fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let stored = runs::open(args.out.as_deref(), &args.run)?;
    let format = match args.format {
        ExportFormat::Json => Format::Json,
        ExportFormat::Csv => Format::Csv,
        ExportFormat::CallsCsv => Format::CallsCsv,
        ExportFormat::GaugesCsv => Format::GaugesCsv,
        ExportFormat::Parquet => Format::Parquet,
        ExportFormat::Hlog => Format::Hlog,
        ExportFormat::Openmetrics => Format::OpenMetrics,
        ExportFormat::Junit => return told(args, &pipeline::junit(document(&stored)?)),
        ExportFormat::Markdown => return told(args, &pipeline::markdown(document(&stored)?)),
        ExportFormat::BenchJson => {
            return told(args, &json(&pipeline::bench_json(document(&stored)?)));
        }
        ExportFormat::BenchJsonTimes => {
            return told(args, &json(&pipeline::bench_json_times(document(&stored)?)));
        }
    };
    if format == Format::Json {
        // The stored document is copied unchanged, so it must be valid.
        stored.run().map_err(runs::failure)?;
    }
    let result = match &args.to {
        None => export::export(&stored, format, &mut std::io::stdout().lock()),
        Some(path) => {
            let file = created(path)?;
            // An incomplete export is worse than none. The file did not exist before, so it may be
            // removed.
            export::export(&stored, format, &mut BufWriter::new(file)).inspect_err(|_| {
                let _ = std::fs::remove_file(path);
            })
        }
    };
    match result {
        Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => {
            Ok(Exit::Success)
        }
        Err(error) => Err(Failure::from_error(Exit::Failure, &error)),
        Ok(()) => Ok(Exit::Success),
    }
}

fn document(stored: &StoredRun) -> Result<&Run, Failure> {
    stored.run().map_err(runs::failure)
}

fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// Writes a text of `view` to stdout or to a new file.
fn told(args: &ExportArgs, text: &str) -> Result<Exit, Failure> {
    match &args.to {
        None => output::print(text)?,
        Some(path) => {
            let failed = |error| format!("writing {}: {error}", path.display());
            let mut file = created(path)?;
            file.write_all(text.as_bytes())
                .map_err(|error| Failure::new(Exit::Failure, failed(error)))?;
        }
    }
    Ok(Exit::Success)
}

fn created(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|error| {
        let message = format!("creating {}: {error}", path.display());
        let hint =
            (error.kind() == ErrorKind::AlreadyExists).then_some("name a file that does not exist");
        Failure::new(Exit::Failure, message).hint(hint)
    })
}
