use run_store::run::Run;

/// Hosts that drove a run's tiles. Empty for a single host. Also empty if a tile moved between
/// hosts during the measurement, because a view by host groups whole tiles.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// Position of the host of each tile, from 0.
    by_tile: Vec<Option<usize>>,
    /// True if there were several hosts and tiles moved between them.
    is_moved: bool,
}

impl Hosts {
    /// Collects the hosts from the steps of a run.
    pub(super) fn of(run: Option<&Run>) -> Self {
        let Some(run) = run else { return Self::default() };
        let moved = run.steps.iter().flat_map(|step| &step.events).flat_map(|event| &event.tiles);
        if moved.into_iter().any(|tile| tile.to.as_ref() != Some(&tile.from)) {
            return Self { is_moved: true, ..Self::default() };
        }
        let names: Vec<String> = run.hosts.iter().map(|host| host.name.clone()).collect();
        let mut by_tile = Vec::new();
        for host in run.steps.iter().flat_map(|step| &step.hosts) {
            let at = names.iter().position(|name| *name == host.host);
            for tile in &host.tiles {
                let tile = *tile as usize;
                if by_tile.len() <= tile {
                    by_tile.resize(tile + 1, None);
                }
                by_tile[tile] = at;
            }
        }
        Self { names, by_tile, is_moved: false }
    }

    /// Returns true if tiles moved between hosts, so that there are no views by host.
    pub fn is_moved(&self) -> bool {
        self.is_moved
    }

    /// Returns the names in the order in which the hosts were given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the position of the host that drove a tile, from 0.
    pub fn position(&self, tile: u32) -> Option<usize> {
        *self.by_tile.get(tile as usize)?
    }

    /// Returns the name of the host that drove a tile.
    pub fn of_tile(&self, tile: u32) -> Option<&str> {
        self.names.get(self.position(tile)?).map(String::as_str)
    }
}
