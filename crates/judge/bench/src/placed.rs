//! Which host drives which tile of a step.

use run_store::run::HostStep;

use crate::plan::{PlanError, ResolvedPlan};

/// The hosts that drive a step's tiles; none where it is this machine alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    names: Vec<String>,
    by_tile: Vec<usize>,
}

impl Placed {
    /// As the plan places so many tiles.
    ///
    /// # Errors
    ///
    /// When the plan names hosts that it does not have.
    pub fn of(plan: &ResolvedPlan, tiles: u32) -> Result<Self, PlanError> {
        let names = plan.host_names();
        if names.is_empty() {
            return Ok(Self::default());
        }
        let by_tile = plan.placement.of(&names, tiles)?;
        Ok(Self { names, by_tile })
    }

    /// As a stored step says.
    pub fn of_step(hosts: &[HostStep], tiles: u32) -> Self {
        let mut by_tile = vec![0; if hosts.is_empty() { 0 } else { tiles as usize }];
        for (at, host) in hosts.iter().enumerate() {
            for tile in &host.tiles {
                if let Some(of) = by_tile.get_mut(*tile as usize) {
                    *of = at;
                }
            }
        }
        Self { names: hosts.iter().map(|host| host.host.clone()).collect(), by_tile }
    }

    /// The same hosts with other tiles.
    pub fn moved(&mut self, by_tile: Vec<usize>) {
        self.by_tile = by_tile;
    }

    /// The hosts, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The position of the host that drives a tile; none of what belongs to no tile.
    pub fn host_of(&self, tile: impl Into<Option<u32>>) -> Option<usize> {
        self.by_tile.get(tile.into()? as usize).copied()
    }

    /// The name of the host that drives a tile.
    pub fn name_of(&self, tile: u32) -> Option<&str> {
        self.names.get(self.host_of(tile)?).map(String::as_str)
    }
}
