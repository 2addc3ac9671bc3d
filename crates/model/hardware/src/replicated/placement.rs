use units::Bytes;

use crate::error::{Check, ParameterError};

/// Parameters of hosts that share their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicatedParameters {
    /// Number of copies of all data, on different hosts; 1 to the number of hosts. It is the number
    /// of "failures to tolerate", plus one.
    pub copies: u32,
    /// Size of contiguous bytes on the same hosts; a multiple of `read_unit`. Hyper-converged
    /// systems of the modelled kind place whole objects of up to 255 GB, so that one busy object
    /// loads only its own hosts. A smaller stripe distributes load more evenly than these systems
    /// do.
    pub stripe: Bytes,
    /// Size of the unit whose reads all go to the same copy, so that only this copy's host caches
    /// it; a multiple of 512 B. In the modelled systems it is 1 MiB, the line of the read cache.
    pub read_unit: Bytes,
}

impl ReplicatedParameters {
    /// Returns parameters with stripes of 1 GiB, our choice, and read units of 1 MiB.
    pub const fn new(copies: u32) -> Self {
        Self { copies, stripe: Bytes::GIB, read_unit: Bytes::MIB }
    }

    /// Returns how many bytes of data fit on so many hosts if each host's storage has this size.
    ///
    /// # Errors
    ///
    /// When a parameter is outside its range.
    pub fn capacity(&self, hosts: u32, of_host: Bytes) -> Result<Bytes, ParameterError> {
        Placement::new(self, hosts).map(|placement| placement.capacity(of_host))
    }
}

/// Mapping of bytes to the hosts that store them, and to addresses there.
///
/// Stripes go to the hosts in turn. Copies of a stripe lie on hosts at a distance from the first
/// that increases by one with every round over the hosts. So after `hosts * (hosts - 1)` stripes
/// every pair of hosts shares equally many stripes: when one host is busy, the load of its stripes'
/// copies is distributed over all others.
#[derive(Debug)]
pub struct Placement {
    hosts: u64,
    copies: u64,
    stripe: u64,
    read_unit: u64,
    /// Host of every copy of the stripes of one period, and the copy's position among the host's
    /// stripes.
    table: Vec<(u32, u32)>,
    /// Number of stripes in a period; `held` is the number of copies on each host in a period.
    period: u64,
    held: u64,
}

/// Part of a request that lies on one stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    stripe: u64,
    within: u64,
    pub length: u32,
}

/// A copy of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyPlace {
    pub host: u32,
    /// First byte of the copy in the host's own address space.
    pub offset: u64,
}

impl Placement {
    pub fn new(parameters: &ReplicatedParameters, hosts: u32) -> Result<Self, ParameterError> {
        let check = Check("replicated hosts");
        let ReplicatedParameters { copies, stripe, read_unit } = *parameters;
        check.that((1..=1024).contains(&hosts), "hosts", hosts, "at least 1 and at most 1024")?;
        let is_copies = (1..=hosts).contains(&copies);
        check.that(is_copies, "copies", copies, "at least 1 and at most the number of hosts")?;
        let unit = read_unit.get();
        let is_unit = unit >= 512 && unit.is_multiple_of(512);
        check.that(is_unit, "read_unit", read_unit, "a multiple of 512 B above 0 B")?;
        let is_stripe = stripe.get() > 0 && stripe.get().is_multiple_of(unit);
        check.that(is_stripe, "stripe", stripe, "a multiple of read_unit above 0 B")?;
        let (hosts, copies) = (u64::from(hosts), u64::from(copies));
        let rounds = hosts.saturating_sub(1).max(1);
        let (period, held) = (hosts * rounds, copies * rounds);
        let mut next = vec![0_u32; usize::try_from(hosts).expect("1024 at most")];
        let mut table = Vec::new();
        for stripe in 0..period {
            for copy in 0..copies {
                let distance = match copy {
                    0 => 0,
                    further => 1 + (stripe / hosts + further - 1) % rounds,
                };
                let host = (stripe + distance) % hosts;
                let at = usize::try_from(host).expect("1024 at most");
                table.push((u32::try_from(host).expect("1024 at most"), next[at]));
                next[at] += 1;
            }
        }
        let (stripe, read_unit) = (stripe.get(), unit);
        Ok(Self { hosts, copies, stripe, read_unit, table, period, held })
    }

    pub const fn copies(&self) -> u64 {
        self.copies
    }

    /// Returns how many bytes of data fit if each host has this size.
    pub fn capacity(&self, of_host: Bytes) -> Bytes {
        let stripes = of_host.get() / self.stripe * self.hosts / self.copies;
        // The last period may be incomplete, and then not even.
        Bytes::new(stripes / self.period * self.period * self.stripe)
    }

