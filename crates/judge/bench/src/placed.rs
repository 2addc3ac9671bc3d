//! Placement of a step's tiles on hosts.

use run_store::run::HostStep;

use crate::plan::{PlanError, ResolvedPlan};

/// Hosts that drive a step's tiles; empty if only this host does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placed {
    names: Vec<String>,
    by_tile: Vec<usize>,
}

impl Placed {
    /// Places this many tiles according to the plan.
    ///
    /// # Errors
    ///
    /// The placement names hosts that the plan does not have.
    pub fn of(plan: &ResolvedPlan, tiles: u32) -> Result<Self, PlanError> {
        let names = plan.host_names();
        if names.is_empty() {
            return Ok(Self::default());
        }
        let by_tile = plan.placement.of(&names, tiles)?;
        Ok(Self { names, by_tile })
    }

    /// Returns the placement in a stored step.
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

    /// Records that tiles moved to other hosts of the same list. `by_tile` is the new host of each
    /// tile.
    pub fn moved(&mut self, by_tile: Vec<usize>) {
        self.by_tile = by_tile;
    }

    /// Returns the names of the hosts, in order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the position of the host that drives a tile; `None` for instances without a tile.
    pub fn host_of(&self, tile: impl Into<Option<u32>>) -> Option<usize> {
        self.by_tile.get(tile.into()? as usize).copied()
    }

    /// Returns the name of the host that drives a tile.
    pub fn name_of(&self, tile: u32) -> Option<&str> {
        self.names.get(self.host_of(tile)?).map(String::as_str)
    }
}
