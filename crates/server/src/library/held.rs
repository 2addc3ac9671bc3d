use record::run::{Run, Step};
use record::slice::Direction;

use crate::provider::Held;

/// The step that the answer stands on: the last with the tiles that were held, else the last of
/// all.
pub fn step(run: &Run) -> Option<&Step> {
    let is_held = |step: &&Step| Some(step.tiles) == run.answer.tiles_held;
    run.steps.iter().rev().find(is_held).or(run.steps.last())
}

/// Its figures.
pub fn of(step: &Step) -> Held {
    let p99 = |direction: Direction| {
        step.io.iter().find(|total| total.direction == direction).and_then(|t| t.service.p99_ns)
    };
    Held {
        tiles: step.tiles,
        operations_per_s: step.throughput.operations_per_s,
        calls_per_s: step.calls.iter().map(|calls| calls.calls_per_s).sum(),
        bytes_per_s: step.throughput.bytes_per_s,
        read_p99_ns: p99(Direction::Read),
        write_p99_ns: p99(Direction::Write),
    }
}
