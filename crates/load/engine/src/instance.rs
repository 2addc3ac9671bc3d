use std::sync::Arc;

use datastore::{OwnDir, VirtualDisk};
use run_store::recorder::{InstanceShape, Recorder};
use state_machine::RequestText;
use stats::Histogram;

use crate::client::{Calls, Service};
use crate::content::Content;
use crate::disks::DiskTable;
use crate::telemetry::Telemetry;
use crate::{EngineError, Options};

/// State machine with the disks that it may use and the services that it may call.
#[derive(Debug)]
pub struct EngineInstance<M> {
    /// State machine of the instance.
    pub machine: M,
    /// Shape of the instance for the recorder.
    pub shape: InstanceShape,
    /// Disks, indexed by `state_machine::DiskId`.
    pub disks: Vec<VirtualDisk>,
    /// Services for its calls, indexed by `state_machine::EndpointId`. A service has one `Arc`,
    /// shared by all callers.
    pub services: Vec<Arc<Service>>,
    /// Request texts of its calls, indexed by `state_machine::KindId`. Kinds beyond the last have
    /// no request text.
    pub asks: Vec<Option<RequestText>>,
    /// Set if another load drives the instance until it moves here ([`crate::Orders::put`]).
    pub guest: Option<Guest>,
}

/// Settings of an instance that another load drives at first.
#[derive(Debug, Clone, Default)]
pub struct Guest {
    /// Directory of the verification state of its disks, if it differs from the directory of the
    /// other instances.
    pub state_dir: Option<OwnDir>,
}

impl<M> EngineInstance<M> {
    /// Creates an instance that makes no calls.
    pub const fn new(machine: M, shape: InstanceShape, disks: Vec<VirtualDisk>) -> Self {
        Self { machine, shape, disks, services: Vec::new(), asks: Vec::new(), guest: None }
    }
}

/// Returns the table of the disks of all instances, in order.
pub(crate) fn table_of<M>(instances: &[EngineInstance<M>]) -> DiskTable {
    let mut table = DiskTable::default();
    for disk in instances.iter().flat_map(|instance| &instance.disks) {
        table.add(disk);
    }
    table
}

/// Opens payload and verification for the disks of all instances.
pub(crate) fn open_content<M>(
    options: &Options,
    instances: &[EngineInstance<M>],
) -> Result<Content, EngineError> {
    let disks = instances
        .iter()
        .flat_map(|instance| instance.disks.iter().map(|disk| (disk, instance.guest.is_none())));
    Ok(Content::open(options.verify.as_ref(), disks)?)
}

/// Creates the clients for the calls of all instances; `None` if no instance has endpoints.
pub(crate) fn calls_of<M>(
    options: &Options,
    instances: &[EngineInstance<M>],
) -> Result<Option<Box<Calls>>, EngineError> {
    let callers = instances.iter().map(|instance| (&instance.services[..], &instance.asks[..]));
    let calls = Calls::of(callers, options);
    Ok(calls.map_err(|source| EngineError::Call { source })?.map(Box::new))
}

/// Creates empty telemetry for these instances.
pub(crate) fn telemetry_of<M>(instances: &[EngineInstance<M>]) -> Box<Telemetry> {
    let shapes = instances.iter().map(|instance| instance.shape.clone()).collect();
    Box::new(Telemetry { recorder: Recorder::new(shapes), lateness: Histogram::new() })
}

pub(crate) fn check_shapes<M>(instances: &[EngineInstance<M>]) -> Result<(), EngineError> {
    for (position, instance) in instances.iter().enumerate() {
        let (shape, disks) = (instance.shape.disk_vms.len(), instance.disks.len());
        if shape != disks {
            return Err(EngineError::Shape { instance: position, shape, disks });
        }
    }
    Ok(())
}
