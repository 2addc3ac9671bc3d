use bench::BenchError;
use bench::plan::ResolvedPlan;
use bench::run::{RunOptions, TileLoad};
use record::rundir::RunId;

use crate::wire::{Allowances, Open};

/// Tiles that are placed at most.
pub(crate) const TILES_MAX: u32 = 1 << 20;

/// What opening comes to on every host.
pub(crate) fn questions(
    plan: &ResolvedPlan,
    options: &RunOptions,
    id: &RunId,
    names: &[String],
    placed: &[usize],
) -> Result<Vec<(usize, Open)>, BenchError> {
    let first = plan.climb.value.range().map_or(1, |(first, _)| first) as usize;
    let load = TileLoad::of(plan)?;
    let here = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let ask = |(at, name): (usize, &String)| {
        let tiles = placed.iter().take(first).filter(|host| **host == at).count() as u64;
        let open = Open {
            run_id: format!("{id}-{name}"),
            controller: format!("{here} (process {})", std::process::id()),
            plan: plan.to_plan(),
            tile: plan.tile_set.clone(),
            needed_bytes: (load.bytes * tiles).get(),
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
