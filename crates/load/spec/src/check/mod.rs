//! Checks the semantics of definitions that were parsed.
//!
//! Every check reports the place, the given value and the allowed values. All findings are
//! collected, so that a file can be corrected in one pass.

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

/// Returns problems of a workload that was built in memory; empty if it is valid.
pub fn workload(workload: &Workload) -> Vec<Problem> {
    workload_findings(workload).into_iter().map(Finding::into_problem).collect()
}

/// Returns problems of a tile that was built in memory; empty if it is valid.
pub fn tile(tile: &Tile) -> Vec<Problem> {
    tile_findings(tile).into_iter().map(Finding::into_problem).collect()
}

/// Returns problems of a plan that was built in memory; empty if it is valid.
pub fn plan(plan: &Plan) -> Vec<Problem> {
    plan_findings(plan).into_iter().map(Finding::into_problem).collect()
}

/// Returns problems of an array that was built in memory; empty if it is valid.
pub fn array(array: &Array) -> Vec<Problem> {
    array_findings(array).into_iter().map(Finding::into_problem).collect()
}

/// Returns problems of a study that was built in memory; empty if it is valid.
pub fn study(study: &Study) -> Vec<Problem> {
    study_findings(study).into_iter().map(Finding::into_problem).collect()
}
