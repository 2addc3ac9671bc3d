//! Truth of dialogues: compares a dialogue tile and a tile of real servers on the same slow
//! storage.
//!
//! What it does: `truth DIR TILE...` mounts a lab on which requests become slower in stairs, puts
//! ext4 on it, and lets one tile of each kind run over all stairs: the dialogue, a dialogue like the
//! real server (not for `web`), and the real server. It prints, for each stair, the
//! response times of the actions that all tiles have, and the I/O that reached the disk on the
//! first, fast stair. TILE is `shop`, `mail` or `web`. With `--apart`, the stairs delay reads, and
//! then writes, and not both alike. `--only` makes one of the walks `dialogue`, `like-real` and
//! `real`.
//!
//! What it refuses: to run without root (loop device, mount), or where the tile's servers are
//! missing.
//!
//! A walk that is already in `DIR` is not made again. If a server fails on a stair, its walk ends
//! there, and the table says so.
//!
//! Invariants: the lab's bytes are in memory and are lost when it ends; everything that was mounted
//! is unmounted, also after an error. Nothing is written outside of `DIR`, except for two settings of
//! the loop device's queue, which get their former values.

mod disk;
mod place;
mod stairs;
mod table;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::bench::binary;
use disk::Disk;
use place::MountedStore;
use stairs::{Set, Stairs};

/// Share of the full size: 4 GiB of a shop, 4.4 GiB of mail. Each server may keep a ninth of its
/// data in memory or less, as the tile's working set is about a tenth.
const FOOTPRINT: &str = "0.05";
/// Warm-up of the load. The first stair is fast, and its begin is not judged either.
const WARM_UP: Duration = Duration::from_secs(10);
/// Time for which the disk is recorded on the fast stair.
const RECORDED: Duration = Duration::from_secs(20);

/// Run of one tile over the stairs.
struct Walk {
    /// Directory of the stored run.
    run: PathBuf,
    seen: WalkFacts,
    stairs: Stairs,
    disk: Disk,
}

