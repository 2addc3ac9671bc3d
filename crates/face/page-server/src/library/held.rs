use run_store::run::{HostStep, Run, Step};
use run_store::slice::Direction;

use view::document::HostRate;

use crate::provider::StepFigures;

/// Selects the step behind the answer: the last step with the answer's number of tiles, otherwise
/// the last of all.
pub fn step(run: &Run) -> Option<&Step> {
    let is_held = |step: &&Step| Some(step.tiles) == run.answer.tiles_held;
    run.steps.iter().rev().find(is_held).or(run.steps.last())
}

/// Returns the metrics of the step.
pub fn of(run: &Run, step: &Step) -> StepFigures {
    // Older runs did not store the tile's endpoints, so ended calls decide.
    let is_calling = !run.tile.endpoints.is_empty() || !step.calls.is_empty();
    let p99 = |direction: Direction| {
        step.io.iter().find(|total| total.direction == direction).and_then(|t| t.service.p99_ns)
    };
    StepFigures {
        tiles: step.tiles,
        operations_per_s: step.throughput.operations_per_s,
        calls_per_s: is_calling.then(|| step.calls.iter().map(|calls| calls.calls_per_s).sum()),
        bytes_per_s: step.throughput.bytes_per_s,
        hosts: step.hosts.iter().map(of_host).collect(),
        read_p99_ns: p99(Direction::Read),
        write_p99_ns: p99(Direction::Write),
    }
}

fn of_host(of: &HostStep) -> HostRate {
    let HostStep { host, operations_per_s, bytes_per_s, .. } = of;
    HostRate { host: host.clone(), operations_per_s: *operations_per_s, bytes_per_s: *bytes_per_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_that_calls_has_a_rate_of_calls_also_where_none_ended() {
        let golden = include_str!("../../../../base/run-store/tests/golden/run-1.0.json");
        let mut run = run_store::run::parse(golden).expect("a run");
        let rate = |run: &Run| of(run, step(run).expect("a step")).calls_per_s;
        run.steps.iter_mut().for_each(|step| step.calls.clear());
        assert_eq!(rate(&run), None, "its tile calls nothing");
        run.tile.endpoints = vec!["page".to_owned()];
        assert_eq!(rate(&run), Some(0.0));
    }
}
