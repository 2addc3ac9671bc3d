use state_machine::Operation;

/// A VM: its position in the caller's list, so small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u16);

/// A host: its position among those that have a share of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// Request to the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// VM that asks.
    pub vm: VmId,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on the backing store.
    pub offset: u64,
    /// Bytes; not zero unless it is a flush.
    pub length: u32,
}

/// Pages that may come in with an access. Hits are served either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Entry {
    /// Pages that the admission lets in.
    #[default]
    Filtered,
    /// Every page, without counting first: this fills a tier faster.
    Unfiltered,
    /// Nothing, and nothing is counted for admission: the tier has no time for it.
    Closed,
}

/// Device of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepDevice {
    /// The fast device of a host; offsets lie within its share.
    Share(HostId),
    /// The slow store; offsets are those of the accesses.
    Backing,
}

/// Kind of bytes that a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// The request's own: what it writes, or what it is answered with.
    Request,
    /// A read brings them for later steps of the same list; a write takes what a read before it
    /// brought for the same address.
    Moved,
}

/// Waiter for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The request is answered only when this is done.
    Request,
    /// Nobody; it still costs both devices their time.
    Background,
}

/// I/O caused by an access, a clean-up or a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Device of the I/O.
    pub place: StepDevice,
    /// The host that asks for it: a step on another host's share crosses the network.
    pub by: HostId,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on that device.
    pub offset: u64,
    /// First byte on the backing store of the data that is moved; on the backing store the offset.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
    /// Kind of bytes.
    pub data: Data,
    /// Waiter for the I/O.
    pub wait: Wait,
}

impl Step {
    /// Returns true if the I/O crosses the network between hosts.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, StepDevice::Share(host) if host != self.by)
    }

    /// Copy of the step that nobody waits for.
    pub(super) fn later(self) -> Self {
        Self { wait: Wait::Background, ..self }
    }
}

/// Sink for the steps of an access, with the step that the next piece may join.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    pub(super) list: &'a mut Vec<Step>,
    open: Option<usize>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(list: &'a mut Vec<Step>) -> Self {
        Self { list, open: None }
    }

    /// Adds a piece that the backing store answers to the access's last such piece if they
    /// adjoin, so that a request over several missing pages stays one request. Never across a
    /// destage, which may be of the very page and must reach the store first.
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
