//! `tiles`: lists the shipped tiles and shows one.

use std::path::Path;

use spec::ResolvedTile;
use spec::replay::{Pace, Replay};
use spec::shipped::OPERATIONS;
use spec::workload::{Limit, Load, UserGroup, Workload};
use units::Bytes;

use crate::args::{TilesAction, TilesArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::text::{Table, count};

/// Lists tiles or shows one.
pub fn tiles(args: &TilesArgs) -> Result<Exit, Failure> {
    match &args.action {
        None | Some(TilesAction::Ls) => list()?,
        Some(TilesAction::Show { tile, toml }) => {
            let found = match tile.strip_prefix(OPERATIONS) {
                Some(group) => spec::shipped::group(group),
                None => spec::resolve_tile(tile, Path::new("")),
            };
            let tile = found.map_err(|error| Failure::from_definition(&error))?;
            match toml {
                true => output::print(&definitions(&tile)?)?,
                false => output::show(&show(&tile))?,
            }
        }
        Some(TilesAction::FromFio { job, name, size, to }) => {
            from_fio(job, name.as_deref(), *size, to.as_deref())?;
        }
    }
    Ok(Exit::Success)
}

/// Makes a workload from a job file, and also a tile if files are written.
fn from_fio(
    job: &Path,
    name: Option<&str>,
    size: Option<Bytes>,
    to: Option<&Path>,
) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("{}: {error}", job.display()))
    };
    let text = untrusted::read_named_text(job).map_err(|error| wrong(&error))?;
    let stem = job.file_stem().map(|stem| stem.to_string_lossy().to_lowercase());
    let name = name.map(str::to_owned).or(stem).unwrap_or_default();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let made =
        ::fit::workload_of(&text, &name, size).map_err(|error| wrong(&error).hint(error.hint()))?;
    spec::load_workload(&format!("{name}.toml"), &made.toml)
        .map_err(|error| Failure::from_definition(&error))?;
    for left in &made.left {
        crate::say!("left out   [{}] {}: {}", left.section, left.option, left.why);
    }
    for note in &made.notes {
        crate::say!("note       [{}] {}", note.section, note.text);
    }
    for error in &made.skipped {
        crate::say!("not made   {error}");
    }
    if let Some(hint) = made.skipped.iter().find_map(::fit::FioError::hint) {
        crate::say!("hint: {hint}");
    }
    let Some(to) = to else { return output::print(&made.toml) };
    let tile = format!(
        "name = \"{name}\"\ntitle = \"A fio job file as a tile\"\nsource = \"{name}.toml\"\n\n\
         [[workload]]\nuse = \"{name}.toml\"\n"
    );
    for (file, text) in [(format!("{name}.toml"), &made.toml), (format!("{name}-tile.toml"), &tile)]
    {
        let path = to.join(file);
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Failure, format!("writing {}: {error}", path.display()))
                .hint(Some("existing files are not overwritten"))
        };
        let mut made = std::fs::File::create_new(&path).map_err(failed)?;
        std::io::Write::write_all(&mut made, text.as_bytes()).map_err(failed)?;
        crate::say!("wrote {}", path.display());
    }
    Ok(())
}

fn list() -> Result<(), Failure> {
    let mut table = Table::new(&["tile", ">VMs", ">disks", "what it is"]);
    for name in spec::shipped::tile_names() {
        let tile = spec::shipped::tile(name).map_err(|error| Failure::from_definition(&error))?;
        let bytes: Bytes = disks(&tile).sum();
        table.row(vec![
            name.to_owned(),
            tile.vms().to_string(),
            bytes.to_string(),
            tile.tile.title.clone(),
        ]);
    }
    let mut groups = Table::new(&["beside tiles", ">disks", "what it is"]);
    for name in spec::shipped::group_names() {
        let group = spec::shipped::group(name).map_err(|error| Failure::from_definition(&error))?;
        let (bytes, title): (Bytes, _) = (disks(&group).sum(), group.tile.title.clone());
        groups.row(vec![format!("{OPERATIONS}{name}"), bytes.to_string(), title]);
    }
    let lines = [table.lines(), vec![String::new()], groups.lines()].concat();
    output::show(&(lines.join("\n") + "\n"))
}