/// Facts that the run does not store, kept in `walk.json`.
#[derive(Debug, Serialize, Deserialize)]
struct WalkFacts {
    /// Start of the load, in seconds from the mount.
    began_s: f64,
    /// Reason why the run ended early.
    ended: Option<String>,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let (set, arguments) = match arguments {
        [first, rest @ ..] if first == "--apart" => (Set::Apart, rest),
        all => (Set::Alike, all),
    };
    let (only, arguments) = match arguments {
        [first, kind, rest @ ..] if first == "--only" => (Some(kind.as_str()), rest),
        all => (None, all),
    };
    let [directory, tiles @ ..] = arguments else {
        eprintln!("usage: cargo xtask truth [--apart] [--only KIND] DIR shop|mail|web ...");
        return Ok(ExitCode::from(2));
    };
    let directory = Path::new(directory);
    for tile in tiles {
        ensure!(["shop", "mail", "web"].contains(&tile.as_str()), "\"{tile}\" is no tile of these");
    }
    std::fs::create_dir_all(directory)?;
    for tile in tiles {
        // Servers make their data after the start; the disks of dialogues are filled in less time.
        let kinds = [("dialogue", "", 30), ("like-real", "-like-real", 30), ("real", "-real", 100)];
        let asked = |kind: &str| only.is_none_or(|only| only == kind);
        // The web site has no dialogue like a real one.
        let is_shipped = |ending: &str| {
            let name = format!("{tile}{ending}");
            spec::shipped::workload_names().any(|shipped| shipped == name)
        };
        let kinds = kinds.into_iter().filter(|(kind, ending, _)| asked(kind) && is_shipped(ending));
        let walks = kinds.map(|(kind, ending, prepare_s)| {
            let file = directory.join(format!("{tile}-{kind}.toml"));
            let text = format!(
                "name = \"{tile}-{kind}\"\ntitle = \"The {tile} alone, {kind}\"\n\
                 source = \"One workload of a data centre.\"\n\n\
                 [[workload]]\nuse = \"{tile}{ending}\"\n"
            );
            std::fs::write(&file, text)?;
            let stairs = Stairs::after(Duration::from_secs(prepare_s) + WARM_UP, set);
            let stairs_of = if set == Set::Apart { "-apart" } else { "" };
            let name = directory.join(format!("{tile}-{kind}{stairs_of}"));
            Ok((kind, walk(&name, &file.display().to_string(), stairs)?))
        });
        let walks = walks.collect::<Result<Vec<_>>>()?;
        ensure!(!walks.is_empty(), "the {tile} has no walk of this kind");
        write!(std::io::stdout(), "{}", table::of(tile, &walks)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lets one tile walk over the stairs.
fn walk(directory: &Path, tile: &str, stairs: Stairs) -> Result<Walk> {
    let runs = directory.join("runs");
    let file = directory.join("walk.json");
    if file.exists() {
        return walked(directory, stairs);
    }
    let place = MountedStore::set_up(directory, &stairs.schedule())?;
    // Enough for all stairs, whenever the load begins.
    let load = stairs.end().saturating_sub(WARM_UP);
    let seconds = |time: Duration| format!("{}s", time.as_secs());
    let mut command = Command::new(binary()?);
    command.args(["run", "--tile", tile, "--tiles", "1", "--quick", "--footprint", FOOTPRINT]);
    command.args(["--seed", "1", "--slice", "1s", "--allow-same-device", "--duration"]);
    command.arg(seconds(load));
    for warm_up in ["--warm-up-min", "--warm-up-max"] {
        command.arg(warm_up).arg(seconds(WARM_UP));
    }
    command.arg("--out").arg(&runs).arg(place.datastore());
    let log = std::fs::File::create(directory.join("run.log"))?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    let child = command.spawn().context("starting the run")?;
    let seen = watch(child, &place, &stairs, directory);
    place.tear_down()?;
    std::fs::write(&file, serde_json::to_vec(&seen?)?)?;
    walked(directory, stairs)
}

/// Reads a finished walk.
fn walked(directory: &Path, stairs: Stairs) -> Result<Walk> {
    let seen = serde_json::from_slice(&std::fs::read(directory.join("walk.json"))?)?;
    let disk = Disk::of(&directory.join("disk.tmt"))?;
    let run = std::fs::read_dir(directory.join("runs"))?.next().context("no run was stored")??;
    Ok(Walk { run: run.path(), seen, stairs, disk })
}

/// Waits for the end of a run and returns the facts observed meanwhile.
fn watch(
    mut child: Child,
    place: &MountedStore,
    stairs: &Stairs,
    directory: &Path,
) -> Result<WalkFacts> {
    let log = directory.join("run.log");
    let began = loop {
        if let Some(status) = child.try_wait()? {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            anyhow::bail!("the run ended with {status}: {text}");
        }
        // The line is written when a second or more of the warm-up has passed.
        let text = std::fs::read_to_string(&log)?;
        if let Some(left) = left_of_warm_up(&text) {
            break place.age() + left - WARM_UP;
        }
        sleep(Duration::from_millis(100));
    };
    let measured = began + WARM_UP + stairs::SETTLING;
    let (from, until) = (measured, stairs.fast_until());
    let result = if from + RECORDED > until {
        Err(anyhow::anyhow!("the load began {} s after the mount, too late", began.as_secs()))
    } else {
        sleep(from.saturating_sub(place.age()));
        disk::record(place, &directory.join("disk.tmt"))
    };
    // A step that does not decide measures for longer, on a disk that is fast again.
    while result.is_ok() && place.age() < stairs.end() && child.try_wait()?.is_none() {
        sleep(Duration::from_millis(200));
    }
    let is_over = child.try_wait()?.is_none();
    if is_over {
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    }
    let status = child.wait()?;
    // A broken limit on the higher stairs is expected, and so is a server that ends.
    let is_whole = is_over || matches!(status.code(), Some(0 | 4 | 5));
    let log = std::fs::read_to_string(&log)?;
    let ended = (!is_whole).then(|| log.lines().last().unwrap_or_default().to_owned());
    result?;
    Ok(WalkFacts { began_s: began.as_secs_f64(), ended })
}

/// Returns the remaining warm-up time from the first line of progress.
fn left_of_warm_up(log: &str) -> Option<Duration> {
    let line = log.lines().find(|line| line.trim_start().starts_with("warming up, "))?;
    let seconds = line.trim_start().strip_prefix("warming up, ")?.split(' ').next()?;
    Some(Duration::from_secs(seconds.parse().ok()?))
}
