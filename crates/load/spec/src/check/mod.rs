//! Checks the meaning of definitions that can be read.
//!
//! Every check names the place, the value seen and the allowed values. All findings are collected,
//! so that a file can be corrected in one pass.

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

/// Problems of a workload that was made in memory; empty if it is valid.
pub fn workload(workload: &Workload) -> Vec<Problem> {
    workload_findings(workload).into_iter().map(Finding::into_problem).collect()
}

/// Problems of a tile that was made in memory; empty if it is valid.
pub fn tile(tile: &Tile) -> Vec<Problem> {
    tile_findings(tile).into_iter().map(Finding::into_problem).collect()
}

/// Problems of a plan that was made in memory; empty if it is valid.
pub fn plan(plan: &Plan) -> Vec<Problem> {
    plan_findings(plan).into_iter().map(Finding::into_problem).collect()
}

/// Problems of an array that was made in memory; empty if it is valid.
pub fn array(array: &Array) -> Vec<Problem> {
    array_findings(array).into_iter().map(Finding::into_problem).collect()
}

/// Problems of a study that was made in memory; empty if it is valid.
pub fn study(study: &Study) -> Vec<Problem> {
    study_findings(study).into_iter().map(Finding::into_problem).collect()
}
