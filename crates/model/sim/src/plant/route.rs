use hardware::{Class, Component, Job, Outbox, PartId, Usage};
use units::Nanos;

/// Junction that hands jobs on by address.
#[derive(Debug)]
pub struct ByAddress {
    /// First address of each route, ascending; the first is 0.
    starts: Vec<u64>,
    ways: Vec<Route>,
}

/// Target of the jobs of an address range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub to: PartId,
    /// Offset that is subtracted from the jobs' addresses.
    pub less: u64,
}

impl ByAddress {
    /// Builds a junction from routes with their first addresses, ascending.
    pub fn new(ways: impl IntoIterator<Item = (u64, Route)>) -> Self {
        let (starts, ways) = ways.into_iter().unzip();
        Self { starts, ways }
    }
}

impl Component for ByAddress {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        let place = self.starts.partition_point(|start| *start <= job.offset);
        let way = self.ways[place.saturating_sub(1)];
        // A flush that a tier asks for has address 0, wherever it goes.
        out.hand_on(way.to, Job { offset: job.offset.saturating_sub(way.less), ..job });
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a junction sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}

/// Junction that hands jobs on by virtual disk.
#[derive(Debug)]
pub struct ByStream {
    pub ways: Vec<PartId>,
}

impl Component for ByStream {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        out.hand_on(self.ways[job.stream.0 as usize], job);
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a junction sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}

/// Way from a tier to its own disks through the controller's memory, in which the tier's data have
/// addresses of their own.
///
/// Promotions and clean-up go around memory: with them it would fill with pages that nobody wrote.
#[derive(Debug)]
pub struct ThroughMemory {
    pub memory: PartId,
    /// Address in memory of the tier's first byte.
    pub base: u64,
    /// The tier's disks.
    pub disks: PartId,
}

impl Component for ThroughMemory {
    fn accept(&mut self, _now: Nanos, job: Job, out: &mut Outbox) {
        match job.class {
            Class::CleanUp => out.hand_on(self.disks, job),
            _ => out.hand_on(self.memory, Job { offset: self.base + job.offset, ..job }),
        }
    }

    fn wake(&mut self, _now: Nanos, _tag: u32, _out: &mut Outbox) {
        debug_assert!(false, "a junction sets no alarm");
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
