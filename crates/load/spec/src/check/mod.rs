//! Mistakes of meaning: definitions that can be read and make no sense.
//!
//! Every check names the place, the value seen and the value allowed. All findings are
//! collected, so that one pass over a file mends it.

mod access;
mod array;
mod finding;
mod limits;
mod plan;
mod replay;
mod study;
mod tile;
mod workload;

pub(crate) use access::size_mix;
pub(crate) use array::array_findings;
pub(crate) use finding::{Finding, Findings};
pub(crate) use plan::plan_findings;
pub(crate) use study::study_findings;
pub(crate) use tile::tile_findings;
pub(crate) use workload::{Timed, timed, workload_findings};

use crate::array::Array;
use crate::error::Problem;
use crate::plan::Plan;
use crate::study::Study;
use crate::tile::Tile;
use crate::workload::Workload;

/// What is wrong with a workload that was made in memory; empty if nothing is.
pub fn workload(workload: &Workload) -> Vec<Problem> {
    workload_findings(workload).into_iter().map(Finding::into_problem).collect()
}

/// What is wrong with a tile that was made in memory; empty if nothing is.
pub fn tile(tile: &Tile) -> Vec<Problem> {
    tile_findings(tile).into_iter().map(Finding::into_problem).collect()
}

/// What is wrong with a plan that was made in memory; empty if nothing is.
pub fn plan(plan: &Plan) -> Vec<Problem> {
    plan_findings(plan).into_iter().map(Finding::into_problem).collect()
}

/// What is wrong with an array that was made in memory; empty if nothing is.
pub fn array(array: &Array) -> Vec<Problem> {
    array_findings(array).into_iter().map(Finding::into_problem).collect()
}

/// What is wrong with a study that was made in memory; empty if nothing is.
pub fn study(study: &Study) -> Vec<Problem> {
    study_findings(study).into_iter().map(Finding::into_problem).collect()
}
