use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::run::{Reuse, RunOptions, TileLoad};
use run_store::rundir::RunId;

use crate::wire::{Allowances, Open};

/// Maximum number of tiles that are placed.
pub(crate) const TILES_MAX: u32 = 1 << 20;

/// Returns the requests that open the target on every host.
pub(crate) fn questions(
    plan: &ResolvedPlan,
    options: &RunOptions,
    id: &RunId,
    names: &[String],
    placed: &[usize],
) -> Result<Vec<(usize, Open)>, BenchError> {
    let (first, last) = plan.climb.range().unwrap_or((1, 1));
    let load = TileLoad::of(plan)?;
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let ask = |(at, name): (usize, &String)| {
        let own = |most: u32| {
            let tiles = placed.iter().zip(0..most);
            tiles.filter(|(host, _)| **host == at).map(|(_, tile)| tile).collect::<Vec<u32>>()
        };
        let adopt = match &options.reuse {
            Some(Reuse::Run(run_id)) => Some(format!("{run_id}-{name}")),
            Some(Reuse::Back(_)) | None => None,
        };
        let open = Open {
            run_id: format!("{id}-{name}"),
            controller: format!("{here} (process {})", std::process::id()),
            plan: plan.to_plan(),
            tile: plan.tile_set.clone(),
            needed_bytes: (load.bytes * own(first).len() as u64).get(),
            tiles: own(last),
            adopt,
            allowances: Allowances {
                destroy_data: options.destroy_data.clone(),
                overwrite_file: options.overwrite_file,
                allow_root_fs: options.allow_root_fs,
                keep: options.keep,
            },
        };
        (at, open)
    };
    Ok(names.iter().enumerate().map(ask).collect())
}
