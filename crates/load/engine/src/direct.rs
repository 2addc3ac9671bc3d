//! Runs one worker on the calling thread, without clients for calls.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use run_store::slice::Slice;
use state_machine::Machine;
use units::Nanos;

use crate::backend::Backend;
use crate::instance::{check_shapes, open_content};
use crate::telemetry::Here;
use crate::worker::{Job, Worker};
use crate::{EngineError, EngineInstance, Options, Outcome};

pub(crate) fn run<M: Machine, B: Backend>(
    instances: Vec<EngineInstance<M>>,
    options: &Options,
    backend: B,
    name: &'static str,
    until: Nanos,
) -> Result<(Vec<Slice>, Outcome), EngineError> {
    options.check()?;
    check_shapes(&instances)?;
    let content = open_content(options, &instances)?;
    let job = Job {
        instances,
        calls: None,
        options: options.clone(),
        lost: Arc::default(),
        orders: None,
        stop: Arc::new(AtomicBool::new(false)),
        until,
        seed: 0,
    };
    let (outcome, here) = Worker::new(job, content, backend, name, Here::default()).run()?;
    Ok((here.slices, outcome))
}
