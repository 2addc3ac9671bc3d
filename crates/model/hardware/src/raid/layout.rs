use units::Bytes;

use crate::error::{Check, ParameterError};

/// Level of a RAID set: how it distributes and protects its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RaidLevel {
    /// Striped, without protection; at least 1 member.
    Raid0,
    /// Every member has all data; at least 2.
    Raid1,
    /// Striped over pairs of mirrors; an even number, at least 4.
    Raid10,
    /// Striped, with one parity element per stripe, rotating; at least 3.
    Raid5,
    /// Striped, with two parity elements per stripe, rotating; at least 4.
    Raid6,
}

/// Level and element size of a RAID set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RaidParameters {
    /// RAID level of the set.
    pub level: RaidLevel,
    /// Size of contiguous bytes on one member; a multiple of 512 above zero. The modelled arrays
    /// use 64 KiB.
    pub element: Bytes,
}

impl RaidParameters {
    /// Returns parameters with elements of 64 KiB.
    pub const fn new(level: RaidLevel) -> Self {
        Self { level, element: Bytes::new(64 << 10) }
    }
}

/// A span of one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub member: u32,
    pub offset: u64,
    pub length: u32,
}

/// Mapping of the set's bytes to its members.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub level: RaidLevel,
    pub members: u32,
    element: u64,
}

impl Layout {
    pub fn new(parameters: RaidParameters, members: u32) -> Result<Self, ParameterError> {
        let check = Check("raid");
        let (fits, allowed) = match parameters.level {
            RaidLevel::Raid0 => (members >= 1, "at least 1"),
            RaidLevel::Raid1 => (members >= 2, "at least 2"),
            RaidLevel::Raid10 => (members >= 4 && members.is_multiple_of(2), "even, at least 4"),
            RaidLevel::Raid5 => (members >= 3, "at least 3"),
            RaidLevel::Raid6 => (members >= 4, "at least 4"),
        };
        check.that(fits, "members", members, allowed)?;
        let element = parameters.element.get();
        let is_element = (512..=1 << 30).contains(&element) && element.is_multiple_of(512);
        check.that(is_element, "element", parameters.element, "a multiple of 512 B up to 1 GiB")?;
        Ok(Self { level: parameters.level, members, element })
    }

    /// Returns the number of parity elements of a stripe.
    pub fn parities(&self) -> u32 {
        match self.level {
            RaidLevel::Raid5 => 1,
            RaidLevel::Raid6 => 2,
            _ => 0,
        }
    }

    /// Returns the number of data elements of a stripe.
    pub fn data(&self) -> u32 {
        match self.level {
            RaidLevel::Raid0 => self.members,
            RaidLevel::Raid1 => 1,
            RaidLevel::Raid10 => self.members / 2,
            RaidLevel::Raid5 | RaidLevel::Raid6 => self.members - self.parities(),
        }
    }

    /// Cuts a span into pieces that lie in one element each, and calls `piece` with stripe, data
    /// element, offset in the element and length.
    pub fn cut(&self, offset: u64, length: u32, mut piece: impl FnMut(u64, u32, u64, u32)) {
        let (mut at, end) = (offset, offset + u64::from(length));
        let data = u64::from(self.data());
        while at < end {
            let (number, within) = (at / self.element, at % self.element);
            let size = (self.element - within).min(end - at);
            let column = u32::try_from(number % data).expect("fewer columns than members");
            let size_u32 = u32::try_from(size).expect("an element is at most 1 GiB");
            piece(number / data, column, within, size_u32);
            at += size;
        }
    }

    /// Returns the member that has a data element (the first of a mirror pair). Parity moves one
    /// member to the left with each stripe, and data starts behind it, so that consecutive data
    /// elements lie on consecutive members (left-symmetric, as Linux' md lays out by default).
    pub fn member(&self, stripe: u64, column: u32) -> u32 {
        match self.level {
            RaidLevel::Raid0 => column,
            RaidLevel::Raid1 => 0,
            RaidLevel::Raid10 => column * 2,
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                (self.parity(stripe, 0) + self.parities() + column) % self.members
            }
        }
    }

    /// Returns the member that has a parity element of a stripe.
    pub fn parity(&self, stripe: u64, number: u32) -> u32 {
        let step = u32::try_from(stripe % u64::from(self.members)).expect("below the members");
        (self.members - 1 - step + number) % self.members
    }

    pub fn extent(&self, stripe: u64, member: u32, (within, length): (u64, u32)) -> Extent {
        Extent { member, offset: stripe * self.element + within, length }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn data_and_parity_of_a_stripe_lie_on_members_of_their_own() {
        for (level, members) in [(RaidLevel::Raid5, 5), (RaidLevel::Raid6, 6)] {
            let layout = Layout::new(RaidParameters::new(level), members).expect("enough");
            for stripe in 0..20 {
                let data = (0..layout.data()).map(|column| layout.member(stripe, column));
                let parity = (0..layout.parities()).map(|number| layout.parity(stripe, number));
                let used: BTreeSet<u32> = data.chain(parity).collect();
                assert_eq!(used.len(), members as usize, "stripe {stripe}");
            }
        }
    }

    #[test]
    fn parity_visits_every_member_equally() {
        let layout = Layout::new(RaidParameters::new(RaidLevel::Raid5), 5).expect("enough");
        let order: Vec<u32> = (0..6).map(|stripe| layout.parity(stripe, 0)).collect();
        assert_eq!(order, [4, 3, 2, 1, 0, 4]);
    }

    #[test]
    fn a_span_is_cut_at_elements_without_gaps() {
        let layout = Layout::new(RaidParameters::new(RaidLevel::Raid0), 3).expect("enough");
        let mut pieces = Vec::new();
        layout.cut(60 << 10, 140 << 10, |stripe, column, within, length| {
            pieces.push((stripe, column, within >> 10, length >> 10));
        });
        assert_eq!(pieces, [(0, 0, 60, 4), (0, 1, 0, 64), (0, 2, 0, 64), (1, 0, 0, 8)]);
    }

    #[test]
    fn too_few_members_are_refused() {
        for (level, members) in
            [(RaidLevel::Raid5, 2), (RaidLevel::Raid10, 5), (RaidLevel::Raid6, 3)]
        {
            assert!(Layout::new(RaidParameters::new(level), members).is_err());
        }
    }
}
