use run_store::run::{Step, StepEvent};

/// Formats the events of hosts in a step, a few lines each; empty without events.
pub(super) fn events(step: &Step) -> Vec<String> {
    step.events.iter().flat_map(StepEvent::told).collect()
}