fn disks(tile: &ResolvedTile) -> impl Iterator<Item = Bytes> + '_ {
    tile.workloads.iter().flat_map(|(workload, copies)| {
        let sizes = workload.vms.iter().flat_map(|vm| vm.disks.iter().map(|disk| disk.size));
        sizes.map(|size| size * u64::from(*copies))
    })
}

/// Returns the definition files, ready to copy and change.
fn definitions(tile: &ResolvedTile) -> Result<String, Failure> {
    let write = |what: &str, text: Result<String, toml::ser::Error>| {
        text.map(|text| format!("# {what}\n{text}"))
            .map_err(|error| Failure::new(Exit::Failure, format!("writing {what}: {error}")))
    };
    let mut parts = vec![write(&format!("tile {}", tile.tile.name), toml::to_string(&tile.tile))?];
    for (workload, _) in &tile.workloads {
        parts.push(write(&format!("workload {}", workload.name), toml::to_string(workload))?);
    }
    Ok(parts.join("\n"))
}

fn show(tile: &ResolvedTile) -> String {
    let bytes: Bytes = disks(tile).sum();
    let mut lines = vec![
        format!("{}: {}", tile.tile.name, tile.tile.title),
        format!("{}, {} of disks at full size", count(tile.vms(), "VM"), bytes),
        format!("source: {}", tile.tile.source),
    ];
    for (workload, copies) in &tile.workloads {
        lines.push(String::new());
        lines.extend(workload_lines(workload, *copies));
    }
    lines.join("\n") + "\n"
}

fn workload_lines(workload: &Workload, copies: u32) -> Vec<String> {
    let times = if copies == 1 { String::new() } else { format!("{copies} x ") };
    let mut lines = vec![format!("{times}{}: {}", workload.name, workload.title)];
    for vm in &workload.vms {
        let disks: Vec<String> =
            vm.disks.iter().map(|disk| format!("{} {}", disk.name, disk.size)).collect();
        let disks = if disks.is_empty() { "no disk".to_owned() } else { disks.join(", ") };
        lines.push(format!("  VM      {} ({} vCPU): {disks}", vm.name, vm.vcpus));
    }
    lines.extend(workload.groups.iter().map(group_line));
    lines.extend(workload.replay.iter().map(replay_line));
    for action in &workload.actions {
        lines.push(format!("  action  {} (weight {})", action.name, action.weight));
    }
    lines.extend(workload.limits.iter().map(limit_line));
    lines.push(format!("  source  {}", workload.source.trim().replace('\n', "\n          ")));
    lines
}

fn group_line(group: &UserGroup) -> String {
    let load = match &group.load {
        Load::Closed { users, .. } => {
            format!("{} in a closed loop", count(u64::from(*users), "user"))
        }
        Load::Paced { users, rate, .. } => {
            format!("{} keeping {rate} together", count(u64::from(*users), "user"))
        }
        Load::Open { rate, gaps: None, bursts, .. } if bursts.is_empty() => {
            format!("arrivals at {rate} (Poisson)")
        }
        Load::Open { rate, .. } => format!("arrivals at {rate}, in bursts"),
    };
    let schedule = group.schedule.as_ref().map_or_else(String::new, |schedule| {
        let active =
            schedule.active.map_or_else(|| "to the end".to_owned(), |time| format!("for {time}"));
        let every = schedule.every.map_or_else(String::new, |time| format!(" of every {time}"));
        format!(", active {active}{every}, from {}", schedule.start)
    });
    format!("  users   {} at {}: {load}{schedule}", group.name, group.vm)
}

fn replay_line(replay: &Replay) -> String {
    let pace = match replay.pace {
        Pace::Open => "by its times",
        Pace::Closed => "by answers",
    };
    format!("  replay  {} at {}, {pace}", replay.trace, replay.speed)
}

fn limit_line(limit: &Limit) -> String {
    let what = limit.action.as_ref().map_or_else(
        || format!("{} I/O", limit.io.as_deref().unwrap_or("-")),
        |action| format!("{action} response"),
    );
    let bound = match (limit.percentile, limit.limit, limit.mean, limit.max) {
        (Some(percentile), Some(limit), ..) => format!("p{percentile} at most {limit}"),
        (_, _, Some(mean), _) => format!("mean at most {mean}"),
        (.., Some(max)) => format!("maximum at most {max}"),
        _ => "no statistic".to_owned(),
    };
    format!("  limit   {what}: {bound}")
}
