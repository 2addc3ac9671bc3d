use state_machine::Operation;

/// Identifier of a VM: its index in the caller's list, so a small number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u16);

/// Identifier of a host: its index among the hosts that have a share of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// Request to the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// VM that sends the request.
    pub vm: VmId,
    /// Operation: read, write or flush.
    pub operation: Operation,
    /// Offset of the first byte on the backing store.
    pub offset: u64,
    /// Length in bytes; 0 only for a flush.
    pub length: u32,
}

/// Pages that an access may admit. Hits are served in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Entry {
    /// Pages that pass the admission rule.
    #[default]
    Filtered,
    /// Every page, without counting accesses first, which fills a tier faster.
    Unfiltered,
    /// No page, and the access does not count for admission. Used when the tier has no time to fill
    /// pages.
    Closed,
}

/// Target of a step's I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepDevice {
    /// The fast device of a host; offsets lie within its share.
    Share(HostId),
    /// Slow backing store; offsets are those of the accesses.
    Backing,
}

/// Kind of bytes that a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// Data of the request: the bytes that it writes, or that it is answered with.
    Request,
    /// Data moved inside the tier. A read brings the bytes for later steps of the same list. A
    /// write uses the bytes that an earlier read brought for the same address.
    Moved,
}

/// Dependency of the request on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The request is answered only after this step.
    Request,
    /// The request does not wait for this step, which still takes time on both devices.
    Background,
}

/// I/O caused by an access, a clean-up or a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Device on which the I/O is done.
    pub place: StepDevice,
    /// Host that issues the I/O. A step on another host's share crosses the network.
    pub by: HostId,
    /// Operation: read, write or flush.
    pub operation: Operation,
    /// Offset of the first byte on that device.
    pub offset: u64,
    /// Offset on the backing store of the data that is moved. If the device is the backing store,
    /// it equals `offset`.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
    /// Kind of data that is moved.
    pub data: Data,
    /// Dependency of the request on the I/O.
    pub wait: Wait,
}

impl Step {
    /// Returns true if the I/O crosses the network between hosts.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, StepDevice::Share(host) if host != self.by)
    }

    /// Returns a copy of the step for which the request does not wait.
    pub(super) fn later(self) -> Self {
        Self { wait: Wait::Background, ..self }
    }
}

/// Sink for the steps of an access, with the step into which the next piece may be merged.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub(super) list: &'a mut Vec<Step>,
    open: Option<usize>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(list: &'a mut Vec<Step>) -> Self {
        Self { list, open: None }
    }

    /// Adds a step on the backing store. If it adjoins the access's last such step, both are
    /// merged, so that a request over several missing pages stays one request. Steps are never
    /// merged across a destage: it may concern the same page and must reach the store first.
    pub(super) fn join(&mut self, step: Step) {
        let is_write =
            |step: &Step| (step.place, step.operation) == (StepDevice::Backing, Operation::Write);
        if let Some(at) = self.open
            && self.list[at].offset + u64::from(self.list[at].length) == step.offset
            && !self.list[at + 1..].iter().any(is_write)
        {
            self.list[at].length += step.length;
            return;
        }
        self.open = Some(self.list.len());
        self.list.push(step);
    }
}
