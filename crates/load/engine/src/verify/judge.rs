//! Rules of verification: the content that a block may have, and the kind of each fault.

use super::layout::SECTORS;
use super::mismatch::Kind;
use super::sector::{Content, Header, Identity, SECTOR, look};
use super::window::{Window, widen};

/// Fault of one block of up to 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// First wrong sector, counted from the start of the disk.
    pub sector: u64,
    /// Number of wrong sectors of the block.
    pub sectors: u32,
    /// Kind of fault.
    pub kind: Kind,
    /// Versions that the first wrong sector may hold.
    pub window: Window,
    /// Header of the first wrong sector, if it has one.
    pub header: Option<Header>,
}

/// Facts about the disk that the rules need.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Identity that its sectors should have.
    pub identity: Identity,
    /// Last version issued on the disk.
    pub sequence: u64,
}

/// Verdict on one sector.
enum Sight {
    /// No write of the sector was acknowledged, so any content is accepted.
    Unjudged,
    Fine,
    Wrong(Kind, Option<Header>),
}

/// Splits a read of `count` sectors into pieces that do not cross block borders: (first, count).
pub fn blocks(first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = first + count;
    let mut at = first;
    std::iter::from_fn(move || {
        let next = end.min((at / SECTORS + 1) * SECTORS);
        let piece = (at < end).then_some((at, next.saturating_sub(at)));
        at = next;
        piece
    })
}

/// Judges the sectors of one block. `window` returns the versions that a sector may hold. Sectors
/// are counted from the start of the disk.
#[inline]
pub fn judge(
    context: Context,
    first: u64,
    bytes: &[u8],
    window: impl Fn(u64) -> Window,
) -> Option<Fault> {
    let sights = || {
        (first..).zip(bytes.chunks_exact(SECTOR)).map(|(sector, bytes)| {
            let window = window(sector);
            (sector, window, see(context, sector, bytes, window))
        })
    };
    let (sector, window, kind, header) =
        sights().find_map(|(sector, window, sight)| match sight {
            Sight::Wrong(kind, header) => Some((sector, window, kind, header)),
            Sight::Unjudged | Sight::Fine => None,
        })?;
    let part_arrived = sights().any(|(_, other, sight)| {
        other.acknowledged == window.acknowledged && matches!(sight, Sight::Fine)
    });
    let sectors = sights().filter(|(_, _, sight)| matches!(sight, Sight::Wrong(..))).count();
    let kind = match kind {
        Kind::Lost | Kind::Stale if part_arrived => Kind::Torn,
        other => other,
    };
    Some(Fault {
        sector,
        sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
        kind,
        window,
        header,
    })
}

#[inline]
fn see(context: Context, sector: u64, bytes: &[u8], window: Window) -> Sight {
    if window.acknowledged == 0 {
        return Sight::Unjudged;
    }
    match look(bytes, context.identity) {
        Content::Sealed(header)
            if header.identity == context.identity
                && header.sector == sector
                && window.admits(header.version) =>
        {
            Sight::Fine
        }
        Content::Sealed(header) => {
            Sight::Wrong(name(context, sector, header, window), Some(header))
        }
        Content::Damaged(header) => Sight::Wrong(Kind::Corrupt, Some(header)),
        Content::Zero | Content::Foreign => Sight::Wrong(Kind::Lost, None),
    }
}

/// Returns the kind of fault of an intact sector.
#[cold]
fn name(context: Context, sector: u64, header: Header, window: Window) -> Kind {
    if header.identity.generation != context.identity.generation {
        // An earlier verification wrote it, and no write of this one ever arrived.
        Kind::Lost
    } else if header.identity.disk != context.identity.disk || header.sector != sector {
        Kind::Misplaced
    } else if header.version > widen(window.issued, context.sequence) {
        Kind::Future
    } else {
        Kind::Stale
    }
}
