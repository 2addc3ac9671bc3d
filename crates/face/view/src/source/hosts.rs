use run_store::run::Run;

/// The hosts that drove a run's tiles; none where it was one machine, and none where a tile went from one
/// to another while it was measured: what is looked at by host goes by tiles.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<String>,
    /// By tile, from 0.
    by_tile: Vec<Option<usize>>,
    /// Whether there were several, and tiles went from one to another.
    is_moved: bool,
}

impl Hosts {
    /// As the steps of a run say.
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

    /// Whether tiles went from one host to another, so that nothing is said by host.
    pub fn is_moved(&self) -> bool {
        self.is_moved
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
