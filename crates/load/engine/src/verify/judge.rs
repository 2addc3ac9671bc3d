//! The rules: what a block may hold, and the name of what it must not.

use super::layout::SECTORS;
use super::mismatch::Kind;
use super::sector::{Content, Header, Identity, SECTOR, look};
use super::window::{Window, widen};

/// What is wrong with one block of up to 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// First wrong sector, counted from the start of the disk.
    pub sector: u64,
    /// How many sectors of the block are wrong.
    pub sectors: u32,
    /// What is wrong.
    pub kind: Kind,
    /// What the first wrong sector may hold.
    pub window: Window,
    /// What it says about itself.
    pub header: Option<Header>,
}

/// What is being judged.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Whose sectors these should be.
    pub identity: Identity,
    /// Last version issued on the disk.
    pub sequence: u64,
}

/// One sector's verdict.
enum Sight {
    /// No acknowledged write: anything may be there.
    Unjudged,
    Fine,
    Wrong(Kind, Option<Header>),
}

/// Splits a read of `count` sectors into pieces that do not cross a block: (first, count).
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

/// Judges the sectors of one block. `window` gives what a sector (counted from the start of
/// the disk) may hold.
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

/// Names what is wrong with an intact sector.
#[cold]
fn name(context: Context, sector: u64, header: Header, window: Window) -> Kind {
    if header.identity.generation != context.identity.generation {
        // An earlier verification wrote it, and nothing of ours ever arrived.
        Kind::Lost
    } else if header.identity.disk != context.identity.disk || header.sector != sector {
        Kind::Misplaced
    } else if header.version > widen(window.issued, context.sequence) {
        Kind::Future
    } else {
        Kind::Stale
    }
}
