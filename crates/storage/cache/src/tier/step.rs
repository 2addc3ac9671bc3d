use state_machine::Operation;

/// A VM: its position in the caller's list, so small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u16);

/// A host: its position among those that have a share of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u16);

/// One request to the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Who asks.
    pub vm: VmId,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on the backing store.
    pub offset: u64,
    /// Bytes; not zero unless it is a flush.
    pub length: u32,
}

/// What may come in with an access. Hits are served either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Entry {
    /// What admission lets in.
    #[default]
    Filtered,
    /// What admission would have to count first, too: a tier is filled faster that way.
    Unfiltered,
    /// Nothing, and nothing is counted for admission: the tier has no time for it.
    Closed,
}

/// Where a step happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The fast device of a host; offsets lie within its share.
    Share(HostId),
    /// The slow store; offsets are those of the accesses.
    Backing,
}

/// Which bytes a step moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Data {
    /// The request's own: what it writes, or what it is answered with.
    Request,
    /// A read brings them for later steps of the same list; a write takes what a read before it
    /// brought for the same address.
    Moved,
}

/// Who waits for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The request is answered only when this is done.
    Request,
    /// Nobody; it still costs both devices their time.
    Background,
}

/// One I/O that an access, a clean-up or a failure causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// On which device.
    pub place: Place,
    /// The host that asks for it: a step on another host's share crosses the network.
    pub by: HostId,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on that device.
    pub offset: u64,
    /// First byte on the backing store of the data that is moved; on the backing store the offset.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// Whose bytes.
    pub data: Data,
    /// Who waits.
    pub wait: Wait,
}

impl Step {
    /// Whether it crosses the network between hosts.
    pub fn is_remote(&self) -> bool {
        matches!(self.place, Place::Share(host) if host != self.by)
    }

    /// The same step in the background.
    pub(super) fn later(self) -> Self {
        Self { wait: Wait::Background, ..self }
    }
}

/// Where the steps of an access go, and which of them the next piece may join.
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
            |step: &Step| (step.place, step.operation) == (Place::Backing, Operation::Write);
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
