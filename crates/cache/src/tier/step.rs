use machine::Operation;

/// A VM: its position in the caller's list, so small numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VmId(pub u16);

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
    /// The fast device; offsets lie within the tier's capacity.
    Tier,
    /// The slow store; offsets are those of the accesses.
    Backing,
}

/// Who waits for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// The request is answered only when this is done.
    Request,
    /// Nobody; it still costs both devices their time.
    Background,
}

/// One I/O that an access or a clean-up causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// On which device.
    pub place: Place,
    /// Read, write or flush.
    pub operation: Operation,
    /// First byte on that device.
    pub offset: u64,
    /// First byte on the backing store of the data that is moved; on the backing store the offset.
    pub address: u64,
    /// Bytes.
    pub length: u32,
    /// Who waits.
    pub wait: Wait,
}
