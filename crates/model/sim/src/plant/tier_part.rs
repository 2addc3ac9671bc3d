use cache::tier::HostId;
use hardware::{Component, Job, Outbox, Ticket, Usage};
use run_store::run::CopyCounts;
use state_machine::IoError;
use units::Nanos;

use super::content::Content;
use super::facts::TierFill;
use super::paged::PagedPart;
use super::served::{ServedPart, Sets};

/// Acceleration tier of a plant, either published or served.
#[derive(Debug)]
pub struct TierPart {
    kind: Kind,
    /// Maximum backlog seen by [`TierPart::sample`].
    pub dirty_max: u64,
}

#[derive(Debug)]
enum Kind {
    /// A published tier, by `cache::Tier`.
    Paged(PagedPart),
    /// The tier that `tilemark tier` serves.
    Served(ServedPart),
}

impl From<PagedPart> for TierPart {
    fn from(part: PagedPart) -> Self {
        Self { kind: Kind::Paged(part), dirty_max: 0 }
    }
}

impl From<ServedPart> for TierPart {
    fn from(part: ServedPart) -> Self {
        Self { kind: Kind::Served(part), dirty_max: 0 }
    }
}

/// Content of either kind of tier.
#[derive(Debug, Clone)]
pub enum TierContent {
    Paged(Box<cache::Tier>),
    Served(Box<Sets>),
}

impl TierContent {
    pub fn get(&self) -> &dyn Content {
        match self {
            Self::Paged(tier) => &**tier,
            Self::Served(sets) => &**sets,
        }
    }

    pub fn get_mut(&mut self) -> &mut dyn Content {
        match self {
            Self::Paged(tier) => &mut **tier,
            Self::Served(sets) => &mut **sets,
        }
    }
}

/// Reason why the content is always present outside of warming.
const OUT: &str = "the tier is only absent while tiers are warmed";

impl TierPart {
    /// Returns the content of the tier.
    pub fn content(&self) -> &dyn Content {
        match &self.kind {
            Kind::Paged(part) => part.tier.as_deref().expect(OUT),
            Kind::Served(part) => part.sets.as_deref().expect(OUT),
        }
    }

    /// Takes out the content, to be warmed. No job may arrive until [`TierPart::put`] is called.
    pub fn take(&mut self) -> TierContent {
        match &mut self.kind {
            Kind::Paged(part) => TierContent::Paged(part.tier.take().expect(OUT)),
            Kind::Served(part) => TierContent::Served(part.sets.take().expect(OUT)),
        }
    }

    /// Puts back content of the same kind.
    pub fn put(&mut self, content: TierContent) {
        match (&mut self.kind, content) {
            (Kind::Paged(part), TierContent::Paged(tier)) => part.tier = Some(tier),
            (Kind::Served(part), TierContent::Served(sets)) => part.sets = Some(sets),
            _ => unreachable!("the content returns to the part it came from"),
        }
    }

    /// Copies the content. Nothing may be in progress.
    pub fn copy(&self) -> TierContent {
        match &self.kind {
            Kind::Paged(part) => TierContent::Paged(part.tier.clone().expect(OUT)),
            Kind::Served(part) => TierContent::Served(part.sets.clone().expect(OUT)),
        }
    }

    /// Returns true if the tier is equal to the owner of this content.
    pub fn is_like(&self, content: &TierContent) -> bool {
        match (&self.kind, content) {
            (Kind::Paged(part), TierContent::Paged(other)) => {
                part.tier.as_deref().expect(OUT).config() == other.config()
            }
            (Kind::Served(part), TierContent::Served(other)) => {
                part.sets.as_deref().expect(OUT).is_like(other)
            }
            _ => false,
        }
    }

    /// Returns the published tier, if this part is one.
    pub fn paged_mut(&mut self) -> Option<&mut cache::Tier> {
        match &mut self.kind {
            Kind::Paged(part) => part.tier.as_deref_mut(),
            Kind::Served(_) => None,
        }
    }

    /// Loses a host's share of a published tier, see [`PagedPart::lose`]. Returns the bytes that are
    /// lost.
    pub fn lose(&mut self, host: HostId, out: &mut Outbox) -> u64 {
        match &mut self.kind {
            Kind::Paged(part) => part.lose(host, out),
            Kind::Served(_) => 0,
        }
    }

    fn part(&mut self) -> &mut dyn Component {
        match &mut self.kind {
            Kind::Paged(part) => part,
            Kind::Served(part) => part,
        }
    }

    /// Samples the backlog at the end of a second.
    pub fn sample(&mut self) {
        self.dirty_max = self.dirty_max.max(self.backlog());
    }

    /// Returns the number of bytes that are not yet stored behind the tier: dirty bytes in it, and
    /// bytes on their way, which are no longer dirty.
    fn backlog(&self) -> u64 {
        let under_way = match &self.kind {
            Kind::Paged(part) => part.cleaning(),
            Kind::Served(_) => 0,
        };
        self.content().dirty_bytes() + under_way
    }

    /// Begins measured time.
    pub fn mark(&mut self) {
        self.dirty_max = 0;
        if let Kind::Paged(part) = &mut self.kind {
            part.copies = CopyCounts::default();
        }
    }

    /// Returns the state of the tier in numbers.
    pub fn held(&self) -> TierFill {
        let content = self.content();
        TierFill {
            capacity_bytes: content.capacity_bytes(),
            resident_bytes: content.resident_bytes(),
            dirty_bytes: self.backlog(),
            dirty_bytes_max: self.dirty_max,
            copies: match &self.kind {
                Kind::Paged(part) => part.copies,
                Kind::Served(_) => CopyCounts::default(),
            },
        }
    }
}

impl Component for TierPart {
    fn accept(&mut self, now: Nanos, job: Job, out: &mut Outbox) {
        self.part().accept(now, job, out);
    }

    fn finished(
        &mut self,
        now: Nanos,
        ticket: Ticket,
        result: Result<(), IoError>,
        out: &mut Outbox,
    ) {
        self.part().finished(now, ticket, result, out);
    }

    fn wake(&mut self, now: Nanos, tag: u32, out: &mut Outbox) {
        self.part().wake(now, tag, out);
    }

    fn usage(&self, _now: Nanos) -> Usage {
        Usage::default()
    }
}
