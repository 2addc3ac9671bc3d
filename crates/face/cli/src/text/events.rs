use run_store::run::{Step, StepEvent};

/// What happened to hosts in a step, a few lines each; nothing where nothing did.
pub(super) fn events(step: &Step) -> Vec<String> {
    step.events.iter().flat_map(StepEvent::told).collect()
}
