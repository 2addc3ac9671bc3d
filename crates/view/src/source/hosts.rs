use record::run::Run;

/// The hosts that drove a run's tiles; none where it was one machine. A tile stays on its host.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// By tile, from 0.
    by_tile: Vec<Option<usize>>,
}

impl Hosts {
    /// As the steps of a run say.
    pub(super) fn of(run: Option<&Run>) -> Self {
        let Some(run) = run else { return Self::default() };
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
        Self { names, by_tile }
    }

    /// In the order in which they were named.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The position of the host that drove a tile, from 0.
    pub fn position(&self, tile: u32) -> Option<usize> {
        *self.by_tile.get(tile as usize)?
    }

    /// Its name.
    pub fn of_tile(&self, tile: u32) -> Option<&str> {
        self.names.get(self.position(tile)?).map(String::as_str)
    }
}
