//! Reads a run directory as a trace. The series of a run has histograms, not records, so some views
//! are absent.

use std::path::Path;

use ::analyze::{Filter, Fold, Remark, Subject};
use run_store::run::Phase;
use run_store::rundir::StoredRun;
use run_store::series::{IoRecord, SeriesError, StepKey};
use run_store::slice::Direction;
use trace::{Clock, Losses, TraceInfo};

use super::wanted::{check_names, filter, settings};
use crate::args::AnalyzeArgs;
use crate::exit::Exit;
use crate::failure::Failure;

/// Opens the directory as a run; `None` if it is not a run directory.
pub fn open(path: &Path) -> Option<StoredRun> {
    let path = path.canonicalize().ok()?;
    path.is_dir().then(|| StoredRun::at(&path)).flatten()
}

/// Sums the measured time of the last step's last repeat.
pub fn read(args: &AnalyzeArgs, run: &StoredRun) -> Result<(Fold, Subject, Filter), Failure> {
    let rows = || run.series().map_err(|error| failed(&error));
    let mut last: Option<StepKey> = None;
    let mut info = TraceInfo {
        format: "run",
        clock: Clock::Order,
        started_unix_ns: None,
        has_latency: true,
        vms: Vec::new(),
        devices: Vec::new(),
        losses: Losses::default(),
    };
    for row in rows()? {
        let row = row.map_err(|error| failed(&error))?;
        if row.key.phase == Phase::Measured {
            last = last.max(Some(row.key));
        }
    }
    let Some(last) = last else {
        let message = format!("run {} has no measured step", run.id().as_str());
        return Err(Failure::new(Exit::Failure, message));
    };
    let mut measured = Vec::new();
    for row in rows()? {
        let row = row.map_err(|error| failed(&error))?;
        if row.key == last {
            info.clock = Clock::Real { resolution: row.width };
            if !info.vms.contains(&row.vm) {
                info.vms.push(row.vm.clone());
            }
            measured.push(row);
        }
    }
    info.vms.sort_unstable();
    check_names(args, &info)?;
    let filter = filter(args, &info);
    let fold = fold(args, &info, &filter, measured);
    let name = args.trace.display().to_string();
    Ok((fold, Subject { name, info, remarks: remarks(last) }, filter))
}

fn fold(args: &AnalyzeArgs, info: &TraceInfo, filter: &Filter, mut rows: Vec<IoRecord>) -> Fold {
    rows.sort_by_key(|row| row.start);
    let mut fold = Fold::new(&settings(args, filter));
    for row in &rows {
        let vm = info.vms.iter().position(|name| *name == row.vm);
        let Some(vm) = vm.and_then(|vm| u16::try_from(vm).ok()) else { continue };
        if counts(filter, vm, row) {
            fold.push_row(vm, row);
        }
    }
    fold
}

fn counts(filter: &Filter, vm: u16, row: &IoRecord) -> bool {
    let is_direction = |wanted: Direction| wanted == row.direction;
    filter.vms.as_ref().is_none_or(|vms| vms.contains(&vm))
        && filter.direction.is_none_or(is_direction)
        && filter.from.is_none_or(|from| row.start >= from)
        && filter.to.is_none_or(|to| row.start < to)
}

fn remarks(shown: StepKey) -> Vec<Remark> {
    let why = "the series of a run has a histogram per second, not single I/Os";
    let remark = |what: &str, why: String| Remark { what: what.to_owned(), why };
    vec![
        remark(
            "other steps of the run",
            format!(
                "this is step {} with {} tiles, repeat {}",
                shown.step, shown.tiles, shown.repeat
            ),
        ),
        remark(
            "seek distances, outstanding, times between I/Os, alignment, working sets",
            why.to_owned(),
        ),
        remark("small I/O beside large I/O", why.to_owned()),
    ]
}

fn failed(error: &SeriesError) -> Failure {
    Failure::from_error(Exit::Failure, error).hint(error.hint())
}
