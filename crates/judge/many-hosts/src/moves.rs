//! Assignment of tiles to hosts, and choice of hosts for tiles that must move.

/// Tiles of a step and their hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tiles {
    by_tile: Vec<usize>,
    /// For each host: true if it takes no more tiles.
    is_away: Vec<bool>,
}

impl Tiles {
    /// Creates the tiles as placed on `hosts` hosts.
    pub fn new(by_tile: Vec<usize>, hosts: usize) -> Self {
        Self { by_tile, is_away: vec![false; hosts] }
    }

    /// Returns the host of a tile; `None` if the step has no such tile.
    pub fn host_of(&self, tile: u32) -> Option<usize> {
        self.by_tile.get(tile as usize).copied()
    }

    /// Returns the tiles of a host, in order.
    pub fn of(&self, host: usize) -> Vec<u32> {
        let all = (0..).zip(&self.by_tile);
        all.filter(|(_, of)| **of == host).map(|(tile, _)| tile).collect()
    }

    /// Marks a host as taking no more tiles.
    pub fn leave(&mut self, host: usize) {
        self.is_away[host] = true;
    }

    /// Records a tile's new host.
    pub fn moved(&mut self, tile: u32, to: usize) {
        if let Some(host) = self.by_tile.get_mut(tile as usize) {
            *host = to;
        }
    }

    /// Returns the host with the fewest tiles among the hosts that take more, or the first of
    /// several.
    pub fn fewest(&self) -> Option<usize> {
        let hosts = (0..self.is_away.len()).filter(|host| !self.is_away[*host]);
        hosts.min_by_key(|host| self.count(*host))
    }

    /// Returns the next tile to move to balance the numbers of tiles, with its new host.
    pub fn uneven(&self) -> Option<(u32, usize)> {
        let hosts = || (0..self.is_away.len()).filter(|host| !self.is_away[*host]);
        let most = hosts().rev().max_by_key(|host| self.count(*host))?;
        let fewest = self.fewest()?;
        (self.count(most) > self.count(fewest) + 1).then_some(())?;
        Some((*self.of(most).last()?, fewest))
    }

    fn count(&self, host: usize) -> usize {
        self.by_tile.iter().filter(|of| **of == host).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_that_have_to_go_are_spread_over_those_who_take_them() {
        let mut tiles = Tiles::new(vec![0, 1, 2, 0, 1, 0], 3);
        tiles.leave(0);
        assert_eq!(tiles.of(0), [0, 3, 5]);
        let mut went = Vec::new();
        for tile in tiles.of(0) {
            let to = tiles.fewest().expect("two are left");
            tiles.moved(tile, to);
            went.push(to);
        }
        assert_eq!(went, [2, 1, 2]);
        assert_eq!((tiles.of(1), tiles.of(2)), (vec![1, 3, 4], vec![0, 2, 5]));
        tiles.leave(1);
        tiles.leave(2);
        assert_eq!(tiles.fewest(), None);
    }

    #[test]
    fn uneven_hosts_are_evened_out_until_they_differ_by_one() {
        let mut tiles = Tiles::new(vec![0, 0, 0, 0, 1], 3);
        let mut moves = Vec::new();
        while let Some((tile, to)) = tiles.uneven() {
            tiles.moved(tile, to);
            moves.push((tile, to));
        }
        assert_eq!(moves, [(3, 2), (2, 1)]);
        let count = |host| tiles.of(host).len();
        assert_eq!([count(0), count(1), count(2)], [2, 2, 1]);
    }
}
