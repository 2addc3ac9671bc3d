//! Views of actions and of calls to endpoints over time. Here they are not split by direction, size
//! or tile.

use super::series::{What, drawn};
use crate::document::Series;
use crate::request::{Breakdown, Lens};
use crate::scope::{Ended, Scope};
use crate::source::Source;

/// Workload of a line, and name of the action or call.
type Name<'a> = (&'a str, &'a str);

/// Span, bucket, position of the name, and completed actions or calls of a row.
type Row<'a> = (u32, u32, u32, Ended<'a>);

/// Makes view `actions`: actions over time, with the response times to which limits apply.
pub(crate) fn actions(source: &Source, lens: &Lens) -> Series {
    let rollup = source.rollup();
    let names = rollup.action_names().iter();
    let names: Vec<Name<'_>> = names.map(|of| (of.workload.as_str(), of.action.as_str())).collect();
    let rows = rollup.actions().iter();
    let rows = rows.map(|row| (row.span, row.bucket, row.action, Ended::from(row)));
    lines(What::Actions, source, lens, &names, rows)
}

/// Makes view `calls`: calls of each kind over time.
pub(crate) fn calls(source: &Source, lens: &Lens) -> Series {
    let rollup = source.rollup();
    let names = rollup.call_names().iter();
    let names: Vec<Name<'_>> = names.map(|of| (of.workload.as_str(), of.kind.as_str())).collect();
    let rows = rollup.calls().iter();
    let rows = rows.map(|row| (row.span, row.bucket, row.call, Ended::from(row)));
    lines(What::Calls, source, lens, &names, rows)
}

/// Makes the lines of the names in the lens that have completed actions or calls.
fn lines<'a>(
    what: What,
    source: &Source,
    lens: &Lens,
    names: &[Name<'_>],
    rows: impl Iterator<Item = Row<'a>>,
) -> Series {
    let lens = Lens { tiles: Vec::new(), breakdown: Breakdown::None, ..lens.clone() };
    let scope = Scope::course(source, &lens);
    let points = scope.frame.points(lens.points as usize);
    let is_wanted = |workload: &str| {
        lens.workloads.is_empty() || lens.workloads.iter().any(|own| own == workload)
    };
    let (mut keys, mut line_of) = (Vec::new(), Vec::new());
    for (workload, name) in names {
        line_of.push(is_wanted(workload).then_some(keys.len()));
        if is_wanted(workload) {
            keys.push((format!("{workload}/{name}"), format!("{name} of {workload}")));
        }
    }
    let rows = rows.filter_map(|(span, bucket, name, ended)| {
        Some((scope.frame.flat(span, bucket)?, line_of[name as usize], ended))
    });
    let known = || keys.iter().map(|_| None).collect();
    drawn(what, &scope, &points, (&keys, known), rows)
}
