//! `calibrate`: measures a disk, fits a model and stores it as an array.

use std::sync::Arc;

use bench::BenchError;
use bench::progress::Control;
use calibrate::{CalibrateError, CalibrateOptions, calibrate};

use crate::args::{CalibrateArgs, Format};
use crate::commands::run;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::target;
use crate::{output, plan_source, signals, text};

/// Measures, fits, and prints the error of the model.
pub fn run(args: &CalibrateArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let found = calibrate(&options, &control, &mut |line| crate::say!("{line}"));
    match found {
        Err(CalibrateError::Bench(BenchError::Interrupted | BenchError::Aborted)) => {
            crate::say!("interrupted; the calibration's files are removed, and no array was saved");
            Ok(signals.exit())
        }
        Err(error) => Err(failure(error)),
        Ok(found) => {
            match args.format {
                Format::Text => output::show(&text::calibration(&found))?,
                Format::Json => output::print_json(&found)?,
            }
            Ok(match found.calibrated.is_too_far_off() {
                true => Exit::Inconclusive,
                false => Exit::Success,
            })
        }
    }
}

fn failure(error: CalibrateError) -> Failure {
    let exit = match error {
        CalibrateError::Bench(error) => return error.into(),
        CalibrateError::ArrayName { .. } => Exit::Usage,
        CalibrateError::ArrayExists { .. } | CalibrateError::PageCache { .. } => Exit::Refused,
        _ => Exit::Failure,
    };
    Failure::from_error(exit, &error).hint(error.hint())
}

fn options(args: &CalibrateArgs) -> Result<CalibrateOptions, Failure> {
    Ok(CalibrateOptions {
        target: target::parse(&args.target)?,
        name: args.name.clone(),
        out: args.out.clone(),
        quick: args.quick,
        read_only: args.read_only,
        space: args.space,
        point: args.point,
        tries: args.tries,
        seed: args.seed.unwrap_or_else(|| plan_source::entropy() >> 1),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        destroy_data: args.destroy_data.clone(),
        overwrite_file: args.overwrite_file,
        allow_root_fs: args.allow_root_fs,
        buffered: args.buffered,
        tool: run::tool(),
        command: command(),
    })
}

/// Returns the command line as typed; it is stored as the array's source.
fn command() -> String {
    let words = std::env::args().skip(1);
    std::iter::once("tilemark".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}