    /// Returns the first piece of a write: up to the end of a stripe.
    pub fn written(&self, offset: u64, length: u64) -> Piece {
        self.piece(offset, length, self.stripe)
    }

    /// Returns the first piece of a read: up to the end of a read unit.
    pub fn read(&self, offset: u64, length: u64) -> Piece {
        self.piece(offset, length, self.read_unit)
    }

    fn piece(&self, offset: u64, length: u64, unit: u64) -> Piece {
        let length = length.min(unit - offset % unit);
        let length = u32::try_from(length).expect("as much as the request at most");
        Piece { stripe: offset / self.stripe, within: offset % self.stripe, length }
    }

    /// Returns a copy of a piece, counted from 0.
    pub fn copy(&self, piece: &Piece, copy: u64) -> CopyPlace {
        let entry = (piece.stripe % self.period) * self.copies + copy;
        let (host, position) = self.table[usize::try_from(entry).expect("within the table")];
        let stripe = piece.stripe / self.period * self.held + u64::from(position);
        CopyPlace { host, offset: stripe * self.stripe + piece.within }
    }

    /// Returns the copy that is read, which is always the same for an address.
    pub fn read_copy(&self, piece: &Piece) -> CopyPlace {
        let unit = (piece.stripe * self.stripe + piece.within) / self.read_unit;
        self.copy(piece, state_machine::mix(unit) % self.copies)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn placement(hosts: u32, copies: u32) -> Placement {
        let (stripe, read_unit) = (Bytes::new(4096), Bytes::new(1024));
        Placement::new(&ReplicatedParameters { copies, stripe, read_unit }, hosts).expect("fits")
    }

    #[test]
    fn copies_share_no_host_or_place_and_hosts_hold_equal_parts() {
        for (hosts, copies) in [(1, 1), (2, 1), (2, 2), (4, 2), (5, 3), (8, 8)] {
            let placement = placement(hosts, copies);
            let stripes = 3 * placement.period;
            let mut places = HashSet::new();
            for stripe in 0..stripes {
                let piece = placement.written(stripe * 4096 + 512, 512);
                let held: Vec<CopyPlace> =
                    (0..placement.copies).map(|copy| placement.copy(&piece, copy)).collect();
                let distinct: HashSet<u32> = held.iter().map(|held| held.host).collect();
                assert_eq!(distinct.len(), copies as usize, "{hosts} hosts, stripe {stripe}");
                assert!(held.iter().all(|held| held.offset % 4096 == 512));
                places.extend(held.iter().map(|held| (held.host, held.offset)));
            }
            assert_eq!(places.len() as u64, stripes * u64::from(copies), "a place is used twice");
            let each = stripes * u64::from(copies) / u64::from(hosts);
            let end = places.iter().map(|(_, offset)| offset / 4096 + 1).max();
            assert_eq!(end, Some(each), "no holes, equal parts");
            let capacity = placement.capacity(Bytes::new(each * 4096)).get();
            assert_eq!(capacity, stripes * 4096);
        }
    }

    #[test]
    fn every_pair_of_hosts_shares_as_many_stripes() {
        let placement = placement(4, 2);
        let mut pairs = std::collections::BTreeMap::new();
        for stripe in 0..placement.period {
            let piece = placement.written(stripe * 4096, 512);
            let [one, other] = [0, 1].map(|copy| placement.copy(&piece, copy).host);
            *pairs.entry((one.min(other), one.max(other))).or_insert(0) += 1;
        }
        assert_eq!(pairs.len(), 6);
        assert!(pairs.values().all(|count| *count == 2));
    }

    #[test]
    fn an_address_is_read_from_one_copy_and_all_hosts_read_alike() {
        let placement = placement(6, 2);
        let mut reads = [0_u32; 6];
        for unit in 0..60_000 {
            let piece = placement.read(unit * 1024 + 512, 512);
            let chosen = placement.read_copy(&piece);
            assert_eq!(chosen.host, placement.read_copy(&placement.read(unit * 1024, 512)).host);
            reads[chosen.host as usize] += 1;
        }
        // 10,000 each; five standard deviations of a binomial are 460.
        assert!(reads.iter().all(|count| count.abs_diff(10_000) < 460), "{reads:?}");
    }

    #[test]
    fn more_copies_than_hosts_are_refused() {
        let sizes = (Bytes::new(4096), Bytes::new(1024));
        let new = |copies, (stripe, read_unit)| {
            Placement::new(&ReplicatedParameters { copies, stripe, read_unit }, 2)
        };
        let error = new(3, sizes).expect_err("three on two");
        let text = "replicated hosts: copies 3 is not at least 1 and at most the number of hosts";
        assert_eq!(error.to_string(), text);
        assert!(new(0, sizes).is_err());
        assert!(new(2, (Bytes::new(4096), Bytes::new(1536))).is_err(), "a unit over two stripes");
    }
}
